//! A request on its way to the site: who asks, how often, what and with what.

use std::{
    net::IpAddr,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, PoisonError},
    task::Poll,
    time::{Duration, Instant},
};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::{
    HeaderMap, Method, StatusCode,
    body::{Body as _, Incoming},
    header::{ACCEPT, ALLOW, AUTHORIZATION, CONNECTION, RETRY_AFTER, WWW_AUTHENTICATE},
};

use super::{
    Site,
    counts::bump,
    decode, origin,
    presence::{Gone, Presence},
    refusal::Refusal,
    reply::{self, Reply},
    rules::{Rules, Shared},
    token,
};
use crate::serve::{Request, Response, Status};

/// Longest path and query, in bytes.
const LONGEST_URL: usize = 4096;

/// Largest body of a request, in bytes.
const LARGEST_BODY: usize = 64 << 10;

/// Up to so many bytes of a body that is too large are read all the same, because who is still writing
/// would not see the answer.
const DRAINED: usize = 16 * LARGEST_BODY;

/// Answers a request from an address, unless nobody waits for the answer any more.
pub(super) async fn answer(
    shared: &Shared,
    site: Arc<dyn Site>,
    from: IpAddr,
    patience: Duration,
    presence: &Presence,
    request: hyper::Request<Incoming>,
) -> Result<Reply, Gone> {
    let packed = reply::takes_gzip(request.headers());
    Ok(match admit(shared, from, patience, request).await {
        Err(refusal) => {
            bump(&shared.tally.refused);
            reply::of_refusal(refusal)
        }
        Ok(request) => {
            let answered = tokio::select! {
                biased;
                answered = unless_panicking(site, request) => answered,
                () = presence.ended() => return Err(Gone),
            };
            let response = match answered {
                Some(response) => {
                    bump(&shared.tally.answered);
                    response
                }
                None => {
                    bump(&shared.tally.panicked);
                    let why = "this went wrong inside of profil-bpf; its log has more, please \
                               report it";
                    Response::refusal(Status::Internal, why)
                }
            };
            reply::of_response(response, packed).await
        }
    })
}

/// What the site answers, or nothing if it panics: others' requests are not concerned by that.
async fn unless_panicking(site: Arc<dyn Site>, request: Request) -> Option<Response> {
    let mut answer = pin!(async move { site.answer(request).await });
    std::future::poll_fn(move |context| {
        // It is not asked again after a panic.
        match catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context))) {
            Ok(poll) => poll.map(Some),
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}

/// Lets a request in, or not.
async fn admit(
    shared: &Shared,
    from: IpAddr,
    patience: Duration,
    request: hyper::Request<Incoming>,
) -> Result<Request, Refusal> {
    let rules = shared.rules();
    let taken = {
        let mut rates = shared.rates.lock().unwrap_or_else(PoisonError::into_inner);
        rates.take(from, rules.requests_per_second, Instant::now())
    };
    if let Err(wait) = taken {
        let seconds = wait.as_secs() + 1;
        return Err(Refusal::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too many requests; slow down",
        )
        .with(RETRY_AFTER, seconds.to_string()));
    }
    let (head, body) = request.into_parts();
    let target = head
        .uri
        .path_and_query()
        .map_or(0, |target| target.as_str().len());
    if target > LONGEST_URL {
        let why = format!("a path and its query must not be longer than {LONGEST_URL} bytes");
        return Err(Refusal::new(StatusCode::URI_TOO_LONG, why));
    }
    origin::check(&head.method, &head.uri, &head.headers, &rules.hosts)?;
    authorize(&rules, &head.headers)?;
    if ![Method::GET, Method::HEAD, Method::POST].contains(&head.method) {
        let why = "there are only GET, HEAD and POST here";
        return Err(
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, why).with(ALLOW, "GET, HEAD, POST")
        );
    }
    let undecodable = |error: decode::Undecodable| {
        Refusal::new(
            StatusCode::BAD_REQUEST,
            format!("cannot read the address: {error}"),
        )
    };
    let path = decode::path(head.uri.path()).map_err(undecodable)?;
    let query = decode::query(head.uri.query().unwrap_or_default()).map_err(undecodable)?;
    let accept = head.headers.get_all(ACCEPT).iter();
    let accept: Vec<&str> = accept.filter_map(|value| value.to_str().ok()).collect();
    let body = read(body, patience).await?;
    Ok(Request {
        method: head.method.to_string(),
        path,
        query,
        accept: accept.join(", "),
        body,
    })
}

/// Wants the token, if there is one.
fn authorize(rules: &Rules, headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(token) = &rules.token else {
        return Ok(());
    };
    let mut shown = headers.get_all(AUTHORIZATION).iter();
    // One: of several, somebody in front of us may have looked at another.
    let is_right = match (shown.next(), shown.next()) {
        (Some(header), None) => {
            token::shown(header.as_bytes()).is_some_and(|shown| token.is(&shown))
        }
        _ => false,
    };
    if is_right {
        return Ok(());
    }
    let why = "show the token: `Authorization: Bearer TOKEN`, or as the password of any user";
    Err(Refusal::new(StatusCode::UNAUTHORIZED, why).with(
        WWW_AUTHENTICATE,
        "Basic realm=\"profil-bpf\", charset=\"UTF-8\"",
    ))
}

/// Reads a body that is neither too large nor too slow.
async fn read(mut body: Incoming, patience: Duration) -> Result<Bytes, Refusal> {
    let too_large = || {
        let why = format!("a body must not be larger than {LARGEST_BODY} bytes");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why).with(CONNECTION, "close")
    };
    if body.size_hint().lower() > DRAINED as u64 {
        return Err(too_large());
    }
    let whole = async {
        let (mut bytes, mut total) = (BytesMut::new(), 0);
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                let why = "the body has an end that is not its own";
                return Err(Refusal::new(StatusCode::BAD_REQUEST, why).with(CONNECTION, "close"));
            };
            let data = frame.into_data().unwrap_or_default();
            total += data.len();
            if total <= LARGEST_BODY {
                bytes.extend_from_slice(&data);
            } else if total > DRAINED {
                break;
            }
        }
        if total > LARGEST_BODY {
            Err(too_large())
        } else {
            Ok(bytes.freeze())
        }
    };
    match tokio::time::timeout(patience, whole).await {
        Ok(read) => read,
        Err(_) => {
            let why = "the body took too long";
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, why).with(CONNECTION, "close"))
        }
    }
}
