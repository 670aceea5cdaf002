//! One parcel, one request, one answer.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use ureq::{
    Agent, Body,
    http::{
        Response,
        header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER, USER_AGENT},
    },
    tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem},
};

use super::{
    Kind, PushConfig, PushError, Secret,
    address::Address,
    backoff::retry_after,
    labels,
    parcel::{Content, Parcel},
};
use crate::export::printable;

/// Bytes of an answer that are looked at.
const MOST_OF_ANSWER: u64 = 4096;

/// Characters of an answer that are shown.
const MOST_SHOWN: usize = 200;

/// Bytes of a file of certificates.
const MOST_CERTIFICATES: u64 = 4 << 20;

/// What a receiver made of a parcel.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Outcome {
    /// It has it.
    Taken,
    /// It will never take it.
    Refused(String),
    /// It could not take it now.
    Later {
        why: String,
        /// How long it asked for.
        after: Option<Duration>,
    },
}

/// Whoever knows the receiver.
#[derive(Debug)]
pub(super) struct Sender {
    agent: Agent,
    kind: Kind,
    address: Address,
    token: Option<Secret>,
    application: String,
    labels: Vec<(String, String)>,
}

impl Sender {
    /// One who sends what was asked for.
    pub(super) fn new(config: &PushConfig) -> Result<Self, PushError> {
        let address = config.address()?;
        let roots = match &config.ca_file {
            Some(path) => RootCerts::new_with_certs(&certificates(path)?),
            None => RootCerts::WebPki,
        };
        let mut agent = Agent::config_builder()
            .http_status_as_error(false)
            // A redirection could lead the token astray.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_age(Duration::from_secs(5))
            .timeout_connect(Some(config.timeout.min(Duration::from_secs(5))))
            .tls_config(TlsConfig::builder().root_certs(roots).build());
        if address.is_here() {
            agent = agent.proxy(None);
        }
        Ok(Self {
            agent: agent.build().new_agent(),
            kind: config.kind,
            address,
            token: config.token.clone(),
            application: config.application.clone(),
            labels: config.labels.clone(),
        })
    }

    /// What it sends.
    pub(super) const fn content(&self) -> Content {
        if self.kind.wants_rows() {
            Content::Otlp
        } else {
            Content::Pprof
        }
    }

    /// The receiver, for people.
    pub(super) fn receiver(&self) -> String {
        printable(self.address.shown()).into_owned()
    }

    /// Sends a parcel and waits for the answer, for so long at most.
    pub(super) fn send(&self, parcel: &Parcel, timeout: Duration) -> Outcome {
        let mut request = self.agent.post(self.url(parcel));
        request = request
            .header(
                USER_AGENT,
                concat!("profil-bpf/", env!("CARGO_PKG_VERSION")),
            )
            .header(CONTENT_TYPE, self.media_type());
        if self.kind == Kind::Otlp {
            request = request.header(CONTENT_ENCODING, "gzip");
        }
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {}", token.reveal()));
        }
        let request = request.config().timeout_global(Some(timeout)).build();
        match request.send(&parcel.body[..]) {
            Ok(answer) => self.judge(answer),
            Err(error) => Outcome::Later {
                why: self.fit_to_show(&error.to_string()),
                after: None,
            },
        }
    }

    const fn media_type(&self) -> &'static str {
        match self.kind {
            Kind::Pyroscope | Kind::Pprof => "application/octet-stream",
            Kind::Otlp => "application/x-protobuf",
        }
    }

    fn url(&self, parcel: &Parcel) -> String {
        let (from, until) = (parcel.began_ns.to_string(), parcel.until_ns.to_string());
        // Pyroscope reads whole numbers alone.
        let rate = format!("{:.0}", parcel.sample_rate_hz);
        match self.kind {
            Kind::Otlp => self.address.with(&[]),
            Kind::Pyroscope => self.address.with(&[
                ("name", &labels::series(&self.application, &self.labels)),
                ("from", &from),
                ("until", &until),
                ("format", "pprof"),
                ("sampleRate", &rate),
                ("spyName", "profil-bpf"),
            ]),
            Kind::Pprof => {
                let mut pairs = vec![
                    ("name", &self.application[..]),
                    ("from", &from),
                    ("until", &until),
                    ("sampleRate", &rate),
                ];
                pairs.extend(
                    self.labels
                        .iter()
                        .map(|(name, value)| (&name[..], &value[..])),
                );
                self.address.with(&pairs)
            }
        }
    }

    fn judge(&self, mut answer: Response<Body>) -> Outcome {
        let status = answer.status();
        let after = answer.headers().get(RETRY_AFTER);
        let after = after.and_then(|value| retry_after(value.to_str().ok()?, SystemTime::now()));
        let body = answer.body_mut().with_config().limit(MOST_OF_ANSWER);
        let body = body.read_to_vec().unwrap_or_default();
        if status.is_success() {
            return self.judge_success(&body);
        }
        let code = status.as_u16();
        let hint = match code {
            300..=399 => "; give the URL that it leads to",
            401 | 403 => "; look at the token",
            404 => "; look at the path of the URL",
            _ => "",
        };
        let said = self.fit_to_show(&String::from_utf8_lossy(&body));
        let said = if said.is_empty() {
            said
        } else {
            format!(": {said}")
        };
        let why = format!("it answered {code}{said}{hint}");
        let comes_back = match self.kind {
            // https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes
            Kind::Otlp => matches!(code, 429 | 502 | 503 | 504),
            Kind::Pyroscope | Kind::Pprof => code >= 500 || matches!(code, 408 | 429),
        };
        if comes_back {
            Outcome::Later { why, after }
        } else {
            Outcome::Refused(why)
        }
    }

    #[cfg_attr(
        not(feature = "otlp"),
        expect(clippy::unused_self, reason = "only OTLP takes a profile in part")
    )]
    fn judge_success(&self, body: &[u8]) -> Outcome {
        #[cfg(feature = "otlp")]
        if self.kind == Kind::Otlp
            && let Some(why) = super::otlp::rejection(body)
        {
            return Outcome::Refused(format!("it took none: {}", self.fit_to_show(&why)));
        }
        let _ = body;
        Outcome::Taken
    }

    /// What the network or the receiver said, on a line, without the token and what a terminal would obey.
    fn fit_to_show(&self, said: &str) -> String {
        let said = match &self.token {
            Some(token) => token.cut_from(said),
            None => said.to_owned(),
        };
        let line = said.lines().map(str::trim).find(|line| !line.is_empty());
        let line: String = line.unwrap_or_default().chars().take(MOST_SHOWN).collect();
        printable(&line).into_owned()
    }
}

/// The certificates in a file.
fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, PushError> {
    let refuse = |error: String| PushError::CertificateFile {
        path: path.to_owned(),
        error,
    };
    let size = fs::metadata(path).map_err(|error| refuse(error.to_string()))?;
    if !size.is_file() || size.len() > MOST_CERTIFICATES {
        return Err(refuse("it is no file, or too large".to_owned()));
    }
    let bytes = fs::read(path).map_err(|error| refuse(error.to_string()))?;
    let mut certificates = Vec::new();
    for item in parse_pem(&bytes) {
        match item {
            Ok(PemItem::Certificate(certificate)) => certificates.push(certificate),
            Ok(_) => {}
            Err(error) => return Err(refuse(error.to_string())),
        }
    }
    if certificates.is_empty() {
        return Err(refuse("there is none in it".to_owned()));
    }
    Ok(certificates)
}
