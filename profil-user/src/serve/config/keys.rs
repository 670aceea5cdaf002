//! Every key of the configuration, once.

use super::{
    Config,
    shown::Shown as _,
    value::{
        Meant, Raw, addresses, duration, hosts, labels, mode, path, push_kind, size, some_path,
        truth, url, whole,
    },
};

/// When a new value holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Holds {
    /// From the next time that the file is read.
    Live,
    /// From the next start.
    Restart,
}

/// A key.
pub(super) struct Key {
    /// As it is written, with its table: `limits.connections`.
    pub(super) name: &'static str,
    /// When a new value holds.
    pub(super) holds: Holds,
    /// Takes a value, or says what is allowed.
    pub(super) set: fn(&mut Config, &Raw<'_>) -> Meant<()>,
    /// The value in TOML; `None` if there is none.
    pub(super) show: fn(&Config) -> Option<String>,
    /// Takes the value of another configuration.
    pub(super) copy: fn(&mut Config, &Config),
}

macro_rules! keys {
    ($($holds:ident $first:ident $(. $field:ident)*: $read:ident($($bound:expr),*);)*) => {
        /// In the order in which they are shown: each table in one piece.
        pub(super) const KEYS: &[Key] = &[$(Key {
            name: concat!(stringify!($first) $(, ".", stringify!($field))*),
            holds: Holds::$holds,
            set: |config, raw| {
                config.$first$(.$field)* = $read(raw $(, $bound)*)?;
                Ok(())
            },
            show: |config| config.$first$(.$field)*.shown(),
            copy: |to, from| to.$first$(.$field)*.clone_from(&from.$first$(.$field)*),
        }),*];
    };
}

const HOUR: f64 = 3600.0;
const DAY: f64 = 24.0 * HOUR;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

keys! {
    Restart listen: addresses();
    Restart stathz: whole(1, 1000);
    Restart profhz: whole(1, 10_000);
    Restart mode: mode();
    Restart drain: duration(0.1, 60.0);
    Restart strays: whole(1024, 16_777_216);
    Live access.token_file: some_path();
    Live access.insecure_token: truth();
    Live access.tls_cert: some_path();
    Live access.tls_key: some_path();
    Live access.client_ca: some_path();
    Live access.hosts: hosts();
    Live limits.connections: whole(1, 4096);
    Live limits.requests_per_second: whole(1, 1_000_000);
    Live limits.profiles: whole(1, 1000);
    Live limits.profile_seconds: whole(1, 86_400);
    Restart metrics.series: whole(10, 100_000);
    Live metrics.cold: duration(60.0, 30.0 * DAY);
    Restart history.minutes: whole(1, 44_640);
    Restart history.cells: whole(10, 100_000);
    Restart history.memory: size(MIB, 16 * GIB);
    Restart history.dir: some_path();
    Restart pin.dir: some_path();
    Restart pin.state: path();
    Live push.url: url();
    Live push.kind: push_kind();
    Live push.interval: duration(1.0, HOUR);
    Live push.token_file: some_path();
    Live push.ca_file: some_path();
    Live push.spool: some_path();
    Live push.spool_bytes: size(MIB, 64 * GIB);
    Live push.labels: labels();
}

/// The key of a name.
pub(super) fn key(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// Whether a name is that of a table.
pub(super) fn is_table(name: &str) -> bool {
    let table_of = |key: &Key| key.name.split_once('.').map(|(table, _)| table);
    KEYS.iter().filter_map(table_of).any(|table| table == name)
}

/// The known key that looks most like one that is not known, if any does.
pub(super) fn nearest(unknown: &str) -> Option<&'static str> {
    // The name alone decides: right keys in the wrong table are common.
    let (wrong, has_table) = (last(unknown), unknown.contains('.'));
    let distance = |key: &Key| {
        let right = last(key.name);
        let begins = wrong.len() > 2 && right.starts_with(wrong);
        let within = if begins { 1 } else { steps(wrong, right) };
        let whole = steps(unknown, key.name);
        // Of those that are as near, the first one, unless a table was named as well.
        (within.min(whole), if has_table { whole } else { 0 })
    };
    let nearest = KEYS.iter().min_by_key(|key| distance(key))?;
    let enough = (wrong.chars().count() / 2).max(1);
    (distance(nearest).0 <= enough).then_some(nearest.name)
}

fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or_default()
}

/// How many letters must be put in, taken out or changed to get from one name to another
/// (Levenshtein's distance), of their first 64 letters.
fn steps(from: &str, to: &str) -> usize {
    let [from, to] = [from, to].map(|name| name.chars().take(64).collect::<Vec<_>>());
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, letter) in from.iter().enumerate() {
        let mut corner = row[0];
        row[0] = above + 1;
        for column in 0..to.len() {
            let changed = corner + usize::from(*letter != to[column]);
            corner = row[column + 1];
            row[column + 1] = changed.min(corner + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}
