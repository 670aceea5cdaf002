//! The ids of containers in the names of control groups.

use std::{os::unix::ffi::OsStrExt as _, path::Path};

/// Digits with which a container's id begins, in lower case.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Prefix(Vec<u8>);

impl Prefix {
    /// Fewer would be a word, such as `cafe`.
    const MIN_DIGITS: usize = 8;

    /// `None` if it is no such prefix.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let is_prefix =
            text.len() >= Self::MIN_DIGITS && text.iter().all(|byte| byte.is_ascii_hexdigit());
        is_prefix.then(|| Self(text.to_ascii_lowercase()))
    }

    /// Whether the control group is that of a container with such an id. Its name has the id between
    /// other words, by who made it: `docker-ID.scope`, `cri-containerd-ID.scope`, `crio-ID.scope`,
    /// `libpod-ID.scope`, `…:cri-containerd:ID`, or nothing but it.
    pub(super) fn is_of(&self, cgroup: &Path) -> bool {
        let Some(name) = cgroup.file_name() else {
            return false;
        };
        let mut words = name
            .as_bytes()
            .split(|byte| !byte.is_ascii_alphanumeric())
            .peekable();
        // It watches the container from outside.
        let is_monitor = words.clone().any(|word| word == b"conmon");
        !is_monitor && words.any(|word| is_id(word) && word.starts_with(&self.0))
    }
}

/// The id of the container that a control group is of, or in which it is: the last of those in its path.
pub(crate) fn id_in(cgroup: &str) -> Option<&str> {
    let names = cgroup.rsplit('/').filter(|name| !name.contains("conmon"));
    let mut words = names.flat_map(|name| name.split(|c: char| !c.is_ascii_alphanumeric()));
    words.find(|word| is_id(word.as_bytes()))
}

/// Whether a word is an id, which has at least 128 bits; the uid of a pod, for one, has dashes in it.
fn is_id(word: &[u8]) -> bool {
    const MIN_DIGITS: usize = 128 / 4;
    word.len() >= MIN_DIGITS
        && word
            .iter()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Prefix, id_in};

    #[test]
    fn a_prefix_is_eight_digits_or_more() {
        assert_eq!(Prefix::parse(b"0123abc"), None);
        assert_eq!(Prefix::parse(b"0123abcg"), None);
        assert_eq!(Prefix::parse(b"0123ABCD"), Prefix::parse(b"0123abcd"));
        assert!(Prefix::parse(&[b'a'; 64]).is_some());
    }

    #[test]
    fn the_id_of_the_innermost_container_is_found() {
        let (outer, inner) = ("a".repeat(64), "b".repeat(64));
        let path = format!("/docker-{outer}.scope/x/cri-containerd-{inner}.scope/init.scope");
        assert_eq!(id_in(&path), Some(&inner[..]));
        assert_eq!(id_in(&format!("/crio-conmon-{outer}.scope")), None);
        for none in ["", "/", "/system.slice/cafe.service"] {
            assert_eq!(id_in(none), None);
        }
    }

    #[test]
    fn ids_are_found_in_the_names_that_are_in_use() {
        let prefix = Prefix::parse(b"0123abcd").expect("digits");
        let id = format!("0123abcd{}", "0".repeat(56));
        let is_of = |name: &str| prefix.is_of(&Path::new("a/b").join(name.replace("ID", &id)));
        for name in [
            "ID",
            "docker-ID.scope",
            "cri-containerd-ID.scope",
            "crio-ID.scope",
            "libpod-ID.scope",
            "kubepods-besteffort-pod1_2.slice:cri-containerd:ID",
        ] {
            assert!(is_of(name), "{name}");
        }
        for name in [
            "docker-fID.scope",
            "crio-conmon-ID.scope",
            "libpod-conmon-ID.scope",
            "0123abcd",
            "pod7ad2a-0123abcd0123.slice",
        ] {
            assert!(!is_of(name), "{name}");
        }
    }
}
