//! Which machine a request believes to talk to, and which page made it.
//!
//! A page on the Web can make a browser send requests to addresses that only the browser can reach. It
//! cannot read the answers, unless its own name leads here (DNS rebinding): so names must be ours. And
//! what it cannot read it still could set off: so requests of other sites' pages are refused.

use std::net::{Ipv4Addr, Ipv6Addr};

use hyper::{
    HeaderMap, Method, StatusCode, Uri,
    header::{HOST, ORIGIN},
    http::uri::Authority,
};

use super::refusal::Refusal;

/// Looks at whom a request is for and where it is from.
pub(super) fn check(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    hosts: &[String],
) -> Result<(), Refusal> {
    let host = host(headers)?;
    let mut named = vec![host.clone()];
    named.extend(uri.authority().cloned());
    if !named.iter().all(|authority| is_ours(authority, hosts)) {
        let why = "this server does not go by that name: use its address, or add the name to \
                   access.hosts";
        return Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, why));
    }
    let other = || {
        Refusal::new(
            StatusCode::FORBIDDEN,
            "requests of other sites' pages are refused",
        )
    };
    if let Some(origin) = single(headers, ORIGIN.as_str())? {
        let is_same = origin.to_str().is_ok_and(|origin| is_same(origin, &host));
        return if is_same { Ok(()) } else { Err(other()) };
    }
    let site = single(headers, "sec-fetch-site")?;
    match site.map(|site| site.as_bytes()) {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) if is_link_to_page(method, uri, headers)? => Ok(()),
        Some(_) => Err(other()),
    }
}

/// Whether somebody follows a link to the page at the root, which only shows something.
fn is_link_to_page(method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<bool, Refusal> {
    let mode = single(headers, "sec-fetch-mode")?;
    let dest = single(headers, "sec-fetch-dest")?;
    let is_navigation = mode.is_some_and(|mode| mode == "navigate");
    let is_document = dest.is_some_and(|dest| dest == "document");
    Ok(method == Method::GET && uri.path() == "/" && is_navigation && is_document)
}

/// The one header of a name, if it is there.
fn single<'a>(
    headers: &'a HeaderMap,
    name: &str,
) -> Result<Option<&'a hyper::header::HeaderValue>, Refusal> {
    let mut all = headers.get_all(name).iter();
    let first = all.next();
    if all.next().is_some() {
        let why = format!("there must be no more than one {name} header");
        return Err(Refusal::new(StatusCode::BAD_REQUEST, why));
    }
    Ok(first)
}

/// The `Host` header, which HTTP/1.1 demands.
fn host(headers: &HeaderMap) -> Result<Authority, Refusal> {
    let host = single(headers, HOST.as_str())?;
    let authority = host.and_then(|host| Authority::try_from(host.as_bytes()).ok());
    authority.ok_or_else(|| {
        Refusal::new(
            StatusCode::BAD_REQUEST,
            "there must be a Host header with a host in it",
        )
    })
}

/// Whether a name leads here and nowhere else: an address does, because no server of names has a say in
/// it.
fn is_ours(authority: &Authority, hosts: &[String]) -> bool {
    let host = authority.host();
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let is_address = match inner {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
        None => host.parse::<Ipv4Addr>().is_ok(),
    };
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let is_known = name == "localhost" || hosts.contains(&name);
    !authority.as_str().contains('@') && (is_address || is_known)
}

/// Whether an origin (RFC 6454) is that of our own pages. The scheme may be another one, where something
/// in front of us encrypts.
fn is_same(origin: &str, host: &Authority) -> bool {
    let (scheme, rest) = origin.split_once("://").unwrap_or_default();
    let default = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return false,
    };
    let Ok(origin) = rest.parse::<Authority>() else {
        return false;
    };
    let port = |authority: &Authority| authority.port_u16().unwrap_or(default);
    let is_plain = origin.as_str().len() == rest.len() && !rest.contains('@');
    is_plain && origin.host().eq_ignore_ascii_case(host.host()) && port(&origin) == port(host)
}

#[cfg(test)]
mod tests {
    use hyper::{
        HeaderMap, Method,
        header::{HeaderName, HeaderValue},
    };

    use super::check;

    fn code(method: &Method, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        let hosts = ["node7.lan".to_owned()];
        match check(method, &uri.parse().unwrap(), &map, &hosts) {
            Ok(()) => 200,
            Err(refusal) => refusal.code.as_u16(),
        }
    }

    #[test]
    fn hosts() {
        for (host, wanted) in [
            ("127.0.0.1:9097", 200),
            ("10.1.2.3", 200),
            ("[::1]:9097", 200),
            ("localhost:9097", 200),
            ("LocalHost.", 200),
            ("node7.lan:80", 200),
            ("Node7.LAN", 200),
            ("evil.example", 421),
            ("127.0.0.1.evil.example", 421),
            ("node7.lan.evil.example:9097", 421),
            ("127.1", 421),
            ("0x7f.0.0.1", 421),
            ("me@127.0.0.1", 421),
            ("", 400),
            ("a b", 400),
            ("[::1", 400),
        ] {
            assert_eq!(code(&Method::GET, "/", &[("host", host)]), wanted, "{host}");
        }
        assert_eq!(code(&Method::GET, "/", &[]), 400);
        let twice = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(code(&Method::GET, "/", &twice), 400);
        let host = [("host", "localhost")];
        assert_eq!(code(&Method::GET, "http://localhost/", &host), 200);
        assert_eq!(code(&Method::GET, "http://evil.example/", &host), 421);
    }

    #[test]
    fn origins() {
        for (origin, wanted) in [
            ("http://localhost:9097", 200),
            ("https://localhost:9097", 200),
            ("http://LOCALHOST:9097", 200),
            ("http://localhost", 403),
            ("http://127.0.0.1:9097", 403),
            ("http://evil.example", 403),
            ("http://localhost:9097.evil.example", 403),
            ("http://me@localhost:9097", 403),
            ("null", 403),
            ("", 403),
            ("file://localhost:9097", 403),
        ] {
            let headers = [("host", "localhost:9097"), ("origin", origin)];
            assert_eq!(code(&Method::POST, "/", &headers), wanted, "{origin}");
        }
        let headers = [("host", "node7.lan"), ("origin", "https://node7.lan:443")];
        assert_eq!(code(&Method::GET, "/", &headers), 200);
    }

    #[test]
    fn where_it_is_fetched_from() {
        let fetched = |uri, more: &[(&str, &str)]| {
            let headers = [&[("host", "localhost")], more].concat();
            code(&Method::GET, uri, &headers)
        };
        assert_eq!(fetched("/x", &[("sec-fetch-site", "same-origin")]), 200);
        assert_eq!(fetched("/x", &[("sec-fetch-site", "none")]), 200);
        assert_eq!(fetched("/x", &[("sec-fetch-site", "cross-site")]), 403);
        assert_eq!(fetched("/x", &[("sec-fetch-site", "same-site")]), 403);
        let link = [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        assert_eq!(fetched("/?pid=7", &link), 200);
        assert_eq!(fetched("/debug/pprof/profile", &link), 403);
        let frame = [link[0], link[1], ("sec-fetch-dest", "iframe")];
        assert_eq!(fetched("/", &frame), 403);
    }
}
