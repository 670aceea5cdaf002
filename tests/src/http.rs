//! A client that asks one thing and reads all of the answer (RFC 9112), and knows nothing of who answers.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// Longer than any profile that a test asks for.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The head as it came, without the body.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The same, if all went well.
    ///
    /// # Panics
    ///
    /// If it did not.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.status, 200, "{}\n{}", self.head, self.text());
        self
    }
}

/// Asks for a path, query included; `None` if there is no connection, or no whole answer.
pub fn try_get(address: SocketAddr, path: &str) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok()?;
    parse(&bytes)
}

/// The same of somebody who answers.
///
/// # Panics
///
/// If nobody does.
#[track_caller]
pub fn get(address: SocketAddr, path: &str) -> Answer {
    try_get(address, path).unwrap_or_else(|| panic!("no answer to {path} from {address}"))
}

fn parse(bytes: &[u8]) -> Option<Answer> {
    const END: &[u8] = b"\r\n\r\n";
    let end = bytes.windows(END.len()).position(|four| four == END)?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let answer = Answer {
        status,
        body: bytes[end + END.len()..].to_vec(),
        head,
    };
    let length: usize = answer.header("content-length")?.parse().ok()?;
    (answer.body.len() == length).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn an_answer_is_whole_or_none() {
        let answer =
            parse(b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nx: y\r\n\r\nno").unwrap();
        assert_eq!((answer.status, answer.text()), (404, "no".to_owned()));
        assert_eq!(answer.header("X"), Some("y"));
        assert!(parse(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nno").is_none());
        assert!(parse(b"HTTP/1.1 200 OK\r\n").is_none());
    }
}
