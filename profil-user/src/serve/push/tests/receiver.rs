//! A receiver that records what it is sent, and answers as it is told.

use std::{
    collections::VecDeque,
    io::{BufRead as _, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// What was asked of it.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) line: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) at: Instant,
}

impl Asked {
    /// A header that is there once at most.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| &value[..]);
        assert!(found.next().is_none(), "{name} twice");
        value
    }

    /// The path.
    pub(super) fn path(&self) -> &str {
        let target = self.line.split(' ').nth(1).unwrap();
        target.split('?').next().unwrap()
    }

    /// What follows the question mark, decoded here once more.
    pub(super) fn query(&self) -> Vec<(String, String)> {
        let target = self.line.split(' ').nth(1).unwrap();
        let Some((_, query)) = target.split_once('?') else {
            return Vec::new();
        };
        let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap());
        pairs
            .map(|(name, value)| (decoded(name), decoded(value)))
            .collect()
    }
}

/// `%XX` as bytes.
pub(super) fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(digits, 16).unwrap());
        bytes.extend(rest.bytes());
    }
    String::from_utf8(bytes).unwrap()
}

/// What it does next.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// A status line, and headers, each with its end of line; then the body.
    Says(&'static str, &'static str, Vec<u8>),
    /// Nothing, for as long as anybody waits.
    Never,
}

pub(super) const OK: Answer = Answer::Says("200 OK", "", Vec::new());

/// A receiver, as long as it lives.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Receiver {
    /// One that answers like this, and then well.
    pub(super) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self::on(listener, answers, |stream| Box::new(stream))
    }

    /// One at an address that was used before.
    pub(super) fn again(address: SocketAddr) -> Self {
        Self::on(TcpListener::bind(address).unwrap(), [], |stream| {
            Box::new(stream)
        })
    }

    /// One that speaks through something, such as TLS.
    pub(super) fn through(wrap: impl Fn(TcpStream) -> Box<dyn Stream> + Send + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), [], wrap)
    }

    fn on(
        listener: TcpListener,
        answers: impl IntoIterator<Item = Answer>,
        wrap: impl Fn(TcpStream) -> Box<dyn Stream> + Send + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let mut answers: VecDeque<Answer> = answers.into_iter().collect();
        let (record, over) = (Arc::clone(&asked), Arc::clone(&is_over));
        let thread = thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let mut stream = wrap(stream.unwrap());
                let Some(request) = read(&mut stream) else {
                    continue;
                };
                record.lock().unwrap().push(request);
                match answers.pop_front().unwrap_or(OK) {
                    Answer::Never => kept.push(stream),
                    Answer::Says(status, headers, body) => {
                        let length = body.len();
                        let head = format!(
                            "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\
                             connection: close\r\n\r\n"
                        );
                        // Whoever asked may have gone.
                        let _ = stream.write_all(&[head.as_bytes(), &body].concat());
                        let _ = stream.flush();
                    }
                }
            }
        });
        Self {
            address,
            asked,
            is_over,
            thread: Some(thread),
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// What it was asked, as soon as it is so much.
    #[track_caller]
    pub(super) fn wait_for(&self, many: usize) -> Vec<Asked> {
        let since = Instant::now();
        while self.asked.lock().unwrap().len() < many {
            assert!(
                since.elapsed() < Duration::from_secs(20),
                "asked {:?}",
                self.asked()
            );
            thread::sleep(Duration::from_millis(2));
        }
        self.asked()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(super) trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// A request, unless nothing is.
fn read(stream: &mut Box<dyn Stream>) -> Option<Asked> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        stream.read_line(&mut header).ok()?;
        match header.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
            None => break,
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, length)| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(Asked {
        line: line.trim_end().to_owned(),
        headers,
        body,
        at: Instant::now(),
    })
}
