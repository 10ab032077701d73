//! A small HTTP/1.1 client: what a benchmark's own client takes is missing to the server it shares
//! the machine with.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::Result;

/// A connection that stays open between requests.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
    line: String,
}

impl Connection {
    /// Connects.
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream: BufReader::new(stream), address, line: String::new() })
    }

    /// Gets a path, and gives what came back.
    pub(crate) async fn get(&mut self, path: &str) -> Result<Vec<u8>> {
        self.send("GET", path, "").await?;
        self.read_answer().await
    }

    /// Posts JSON, and gives the JSON that comes back.
    pub(crate) async fn post(&mut self, path: &str, body: &str) -> Result<Value> {
        self.send("POST", path, body).await?;
        Ok(serde_json::from_slice(&self.read_answer().await?)?)
    }

    /// Begins to follow a stream of events.
    pub(crate) async fn follow(mut self, path: &str) -> Result<EventReader> {
        self.send("GET", path, "").await?;
        self.read_head().await?;
        Ok(EventReader { connection: self })
    }

    async fn send(&mut self, method: &str, path: &str, body: &str) -> Result<()> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).await?;
        Ok(())
    }

    /// Reads status and headers, and gives the length of the body where it is said.
    async fn read_head(&mut self) -> Result<Option<usize>> {
        self.read_line().await?;
        let status = self.line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut length = None;
        loop {
            self.read_line().await?;
            let Some((name, value)) = self.line.split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = Some(value.trim().parse()?);
            }
        }
        match status.starts_with('2') {
            true => Ok(length),
            false => Err(format!("the server answered with status {status}").into()),
        }
    }

    async fn read_answer(&mut self) -> Result<Vec<u8>> {
        let length = self.read_head().await?.ok_or("an answer without a length")?;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        Ok(body)
    }

    async fn read_line(&mut self) -> Result<()> {
        self.line.clear();
        match self.stream.read_line(&mut self.line).await? {
            0 => Err("the server closed the connection".into()),
            _ => Ok(()),
        }
    }
}

/// A stream of server-sent events.
pub(crate) struct EventReader {
    connection: Connection,
}

impl EventReader {
    /// Reads on to the data of the next event.
    pub(crate) async fn next_data(&mut self) -> Result<&str> {
        loop {
            self.connection.read_line().await?;
            if self.connection.line.starts_with("data:") {
                break;
            }
        }
        Ok(self.connection.line.trim_start_matches("data:").trim())
    }

    /// Reads on until a line has all of these texts.
    pub(crate) async fn wait_for(&mut self, texts: &[&str]) -> Result<()> {
        loop {
            self.connection.read_line().await?;
            let line = &self.connection.line;
            if line.starts_with("data:") && texts.iter().all(|text| line.contains(text)) {
                return Ok(());
            }
        }
    }
}
