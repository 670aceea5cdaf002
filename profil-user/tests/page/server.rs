//! A server for one browser: as much HTTP as the page needs, and the policy that the real one sends.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::UNIX_EPOCH,
};

use profil_user::serve::{
    Query, Request,
    history::History,
    page::{self, Now},
};

/// What the server sends along: nothing but what is the page's own.
const POLICY: &str =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'";

/// Serves the page as long as the test runs, and returns where.
pub(crate) fn serve(history: History) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let history = Arc::new(Mutex::new(history));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let history = Arc::clone(&history);
            thread::spawn(move || {
                // A browser may open a connection and never use it.
                let _ = respond(stream, &history);
            });
        }
    });
    address
}

fn respond(stream: TcpStream, history: &Mutex<History>) -> std::io::Result<()> {
    let mut lines = BufReader::new(&stream).lines();
    let Some(line) = lines.next() else {
        return Ok(());
    };
    let line = line?;
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let mut words = line.split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
    let request = Request {
        method,
        path: decoded(path),
        query: Query(pairs.collect()),
        ..Request::default()
    };
    let now = Now {
        time: UNIX_EPOCH,
        host: "machine".to_owned(),
        cpus: 4,
        hz: 97,
    };
    let history = history.lock().unwrap_or_else(PoisonError::into_inner);
    let response = page::answer(&history, &now, &request);
    drop(history);
    let mut stream = &stream;
    let Some(response) = response else {
        return stream.write_all(
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        );
    };
    write!(
        stream,
        "HTTP/1.1 {} -\r\nContent-Type: {}\r\n",
        response.status.code(),
        response.content_type
    )?;
    for (name, value) in &response.headers {
        write!(stream, "{name}: {value}\r\n")?;
    }
    write!(
        stream,
        "Content-Security-Policy: {POLICY}\r\nConnection: close\r\n"
    )?;
    write!(stream, "Content-Length: {}\r\n\r\n", response.body.len())?;
    stream.write_all(&response.body)
}

/// A part of a query as forms write it.
fn decoded(text: &str) -> String {
    let mut bytes = text.bytes();
    let mut plain = Vec::new();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                let digits = std::str::from_utf8(&digits).unwrap();
                plain.push(u8::from_str_radix(digits, 16).unwrap());
            }
            b'+' => plain.push(b' '),
            other => plain.push(other),
        }
    }
    String::from_utf8(plain).unwrap()
}
