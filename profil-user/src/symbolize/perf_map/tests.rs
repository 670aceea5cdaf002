//! Maps where this process would have its own, below another root.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::PathBuf,
};

use rustix::fs::{Mode, OFlags};
use tempfile::TempDir;

use super::{MAX_BYTES, MapPlace, MapRefused, PerfMap, identity};

/// The root of a process numbered 7.
struct Root {
    dir: TempDir,
    place: MapPlace,
}

impl Root {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("tmp")).unwrap();
        let user = dir.path().metadata().unwrap().uid();
        let root = rustix::fs::open(dir.path(), OFlags::PATH, Mode::empty()).unwrap();
        let place = MapPlace {
            root,
            number: 7,
            user,
        };
        Self { dir, place }
    }

    fn map(&self) -> PathBuf {
        self.dir.path().join("tmp/perf-7.map")
    }

    fn refused(&self) -> Option<MapRefused> {
        self.place.read(MAX_BYTES).err()
    }
}

#[test]
fn a_map_of_the_processs_user_is_believed() {
    let root = Root::new();
    assert!(matches!(root.place.read(MAX_BYTES), Ok(None)));
    fs::write(root.map(), "1000 10 name\n").unwrap();
    let map = root.place.read(MAX_BYTES).unwrap().unwrap();
    assert_eq!(map.name_of(0x100f), Some(("name", 0x1000)));
    assert_eq!(map.name_of(0x1010), None);
}

#[test]
fn one_of_another_user_is_not_unless_it_is_root() {
    let mut root = Root::new();
    fs::write(root.map(), "1000 10 name\n").unwrap();
    root.place.user += 1;
    let is_root = root.map().metadata().unwrap().uid() == 0;
    assert_eq!(root.refused(), (!is_root).then_some(MapRefused::NotOwned));
    if is_root {
        std::os::unix::fs::chown(root.map(), Some(1), None).unwrap();
        root.place.user = 2;
        assert_eq!(root.refused(), Some(MapRefused::NotOwned));
        root.place.user = 1;
        assert_eq!(root.refused(), None);
    }
}

#[test]
fn what_is_no_regular_file_is_not_read() {
    let root = Root::new();
    let real = root.dir.path().join("real");
    fs::write(&real, "1000 10 name\n").unwrap();
    symlink(&real, root.map()).unwrap();
    assert_eq!(root.refused(), Some(MapRefused::NotRegular));
    fs::remove_file(root.map()).unwrap();
    symlink("/nowhere", root.map()).unwrap();
    assert_eq!(root.refused(), Some(MapRefused::NotRegular));
    fs::remove_file(root.map()).unwrap();
    fs::create_dir(root.map()).unwrap();
    assert_eq!(root.refused(), Some(MapRefused::NotRegular));
    fs::remove_dir(root.map()).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, root.map(), fifo, Mode::RUSR, 0).unwrap();
    assert_eq!(root.refused(), Some(MapRefused::NotRegular));
}

#[test]
fn links_on_the_way_stay_in_the_root() {
    let root = Root::new();
    let tmp = root.dir.path().join("tmp");
    fs::remove_dir(&tmp).unwrap();
    fs::create_dir(root.dir.path().join("other")).unwrap();
    symlink("/other", &tmp).unwrap();
    assert!(matches!(root.place.read(MAX_BYTES), Ok(None)));
    fs::write(root.dir.path().join("other/perf-7.map"), "1000 10 name\n").unwrap();
    assert!(root.place.read(MAX_BYTES).unwrap().is_some());
}

#[test]
fn one_that_is_too_large_is_not_read() {
    let root = Root::new();
    let file = fs::File::create(root.map()).unwrap();
    file.set_permissions(fs::Permissions::from_mode(0o600))
        .unwrap();
    file.set_len(MAX_BYTES + 1).unwrap();
    assert_eq!(root.refused(), Some(MapRefused::TooLarge));
}

/// A file with holes has any size for nothing, and any number of processes may have one.
#[test]
fn what_all_maps_say_is_bounded() {
    let root = Root::new();
    fs::write(root.map(), "1000 10 name\n").unwrap();
    let map = root.place.read(13).unwrap().unwrap();
    assert_eq!(map.bytes(), 13);
    assert_eq!(root.place.read(12).err(), Some(MapRefused::TooMany));
}

#[test]
fn the_innermost_number_and_the_effective_user_count() {
    let status = "Name:\ta\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nNSpid:\t4242\t17\t1\n";
    assert_eq!(identity(status), Some((1, 2)));
    assert_eq!(identity("NSpid:\t4242\n"), None);
    let this = MapPlace::of(std::process::id()).unwrap();
    assert_eq!(this.user, rustix::process::geteuid().as_raw());
}

/// A process may call itself what it likes, text or not.
#[test]
fn a_name_that_is_no_text_hides_no_map() {
    use std::{
        io::Write as _,
        process::{Command, Stdio},
    };

    let mut named = Command::new("/bin/sh");
    named.args([
        "-c",
        "printf 'a\\377b' > /proc/$$/comm && echo && read -r line",
    ]);
    named.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut named = named.spawn().unwrap();
    let mut said = String::new();
    let mut output = std::io::BufReader::new(named.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut said).unwrap();
    let comm = fs::read(format!("/proc/{}/comm", named.id())).unwrap();
    let place = MapPlace::of(named.id());
    named.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(named.wait().unwrap().success());
    assert_eq!(comm, b"a\xffb\n");
    assert_eq!(place.unwrap().number, named.id());
}

#[test]
fn a_process_that_has_gone_has_none() {
    assert!(matches!(PerfMap::open(u32::MAX, MAX_BYTES), Ok(None)));
}
