//! Where control groups are mounted: the text of `/proc/self/mountinfo` (proc_pid_mountinfo(5)).

use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
};

/// A mount of control groups in which processes can be looked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Mount {
    /// Where it is in the file system.
    pub(super) point: PathBuf,
    /// The control group that is seen there; not the root in containers without a namespace of
    /// control groups.
    root: PathBuf,
}

impl Mount {
    /// Where a control group with this path from the root may be in the file system.
    pub(super) fn places(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        let from_root = Path::new("/").join(path);
        let below = [
            from_root.strip_prefix(&self.root).ok(),
            from_root.strip_prefix("/").ok(),
        ];
        below
            .map(|below| below.map(|below| self.point.join(below)))
            .into_iter()
            .flatten()
    }
}

/// The mounts of version 1 that have the controller `perf_event`, then those of version 2: where the
/// controller is in the former, perf events know the groups of no other. Whole mounts come before
/// parts, and otherwise they are in the order of the text.
pub(super) fn parse(mountinfo: &[u8]) -> Vec<Mount> {
    let mut mounts: Vec<(bool, Mount)> = mountinfo
        .split(|&byte| byte == b'\n')
        .filter_map(parse_line)
        .collect();
    mounts.sort_by_key(|(is_v2, mount)| (*is_v2, mount.root != Path::new("/")));
    mounts.into_iter().map(|(_, mount)| mount).collect()
}

/// A mount, and whether it is of version 2; `None` for those of no use.
fn parse_line(line: &[u8]) -> Option<(bool, Mount)> {
    let mut fields = line.split(|&byte| byte == b' ');
    let (root, point) = (fields.nth(3)?, fields.next()?);
    // Options, and then fields of any number until a dash.
    fields.find(|field| field == b"-")?;
    let (kind, _source, options) = (fields.next()?, fields.next()?, fields.next()?);
    let mut options = options.split(|&byte| byte == b',');
    let is_v2 = match kind {
        b"cgroup2" => true,
        b"cgroup" if options.any(|option| option == b"perf_event") => false,
        _ => return None,
    };
    let mount = Mount {
        point: unescape(point),
        root: unescape(root),
    };
    Some((is_v2, mount))
}

/// Undoes the kernel's escapes: a backslash and three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut path = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        let escaped = match (first, after) {
            (
                b'\\',
                [
                    high @ b'0'..=b'3',
                    middle @ b'0'..=b'7',
                    low @ b'0'..=b'7',
                    ..,
                ],
            ) => Some((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0')),
            _ => None,
        };
        path.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() {
            &after[3..]
        } else {
            after
        };
    }
    OsString::from_vec(path).into()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use proptest::prelude::*;

    use super::{Mount, parse, unescape};

    const MOUNTINFO: &[u8] = br"23 1 0:21 / / rw,relatime - ext4 /dev/vda rw
33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
34 31 0:33 / /sys/fs/cgroup/perf_event rw shared:9 - cgroup cgroup rw,perf_event
40 31 0:38 /docker/ab /in/a\040container rw shared:1 master:2 - cgroup2 cgroup2 rw
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate
42 31 0:39 / /cut - cgroup2
";

    #[test]
    fn those_of_use_are_found_the_best_first() {
        let mount = |point: &str, root: &str| Mount {
            point: point.into(),
            root: root.into(),
        };
        assert_eq!(
            parse(MOUNTINFO),
            [
                mount("/sys/fs/cgroup/perf_event", "/"),
                mount("/sys/fs/cgroup/unified", "/"),
                mount("/in/a container", "/docker/ab"),
            ]
        );
    }

    #[test]
    fn what_is_seen_of_a_part_is_below_it() {
        let places = |root: &str, path: &str| -> Vec<PathBuf> {
            let (point, root) = ("/cg".into(), root.into());
            Mount { point, root }.places(Path::new(path)).collect()
        };
        let slice = Path::new("/cg/a.slice").to_owned();
        assert_eq!(places("/", "/a.slice")[0], slice);
        assert_eq!(places("/", "a.slice")[0], slice);
        assert_eq!(places("/docker/ab", "/docker/ab/a.slice")[0], slice);
        assert_eq!(places("/docker/ab", "a.slice"), [slice]);
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescape(br"/a\040b\134c"), Path::new(r"/a b\c"));
        assert_eq!(unescape(br"/a\04\"), Path::new(r"/a\04\"));
    }

    proptest! {
        #[test]
        fn whatever_the_text_nothing_panics(text in prop::collection::vec(any::<u8>(), 0..200)) {
            parse(&text);
        }
    }
}
