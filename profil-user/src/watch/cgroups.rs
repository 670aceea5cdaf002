//! In which control group each process is or was (cgroups(7)).

use std::{collections::HashMap, fs, sync::Arc};

/// Turns after which a process that has not ticked and not started anything is forgotten.
const KEPT_TURNS: u32 = 2;

/// Processes that are remembered at most: any number can be started between two turns.
const MOST: usize = 1 << 16;

/// Longer paths are cut: the kernel allows 4,096 bytes, and they become labels.
const LONGEST: usize = 512;

/// Paths of control groups by process.
#[derive(Debug, Default)]
pub(super) struct Cgroups {
    known: HashMap<u32, (Arc<str>, u32)>,
    turn: u32,
}

impl Cgroups {
    /// A process has started: in the group of its parent, until it is moved.
    pub(super) fn started(&mut self, tgid: u32, parent: u32) {
        if tgid == parent || self.known.len() >= MOST {
            return;
        }
        let path = match self.known.get(&parent) {
            Some((path, _)) => Arc::clone(path),
            None => match read(parent) {
                Some(path) => {
                    let path = self.share(path);
                    self.known.insert(parent, (Arc::clone(&path), self.turn));
                    path
                }
                None => return,
            },
        };
        self.known.insert(tgid, (path, self.turn));
    }

    /// The group of a process that has ticked; of one that has gone, the last that is known.
    pub(super) fn of(&mut self, tgid: u32) -> Arc<str> {
        let turn = self.turn;
        let path = match (read(tgid), self.known.get(&tgid)) {
            (Some(path), Some((known, _))) if *path == **known => Arc::clone(known),
            (Some(path), _) => self.share(path),
            (None, Some((known, _))) => Arc::clone(known),
            (None, None) => return "".into(),
        };
        self.known.insert(tgid, (Arc::clone(&path), turn));
        path
    }

    /// A turn is over.
    pub(super) fn turned(&mut self) {
        self.turn = self.turn.wrapping_add(1);
        let turn = self.turn;
        self.known
            .retain(|_, (_, seen)| turn.wrapping_sub(*seen) <= KEPT_TURNS);
    }

    /// The same text for all that are in one group, as far as they are found soon.
    fn share(&self, path: String) -> Arc<str> {
        let same = self.known.values().find(|(known, _)| **known == *path);
        same.map_or_else(|| path.into(), |(known, _)| Arc::clone(known))
    }
}

fn read(tgid: u32) -> Option<String> {
    let text = fs::read(format!("/proc/{tgid}/cgroup")).ok()?;
    path_in(&String::from_utf8_lossy(&text))
}

/// The path in version 2, or in the hierarchy of version 1 that accounts for CPU time. Lines are
/// `NUMBER:CONTROLLERS:PATH`.
fn path_in(text: &str) -> Option<String> {
    let lines = || {
        text.lines()
            .filter_map(|line| line.split_once(':')?.1.split_once(':'))
    };
    let of = |wanted: &str| {
        lines()
            .find(|(controllers, _)| controllers.split(',').any(|one| one == wanted))
            .map(|(_, path)| path)
    };
    // Where both are mounted and version 2 has no controllers, everything may be in its root.
    let path = of("")
        .filter(|path| *path != "/")
        .or_else(|| of("cpuacct"))
        .or_else(|| of(""))?;
    let end = (0..=path.len().min(LONGEST)).rfind(|&end| path.is_char_boundary(end))?;
    Some(path[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Cgroups, LONGEST, path_in};

    #[test]
    fn both_versions_are_read() {
        assert_eq!(
            path_in("0::/a/b.service\n").as_deref(),
            Some("/a/b.service")
        );
        let mixed = "5:cpu,cpuacct:/x\n1:name=systemd:/y\n0::/\n";
        assert_eq!(path_in(mixed).as_deref(), Some("/x"));
        assert_eq!(path_in("0::/\n").as_deref(), Some("/"));
        assert_eq!(path_in("0::/with:colon\n").as_deref(), Some("/with:colon"));
        for none in ["", "nonsense", "1:memory:/z\n"] {
            assert_eq!(path_in(none), None);
        }
        let long = format!("0::/{}", "ä".repeat(LONGEST));
        assert!(path_in(&long).is_some_and(|path| path.len() <= LONGEST));
    }

    #[test]
    fn a_child_is_where_its_parent_was_and_forgotten_later() {
        let mut cgroups = Cgroups::default();
        let own = std::process::id();
        let ours = cgroups.of(own);
        assert!(ours.starts_with('/'), "{ours}");
        const GONE: u32 = u32::MAX - 1;
        cgroups.started(GONE, own);
        assert_eq!(cgroups.of(GONE), ours);
        for _ in 0..4 {
            cgroups.turned();
        }
        assert_eq!(&*cgroups.of(GONE), "");
        assert!(cgroups.known.is_empty());
    }
}
