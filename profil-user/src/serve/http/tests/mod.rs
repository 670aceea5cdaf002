//! The server as a whole, seen from raw sockets: what it answers, whom it lets in, and how much of
//! anything it takes.

mod access;
mod answers;
mod bounds;
mod encrypted;
mod hostile;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use tokio::{runtime, sync::oneshot};

use super::{Answer, Handle, Server, Site, connection::Patience};
use crate::serve::{
    Request, Response, Status,
    config::{Access, Limits},
};

/// A site of everything that is needed here.
#[derive(Default)]
struct Stage {
    /// Answers that have begun and neither ended nor were given up.
    under_way: Arc<AtomicUsize>,
}

/// Counts as under way while it lives.
struct UnderWay(Arc<AtomicUsize>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl Site for Stage {
    fn answer(self: Arc<Self>, request: Request) -> Answer {
        self.under_way.fetch_add(1, SeqCst);
        let under_way = UnderWay(Arc::clone(&self.under_way));
        assert_ne!(request.path, "/panic-at-once", "as it was asked to");
        Box::pin(async move {
            let _under_way = under_way;
            let number = |name: &str| request.query.get(name).and_then(|text| text.parse().ok());
            match &request.path[..] {
                "/" => Response::ok("text/html", "the page"),
                "/echo" => Response::ok("text/plain", format!("{request:?}")),
                "/text" => {
                    Response::ok("application/json", "x".repeat(number("bytes").unwrap_or(0)))
                }
                "/noise" => Response::ok(
                    "application/octet-stream",
                    vec![7; number("bytes").unwrap_or(0)],
                ),
                "/own" => Response::ok("text/css", "a").with("cache-control", "max-age=60"),
                "/unsound" => Response::ok("text/css", "a").with("x-evil", "a\r\nb: c"),
                "/panic" => panic!("as it was asked to"),
                "/slow" => {
                    let millis = number("millis").unwrap_or(60_000) as u64;
                    tokio::time::sleep(Duration::from_millis(millis)).await;
                    Response::ok("text/plain", "at last")
                }
                _ => Response::refusal(Status::NotFound, "there is nothing here"),
            }
        })
    }
}

/// A server on a thread of its own, until it is dropped.
struct Served {
    addresses: Vec<SocketAddr>,
    handle: Handle,
    under_way: Arc<AtomicUsize>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

/// As short as can be borne where something else is busy, too.
const SHORT: Patience = Patience {
    handshake: Duration::from_millis(700),
    head: Duration::from_millis(500),
    body: Duration::from_millis(500),
    answer: Duration::from_millis(700),
    stop: Duration::from_millis(700),
};

impl Served {
    fn new(access: &Access, limits: &Limits, patience: Patience) -> Self {
        let mut server = Server::bind(&["127.0.0.1:0".parse().unwrap()], access, limits).unwrap();
        server.patience = patience;
        let addresses = server.addresses().to_vec();
        let handle = server.handle();
        let stage = Arc::new(Stage::default());
        let under_way = Arc::clone(&stage.under_way);
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build();
            let stopped = async { drop(stopped.await) };
            runtime
                .unwrap()
                .block_on(server.run(stage, stopped))
                .unwrap();
        });
        Self {
            addresses,
            handle,
            under_way,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    fn default() -> Self {
        Self::new(&Access::default(), &Limits::default(), Patience::default())
    }

    fn short() -> Self {
        Self::new(&Access::default(), &Limits::default(), SHORT)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.addresses[0]).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream
            .set_write_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream
    }

    /// Sends bytes, and returns what comes until the server closes.
    fn exchange(&self, sent: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect();
        let _ = stream.write_all(sent.as_ref());
        rest(&mut stream)
    }

    /// Asks for a path in one go.
    fn get(&self, path: &str, headers: &[&str]) -> Got {
        self.ask("GET", path, headers)
    }

    fn ask(&self, method: &str, path: &str, headers: &[&str]) -> Got {
        let head = head(method, path, &[headers, &["Connection: close"]].concat());
        Got(self.exchange(head))
    }

    /// Waits until so many answers are under way.
    fn wait_for(&self, under_way: usize) {
        eventually(|| self.under_way.load(SeqCst) == under_way);
    }

    fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(
                thread::panicking() || ended.is_ok(),
                "the server has panicked"
            );
        }
    }
}

/// Waits until something is so, for some seconds.
fn eventually(mut is_so: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("it never is");
}

fn head(method: &str, path: &str, headers: &[&str]) -> String {
    let mut head = format!("{method} {path} HTTP/1.1\r\n");
    if !headers
        .iter()
        .any(|header| header.to_lowercase().starts_with("host:"))
    {
        head += "Host: localhost\r\n";
    }
    for header in headers {
        head += header;
        head += "\r\n";
    }
    head + "\r\n"
}

/// What comes until the other side closes, in whichever way.
fn rest(stream: &mut impl Read) -> String {
    let mut bytes: Vec<u8> = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => bytes.extend(&buffer[..read]),
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock) => {
                panic!("the server says nothing more and does not close: {bytes:?}")
            }
            Err(_) => break,
        }
    }
    // Packed bodies are not looked at as text.
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

/// An answer.
struct Got(String);

impl Got {
    fn code(&self) -> u16 {
        let code = self
            .0
            .strip_prefix("HTTP/1.1 ")
            .and_then(|rest| rest.get(..3));
        code.and_then(|code| code.parse().ok())
            .unwrap_or_else(|| panic!("no answer: {:?}", self.0))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let (head, _) = self.0.split_once("\r\n\r\n")?;
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    fn body(&self) -> &str {
        self.0.split_once("\r\n\r\n").map_or("", |(_, body)| body)
    }
}
