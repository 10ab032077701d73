//! A model that repeats the token of the message it is asked about, and takes its time over it, so that
//! gateways are hit in the middle of replies. It speaks as much of OpenAI's protocol as is needed.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::Result;

/// Between two words of a reply.
const PACE: Duration = Duration::from_millis(15);

/// What stands behind the token in every reply.
const WORDS: [&str; 8] = [" was", " heard", " and", " is", " said", " once", " more", "."];

/// The words that a message is known by: they begin with this.
pub(super) const TOKEN: &str = "note-";

/// The reply to a message with this token.
pub(super) fn reply_to(token: &str) -> String {
    format!("{token}{}", WORDS.concat())
}

/// Starts to answer, for as long as the program runs.
pub(super) async fn serve() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A gateway that is killed in the middle closes the line.
            tokio::spawn(async move { drop(answer(stream).await) });
        }
    });
    Ok(address)
}

async fn answer(stream: TcpStream) -> Result<()> {
    let mut stream = BufReader::new(stream);
    let body = read_body(&mut stream).await?;
    let request: Value = serde_json::from_slice(&body)?;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    let token = last_token(&request).unwrap_or_default();
    for word in [token.as_str()].iter().chain(&WORDS) {
        sleep(PACE).await;
        let delta = json!({"choices": [{"index": 0, "delta": {"content": word}}]});
        stream.write_all(format!("data: {delta}\n\n").as_bytes()).await?;
    }
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    stream.write_all(format!("data: {end}\n\ndata: [DONE]\n\n").as_bytes()).await?;
    Ok(stream.shutdown().await?)
}

async fn read_body(stream: &mut BufReader<TcpStream>) -> Result<Vec<u8>> {
    let (mut length, mut line) = (0, String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(body)
}

/// The token of the message that is to be answered.
fn last_token(request: &Value) -> Option<String> {
    let messages = request["messages"].as_array()?;
    let user = messages.iter().rev().find(|message| message["role"] == "user")?;
    find_token(&user["content"].to_string())
}

/// The last token in a text.
pub(super) fn find_token(text: &str) -> Option<String> {
    let found = text.rsplit(TOKEN).next().filter(|rest| rest.len() < text.len())?;
    let is_part = |c: char| c.is_ascii_digit() || c == '-';
    let end = found.find(|c| !is_part(c)).unwrap_or(found.len());
    Some(format!("{TOKEN}{}", &found[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_of_the_last_message_is_repeated() {
        let request = json!({"messages": [
            {"role": "user", "content": "note-1-1"},
            {"role": "assistant", "content": "note-1-1 was heard."},
            {"role": "user", "content": "[2026-01-01 10:00] please take note-12-34 down"},
        ]});
        assert_eq!(last_token(&request).as_deref(), Some("note-12-34"));
        assert_eq!(find_token("nothing"), None);
        assert_eq!(find_token(&reply_to("note-1-2")).as_deref(), Some("note-1-2"));
    }
}
