//! One connection, from its first byte to its last.

use std::{
    future::poll_fn,
    io::{self, ErrorKind},
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::watch,
    time::timeout,
};

use super::{
    Site, admission::answer, counts::bump, patience::Patient, presence::Presence, rules::Shared,
};

/// Largest head of a request, in bytes, and most headers in it.
const LARGEST_HEAD: usize = 16 << 10;
const MOST_HEADERS: usize = 64;

/// What is read ahead and written behind, in bytes.
const BUFFER: usize = 64 << 10;

/// How long the other side may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// To come to an encrypted state.
    pub(super) handshake: Duration,
    /// To send the head of the next request, from the end of the last answer on: idle connections are
    /// closed then, too.
    pub(super) head: Duration,
    /// To send the body of a request.
    pub(super) body: Duration,
    /// To take an answer.
    pub(super) answer: Duration,
    /// To come to an end when the server stops.
    pub(super) stop: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(20),
            body: Duration::from_secs(10),
            answer: Duration::from_secs(60),
            stop: Duration::from_secs(3),
        }
    }
}

/// Who is at the other end, and what is to be told them.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) shared: Arc<Shared>,
    pub(super) site: Arc<dyn Site>,
    pub(super) from: SocketAddr,
    pub(super) patience: Patience,
    /// Changes when the server stops.
    pub(super) stop: watch::Receiver<()>,
}

impl Connection {
    /// Answers all its requests.
    pub(super) async fn run(self, stream: TcpStream) {
        // Answers are written in one piece; waiting for more to send would only delay them.
        let _ = stream.set_nodelay(true);
        let presence = Arc::new(Presence::of(&stream));
        let Some(acceptor) = self.shared.rules().tls.clone() else {
            return self.serve(stream, presence).await;
        };
        match timeout(self.patience.handshake, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => self.serve(stream, presence).await,
            Ok(Err(_)) | Err(_) => bump(&self.shared.tally.handshakes_failed),
        }
    }

    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin, presence: Arc<Presence>) {
        let Self {
            shared,
            site,
            from,
            patience,
            mut stop,
        } = self;
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let (shared, site) = (Arc::clone(&shared), Arc::clone(&site));
            let presence = Arc::clone(&presence);
            async move { answer(&shared, site, from.ip(), patience.body, &presence, request).await }
        });
        let stream = TokioIo::new(Patient::new(stream, patience.answer));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(patience.head)
            .max_headers(MOST_HEADERS)
            .max_header_size(LARGEST_HEAD)
            .max_buf_size(BUFFER)
            .serve_connection(stream, service);
        let mut connection = pin!(connection);
        // How it ends is the other side's business: it has gone, or has sent what is no HTTP, and was told
        // so if that was possible.
        tokio::select! {
            _ = connection.as_mut() => return,
            _ = stop.changed() => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

/// Tells somebody that there are too many already. What they have sent is read for a moment: a connection
/// that is closed before is reset, and then not every system shows the answer.
pub(super) async fn turn_away(mut stream: TcpStream, is_encrypted: bool) {
    const ANSWER: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
        Content-Type: text/plain; charset=utf-8\r\n\
        Content-Length: 40\r\n\
        Retry-After: 1\r\n\
        Connection: close\r\n\
        \r\n\
        too many connections; try again shortly\n";
    const MOMENT: Duration = Duration::from_millis(500);

    if is_encrypted {
        return;
    }
    let farewell = async {
        // A new connection takes so little at once.
        stream.try_write(ANSWER)?;
        poll_fn(|context| Pin::new(&mut stream).poll_shutdown(context)).await?;
        let mut rest = [0; 1024];
        for _ in 0..64 {
            stream.readable().await?;
            match stream.try_read(&mut rest) {
                Ok(0) => break,
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
        io::Result::Ok(())
    };
    let _ = timeout(MOMENT, farewell).await;
}
