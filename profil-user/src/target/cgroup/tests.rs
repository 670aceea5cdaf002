use std::{
    ffi::OsStr,
    fs,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
    process::{Child, Command},
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

#[test]
fn members_are_those_of_the_whole_tree() {
    let tree = Tree::new(&["a/b/c", "a/empty"]);
    // 0 is a process that has no number here.
    for (cgroup, processes) in [("a", "30\n7\n"), ("a/b", "0\n"), ("a/b/c", "8\n7\n")] {
        let list = tree.path(cgroup).join("cgroup.procs");
        fs::write(list, processes).expect("room");
    }
    let cgroup = tree.finder.find(Path::new("a")).expect("it is there");
    assert_eq!(cgroup.members().expect("readable"), [7, 8, 30]);
    let top = tree.finder.find(Path::new("/")).expect("it is there");
    assert_eq!(top.members().expect("as if it had gone"), []);
}

/// A control group of ours, and a process in it.
struct Live {
    path: PathBuf,
    sleeper: Child,
}

impl Live {
    fn start() -> Self {
        let mountinfo = fs::read("/proc/self/mountinfo").expect("ours");
        let mounts = mounts::parse(&mountinfo);
        let mount = mounts.first().expect("control groups are mounted");
        let above = mount.point.join(format!("profil-{}", std::process::id()));
        let path = above.join(format!("docker-{}.scope", live_id()));
        fs::create_dir_all(path.join("below")).expect("we may");
        let sleeper = Command::new("sleep").arg("60").spawn().expect("coreutils");
        let list = path.join("below/cgroup.procs");
        fs::write(list, sleeper.id().to_string()).expect("we may");
        Self { path, sleeper }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.sleeper.kill();
        let _ = self.sleeper.wait();
        // A control group is removed by its directory alone, from below.
        for path in [&self.path.join("below"), &self.path] {
            let _ = fs::remove_dir(path);
        }
        let _ = self.path.parent().map(fs::remove_dir);
    }
}

fn live_id() -> String {
    format!("{:08x}{}", std::process::id(), "7".repeat(56))
}

#[test]
#[ignore = "needs root, and control groups of version 2 or of version 1's perf_event"]
fn a_live_one_is_found_and_outlives_its_name() {
    let live = Live::start();
    let found = |asked: &OsStr| Cgroup::find(asked).expect("it is there");
    let cgroup = found(live.path.as_os_str());
    assert_eq!(cgroup.path(), live.path);
    assert_eq!(cgroup.members().expect("readable"), [live.sleeper.id()]);
    let by_id = found(live_id()[..12].as_ref());
    assert_eq!(by_id.path(), live.path);
    let processes = fs::read_to_string(format!("/proc/{}/cgroup", live.sleeper.id()));
    let processes = processes.expect("it lives");
    let from_root = processes.lines().find_map(|line| {
        let (_, path) = line.rsplit_once(':')?;
        path.ends_with("/below").then_some(path)
    });
    let below = found(from_root.expect("it is below").as_ref());
    assert_eq!(below.path(), live.path.join("below"));

    drop(live);
    assert_eq!(cgroup.members().expect("it has gone"), []);
    assert_eq!(below.members().expect("it has gone"), []);
}
