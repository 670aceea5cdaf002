//! The readers of what processes and the kernel say, without a process or a kernel: for whoever
//! feeds them damage.

#[cfg(feature = "serve")]
use std::path::Path;

#[cfg(feature = "serve")]
use crate::serve;
use crate::{kernel, symbolize::PerfMap, target};

/// Reads the text of a `/proc/PID/maps`: where executable mappings begin and end.
pub fn mappings(text: &[u8]) -> Vec<(u64, u64)> {
    let mappings = target::parse_mappings(text);
    mappings
        .map(|mapping| (mapping.start, mapping.end))
        .collect()
}

/// Reads the text of a perf map, and what it calls some addresses: the name, and where that begins.
/// `None` if it is refused.
pub fn perf_map(text: &[u8], addresses: &[u64]) -> Option<Vec<Option<(String, u64)>>> {
    let map = PerfMap::parse(text.to_vec())?;
    let name = |&address: &u64| {
        let (name, start) = map.name_of(address)?;
        Some((name.to_owned(), start))
    };
    Some(addresses.iter().map(name).collect())
}

/// What the bytes of a ring of side-band records come to.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Records {
    /// Records that say something.
    pub told: usize,
    /// Those that are of no use.
    pub passed: usize,
    /// Those that are too short for what they say that they are.
    pub malformed: usize,
    /// Bytes of names and paths.
    pub text_bytes: usize,
    /// Bytes that are no whole record.
    pub rest: usize,
}

/// Reads the bytes of a ring of side-band records.
pub fn records(bytes: &[u8]) -> Records {
    let mut sum = Records::default();
    let mut rest = bytes;
    while let Some(record) = kernel::next_record(&mut rest) {
        match record {
            Ok(Some(record)) => {
                sum.told += 1;
                sum.text_bytes += match &record.event {
                    kernel::Event::Mapped(mapped) => mapped.path.len(),
                    kernel::Event::Named { name, .. } => name.len(),
                    _ => 0,
                };
            }
            Ok(None) => sum.passed += 1,
            Err(_) => sum.malformed += 1,
        }
    }
    sum.rest = rest.len();
    sum
}

/// What a request's address and its `Authorization` header come to.
#[cfg(feature = "serve")]
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Asked {
    /// The path, decoded.
    pub path: Option<String>,
    /// Names and values of the query, decoded.
    pub query: Option<Vec<(String, String)>>,
    /// The token that is shown.
    pub token: Option<Vec<u8>>,
}

/// Reads what stands before and behind the first question mark, and the whole as the value of an
/// `Authorization` header.
#[cfg(feature = "serve")]
pub fn request(bytes: &[u8]) -> Asked {
    let text = String::from_utf8_lossy(bytes);
    let (path, query) = text.split_once('?').unwrap_or((&text, ""));
    Asked {
        path: serve::http::path(path).ok(),
        query: serve::http::query(query).ok().map(|query| query.0),
        token: serve::http::shown(bytes),
    }
}

/// Reads the text of a configuration of the daemon: it, or what is wrong with it.
#[cfg(feature = "serve")]
pub fn configuration(text: &str) -> Result<serve::config::Config, serve::config::ConfigError> {
    serve::config::Config::parse(text, Path::new("input"), &[])
}
