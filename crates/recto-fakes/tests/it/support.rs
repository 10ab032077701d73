//! A small HTTP client on a plain socket, so that a test sees every piece of an
//! answer, and whether it ended or broke off.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use recto_fakes::FakeServer;
use serde_json::Value;

/// Only a guard: nothing in these tests takes long.
const PATIENCE: Duration = Duration::from_secs(60);

const JSON: &str = "content-type: application/json\r\n";

/// An answer, read piece by piece.
pub(crate) struct AnswerReader {
    reader: BufReader<TcpStream>,
    pub(crate) status: u16,
    /// The header lines as they came, in lower case.
    pub(crate) headers: Vec<String>,
}

/// What came next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextChunk {
    Piece(String),
    End,
    BrokenOff,
}

impl AnswerReader {
    /// The next piece of an answer that is sent in pieces.
    pub(crate) fn next(&mut self) -> NextChunk {
        let mut size = String::new();
        if !self.reader.read_line(&mut size).is_ok_and(|read| read > 0) {
            return NextChunk::BrokenOff;
        }
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut piece = vec![0; size + 2];
        if self.reader.read_exact(&mut piece).is_err() {
            return NextChunk::BrokenOff;
        }
        piece.truncate(size);
        if size == 0 { NextChunk::End } else { NextChunk::Piece(String::from_utf8(piece).unwrap()) }
    }

    /// All pieces that are still to come, and how it ended.
    pub(crate) fn rest(&mut self) -> (Vec<String>, NextChunk) {
        let mut pieces = Vec::new();
        loop {
            match self.next() {
                NextChunk::Piece(piece) => pieces.push(piece),
                ending => return (pieces, ending),
            }
        }
    }

    /// The whole body.
    pub(crate) fn body(&mut self) -> String {
        if self.headers.iter().any(|line| line == "transfer-encoding: chunked") {
            let (pieces, ending) = self.rest();
            assert_eq!(ending, NextChunk::End);
            return pieces.concat();
        }
        let mut body = String::new();
        self.reader.read_to_string(&mut body).unwrap();
        body
    }
}

/// Sends a request, and reads the head of the answer.
pub(crate) fn send(
    fake: &FakeServer,
    method: &str,
    path: &str,
    headers: &str,
    body: &[u8],
) -> AnswerReader {
    let mut reader = BufReader::new(write(fake, method, path, headers, body));
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the answer has a head");
        match line.trim() {
            "" => break,
            line => head.push(line.to_lowercase()),
        }
    }
    let status = head.remove(0).split(' ').nth(1).unwrap().parse().unwrap();
    AnswerReader { reader, status, headers: head }
}

/// Sends a request, and reads nothing.
pub(crate) fn write(
    fake: &FakeServer,
    method: &str,
    path: &str,
    headers: &str,
    body: &[u8],
) -> TcpStream {
    let mut stream = TcpStream::connect(fake.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: fake\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    stream
}

pub(crate) fn get(fake: &FakeServer, path: &str) -> (u16, Value) {
    let mut answering = send(fake, "GET", path, "", b"");
    let body = answering.body();
    (answering.status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
}

pub(crate) fn post(fake: &FakeServer, path: &str, body: &Value) -> AnswerReader {
    send(fake, "POST", path, JSON, body.to_string().as_bytes())
}

/// Sends a body, and gives the status and the message of the error.
pub(crate) fn refused(fake: &FakeServer, path: &str, body: &Value) -> (u16, String) {
    let mut answering = post(fake, path, body);
    let status = answering.status;
    let body: Value = serde_json::from_str(&answering.body()).unwrap_or_default();
    let error = &body["error"];
    let message = error.as_str().or(error["message"].as_str()).unwrap_or_default();
    (status, message.to_owned())
}
