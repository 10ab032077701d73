//! The real `recto serve`, and a browser's part of HTTP: pages are got, and forms are sent as a
//! page has them.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::running::Running;
use crate::support::*;

/// A server that answers for a home, until it is dropped.
pub(crate) struct WebServer {
    address: String,
    _running: Running,
}

/// What came back.
pub(crate) struct WebAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Home {
    /// Starts the server of this home.
    pub(crate) fn serve_pages(&self) -> WebServer {
        let running = self.start(&["serve", "--listen", "127.0.0.1:0"]);
        let told = running.wait_for_out("/\n");
        let address = told.split("http://").nth(1).unwrap().trim_end().trim_end_matches('/');
        WebServer { address: address.to_owned(), _running: running }
    }
}

impl WebServer {
    /// A page that is there.
    pub(crate) fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }

    pub(crate) fn get(&self, path: &str) -> WebAnswer {
        self.send(&format!("GET {path} HTTP/1.1\r\n"), "")
    }

    /// Sends a form of a page, with the fields that its forms have beside these.
    pub(crate) fn submit(&self, page: &str, action: &str, fields: &[(&str, &str)]) -> WebAnswer {
        let shown = self.page(page);
        let token = shown.split("name=\"form_token\" value=\"").nth(1);
        let token =
            token.and_then(|rest| rest.split('"').next()).map(|token| ("form_token", token));
        let fields = fields.iter().copied().chain(token);
        let body: Vec<String> =
            fields.map(|(name, value)| format!("{name}={}", encode(value))).collect();
        let head = format!(
            "POST {action} HTTP/1.1\r\nOrigin: http://{}\r\nSec-Fetch-Site: same-origin\r\n\
             Content-Type: application/x-www-form-urlencoded\r\n",
            self.address
        );
        self.send(&head, &body.join("&"))
    }

    /// Sends JSON, as a program does.
    pub(crate) fn post_json(&self, path: &str, body: &str) -> WebAnswer {
        let head = format!("POST {path} HTTP/1.1\r\nContent-Type: application/json\r\n");
        self.send(&head, body)
    }

    fn send(&self, head: &str, body: &str) -> WebAnswer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let rest = format!(
            "Host: {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(format!("{head}{rest}").as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = if is_chunked { join_chunks(body) } else { body.to_owned() };
        WebAnswer { status, head: head.to_owned(), body }
    }
}

fn join_chunks(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        body.push_str(&after[..size]);
        rest = after[size..].trim_start_matches("\r\n");
        if size == 0 {
            break;
        }
    }
    body
}

fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    let coded =
        |byte: u8| if plain(byte) { char::from(byte).into() } else { format!("%{byte:02X}") };
    text.bytes().map(coded).collect()
}

/// The text of a piece of HTML, without its tags, each run of spaces as one.
pub(crate) fn text_of(html: &str) -> String {
    let mut text = String::new();
    let mut in_tag = false;
    for character in html.chars() {
        match character {
            '<' => in_tag = true,
            '>' if in_tag => in_tag = false,
            _ if in_tag => {}
            other => text.push(other),
        }
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&amp;", "&").split_whitespace().collect::<Vec<_>>().join(" ")
}
