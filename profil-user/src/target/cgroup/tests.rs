use std::{
    fs,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::{Cgroup, CgroupError, Finder, mounts};

const ID: &str = "0123abcd";

fn id(last: u8) -> String {
    format!("{ID}{last:056x}")
}

/// Directories that stand in for control groups.
struct Tree {
    dir: TempDir,
    finder: Finder,
}

impl Tree {
    fn new(cgroups: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        for cgroup in cgroups {
            fs::create_dir_all(dir.path().join(cgroup)).expect("room");
        }
        let point = dir.path().to_str().expect("text");
        let mountinfo = format!("41 31 0:38 / {point} rw - cgroup2 cgroup2 rw\n");
        let finder = Finder {
            mounts: mounts::parse(mountinfo.as_bytes()),
            is_cgroup: |dir| {
                let path = fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd()))?;
                Ok(path != Path::new("/"))
            },
        };
        Self { dir, finder }
    }

    fn path(&self, cgroup: &str) -> PathBuf {
        let root = self.dir.path().canonicalize().expect("it is there");
        root.join(cgroup)
    }

    fn find(&self, asked: impl AsRef<Path>) -> Result<PathBuf, CgroupError> {
        let cgroup = self.finder.find(asked.as_ref())?;
        Ok(cgroup.path().to_owned())
    }
}

#[test]
fn a_path_is_of_the_file_system_or_from_the_root() {
    let tree = Tree::new(&["system.slice/a.service"]);
    let path = tree.path("system.slice/a.service");
    for asked in [
        &path,
        Path::new("/system.slice/a.service"),
        Path::new("system.slice/a.service"),
        Path::new("system.slice/../system.slice/a.service/"),
    ] {
        assert_eq!(tree.find(asked).expect("it is there"), path);
    }
    assert_eq!(tree.find("/").expect("the root"), tree.path(""));
    for absent in ["system.slice/b.service", ""] {
        let error = tree.find(absent).expect_err("is not there");
        assert!(matches!(error, CgroupError::NotFound { .. }), "{error:?}");
    }
}

#[test]
fn a_container_is_found_by_the_beginning_of_its_id() {
    let docker = format!("system.slice/docker-{}.scope", id(1));
    let inner = format!("{docker}/init");
    let monitor = format!("machine.slice/libpod-conmon-{}.scope", id(1));
    let tree = Tree::new(&[&docker, &inner, &monitor]);
    let whole = id(1);
    for asked in [ID, &whole, &whole.to_uppercase()] {
        assert_eq!(tree.find(asked).expect("it is there"), tree.path(&docker));
    }
    for asked in ["0123abc", "0123abce", &format!("{whole}0")] {
        let error = tree.find(asked).expect_err("no such id");
        assert!(matches!(error, CgroupError::NotFound { .. }), "{error:?}");
    }
}

#[test]
fn two_containers_are_a_question_of_one_line() {
    let cgroups: Vec<String> = (0..6).map(|last| format!("docker/{}", id(last))).collect();
    let cgroups: Vec<&str> = cgroups.iter().map(String::as_str).collect();
    let tree = Tree::new(&cgroups);
    let error = tree.find(ID).expect_err("which?").to_string();
    assert!(
        error.contains(&id(0)) && error.contains("2 more"),
        "{error}"
    );
    assert!(!error.contains('\n'), "{error}");
    assert_eq!(tree.find(id(3)).expect("one"), tree.path(cgroups[3]));

    let two = Tree::new(&cgroups[..2]);
    let error = two.find(ID).expect_err("which?").to_string();
    assert!(
        error.contains(&id(1)) && !error.contains("more or"),
        "{error}"
    );
}

#[test]
fn what_is_too_deep_is_said() {
    let deep = "a/".repeat(40) + &id(1);
    let tree = Tree::new(&[&deep]);
    let error = tree.find(ID).expect_err("too deep");
    assert!(matches!(error, CgroupError::TooMany { .. }), "{error:?}");
    assert_eq!(tree.find(&deep).expect("by path"), tree.path(&deep));
}

#[test]
fn other_directories_are_no_cgroups() {
    let dir = tempfile::tempdir().expect("a directory");
    let error = Cgroup::find(dir.path().as_os_str()).expect_err("is none");
    assert!(matches!(error, CgroupError::NotACgroup { .. }), "{error:?}");
}
