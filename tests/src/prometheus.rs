//! A real Prometheus that scrapes what a test serves, and answers queries about it.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::Command,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    places,
    process::{Process, wait_until},
    queries,
};

/// The program, in Debian's package of this name.
pub const PROGRAM: &str = "prometheus";

/// How long it may take to start, or to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is asked of it: whom it scrapes, and how often.
#[derive(Clone, Debug)]
pub struct Scrape<'a> {
    /// The addresses whose `/metrics` are read.
    pub targets: &'a [SocketAddr],
    /// How often.
    pub interval: Duration,
    /// A file with a token to show, if one is needed.
    pub token_file: Option<&'a Path>,
    /// Whether it evaluates the rules that we ship, as often as it scrapes.
    pub rules: bool,
}

/// A value that a query returned, with the labels of its series.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Names and values of labels, as JSON.
    pub labels: Value,
    /// The value.
    pub value: f64,
}

/// A Prometheus of the test's own, in a directory of its own. Killed when dropped.
pub struct Prometheus {
    process: Process,
    address: SocketAddr,
    _dir: TempDir,
}

impl Prometheus {
    /// Starts it and waits until it is ready. The job is called `profil-bpf`.
    ///
    /// # Panics
    ///
    /// If it does not come up.
    pub fn start(scrape: &Scrape<'_>) -> Self {
        let dir = places::public_dir();
        let config = dir.path().join("prometheus.yml");
        fs::write(&config, configuration(scrape)).expect("a configuration");
        let address = free_address();
        let mut command = Command::new(PROGRAM);
        command
            .arg(format!("--config.file={}", config.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                dir.path().join("data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .current_dir(dir.path());
        let mut process = Process::start(&mut command);
        let ready = wait_until(PATIENCE, || {
            process.ended().is_some()
                || matches!(get(address, "/-/ready"), Ok(answer) if answer.status == 200)
        });
        assert!(
            ready && process.ended().is_none(),
            "Prometheus is not ready: {}",
            process.stderr()
        );
        Self {
            process,
            address,
            _dir: dir,
        }
    }

    /// What a query returns now.
    ///
    /// # Panics
    ///
    /// If it is refused.
    pub fn query(&mut self, expr: &str) -> Vec<Sample> {
        let path = format!("/api/v1/query?query={}", encoded(expr));
        let answer = get(self.address, &path)
            .unwrap_or_else(|error| panic!("Prometheus: {error}\n{}", self.process.stderr()));
        let value: Value = serde_json::from_str(&answer.body)
            .unwrap_or_else(|error| panic!("{expr}: {error}: {}", answer.body));
        assert_eq!(value["status"], "success", "{expr}: {value}");
        samples(&value["data"]).unwrap_or_else(|| panic!("{expr}: no samples: {value}"))
    }

    /// Asks until there is an answer with samples, and returns it; none if there has not been one for
    /// `limit`.
    pub fn query_until(&mut self, expr: &str, limit: Duration) -> Vec<Sample> {
        let mut found = Vec::new();
        wait_until(limit, || {
            found = self.query(expr);
            !found.is_empty()
        });
        found
    }
}

/// Samples of a vector or a scalar.
fn samples(data: &Value) -> Option<Vec<Sample>> {
    let value_of = |pair: &Value| pair[1].as_str()?.parse().ok();
    if data["resultType"] == "scalar" {
        return Some(vec![Sample {
            labels: Value::Null,
            value: value_of(&data["result"])?,
        }]);
    }
    let results = data["result"].as_array()?.iter();
    results
        .map(|result| {
            Some(Sample {
                labels: result["metric"].clone(),
                value: value_of(&result["value"])?,
            })
        })
        .collect()
}

/// The configuration: JSON, which is YAML as well.
fn configuration(scrape: &Scrape<'_>) -> String {
    let interval = format!("{}ms", scrape.interval.as_millis());
    let targets: Vec<_> = scrape.targets.iter().map(ToString::to_string).collect();
    let mut job = serde_json::json!({
        "job_name": "profil-bpf",
        "static_configs": [{ "targets": targets }],
    });
    if let Some(file) = scrape.token_file {
        job["authorization"] = serde_json::json!({ "credentials_file": file });
    }
    let mut config = serde_json::json!({
        "global": {
            "scrape_interval": interval,
            "scrape_timeout": interval,
            "evaluation_interval": interval,
        },
        "scrape_configs": [job],
    });
    if scrape.rules {
        let rules = fs::canonicalize(queries::packaged("prometheus-rules.yaml"));
        config["rule_files"] = serde_json::json!([rules.expect("rules")]);
    }
    config.to_string()
}

/// An address of this machine at which nobody listens.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address")
}

/// What a server answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The number of its status.
    pub status: u16,
    /// The lines above the body.
    pub head: String,
    /// The body, which must be text.
    pub body: String,
}

/// Asks for a path over HTTP/1.0, whose answers end with the connection.
///
/// # Errors
///
/// If nobody listens, or what comes is no HTTP.
pub fn get(address: SocketAddr, path: &str) -> io::Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let no_http = || io::Error::new(io::ErrorKind::InvalidData, format!("not HTTP: {text:?}"));
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(no_http)?;
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    Ok(Answer {
        status: status.ok_or_else(no_http)?,
        head: head.to_owned(),
        body: body.to_owned(),
    })
}

/// A text as it stands in a URL's query.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader, Write as _},
        net::{Ipv4Addr, SocketAddr, TcpListener},
        thread,
        time::Duration,
    };

    use super::{PROGRAM, Prometheus, Scrape, encoded, free_address, get};
    use crate::require_programs;

    const METRICS: &str = "# TYPE profil_series gauge\nprofil_series{kind=\"a b\"} 42\n# EOF\n";

    /// Serves the same to everybody, as long as the test runs.
    fn serve() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let asked = BufReader::new(&stream).lines();
                for line in asked.map_while(Result::ok) {
                    if line.is_empty() {
                        break;
                    }
                }
                let length = METRICS.len();
                // Who asked may have gone.
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0; \
                     charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{METRICS}"
                );
            }
        });
        address
    }

    #[test]
    fn it_scrapes_and_answers() {
        require_programs!(PROGRAM);
        let served = serve();
        let mut prometheus = Prometheus::start(&Scrape {
            targets: &[served],
            interval: Duration::from_millis(200),
            token_file: None,
            rules: true,
        });
        let found = prometheus.query_until("profil_series", Duration::from_secs(10));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((found[0].value - 42.0).abs() < 1e-9, "{found:?}");
        assert_eq!(found[0].labels["kind"], "a b");
        assert_eq!(found[0].labels["job"], "profil-bpf");
        assert!(prometheus.query("profil_nothing").is_empty());
        let sum = prometheus.query("scalar(sum(profil_series)) + 1");
        assert!((sum[0].value - 43.0).abs() < 1e-9, "{sum:?}");

        let address = prometheus.address;
        drop(prometheus);
        assert!(get(address, "/-/ready").is_err(), "it is still there");
    }

    #[test]
    fn nobody_there_is_an_error() {
        assert!(get(free_address(), "/").is_err());
        assert_eq!(encoded("a{b=\"c\"} + 1"), "a%7Bb%3D%22c%22%7D%20%2B%201");
    }
}
