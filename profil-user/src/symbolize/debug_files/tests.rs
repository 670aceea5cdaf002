//! A real program, its symbols split off in every way that tools do it, and files that only look
//! like them.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use super::{DebugFile, Lacks, Stripped, find, path_of};
use crate::{profile::BuildId, symbolize::sections::Sections, target::ObjectFile};

/// A directory with `program`, which was stripped, and `program.debug`.
struct Split {
    dir: TempDir,
    file: ObjectFile,
    sections: Sections,
}

const SYMBOLS: Lacks = Lacks {
    symbols: true,
    lines: false,
};

const ID: &str = "0x0123456789abcdef";

fn run(program: &str, arguments: &[&OsStr], dir: &Path) {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(dir);
    let output = command.output().expect(program);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

impl Split {
    fn new(build_id: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        fs::write(at.join("program.c"), "int main(void) { return 0; }").unwrap();
        let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        for line in [
            &format!("cc -g -Wl,--build-id={build_id} program.c -o program"),
            "objcopy --only-keep-debug program program.debug",
            "objcopy --strip-all --add-gnu-debuglink=program.debug program",
        ] {
            let line = words(line);
            let arguments: Vec<_> = line[1..].iter().map(OsStr::new).collect();
            run(&line[0], &arguments, at);
        }
        let file = ObjectFile::open_named(&at.join("program")).unwrap();
        let sections = Sections::read(&file).unwrap();
        assert!(!sections.has_symbols);
        Self {
            dir,
            file,
            sections,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Moves the debug file to another place.
    fn put(&self, place: &str) {
        let place = self.path(place);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::rename(self.path("program.debug"), place).unwrap();
    }

    fn find(&self, dirs: &[PathBuf]) -> Option<DebugFile> {
        let link = self.sections.debug_link.as_ref();
        let stripped = Stripped {
            build_id: self.file.build_id(),
            link: link.map(|link| (link, self.dir.path())),
            lacks: SYMBOLS,
        };
        find(stripped, &["/".into()], dirs)
    }

    /// What finds `program.debug` at `place`, if the program is known by its build id only.
    fn find_by_id(&self, dirs: &[PathBuf]) -> Option<DebugFile> {
        let stripped = Stripped {
            build_id: self.file.build_id(),
            link: None,
            lacks: SYMBOLS,
        };
        find(stripped, &["/".into()], dirs)
    }
}

fn id() -> BuildId {
    ID.trim_start_matches("0x").parse().unwrap()
}

#[test]
fn a_build_id_is_a_path() {
    let path = Path::new(".build-id/01/23456789abcdef.debug");
    assert_eq!(path_of(id()), path);
    let short = BuildId::new(&[0xab]).unwrap();
    assert_eq!(path_of(short), Path::new(".build-id/ab/.debug"));
}

#[test]
fn it_is_found_by_build_id_in_any_of_the_directories() {
    let split = Split::new(ID);
    assert!(split.find_by_id(&[split.path("none")]).is_none());
    split.put("some/.build-id/01/23456789abcdef.debug");
    let dirs = [split.path("none"), split.path("some")];
    let found = split.find_by_id(&dirs).unwrap();
    assert!(found.sections.has_symbols);
    assert_eq!(found.file.build_id(), Some(id()));
    assert!(split.find(&dirs).is_some());
}

#[test]
fn it_is_found_by_its_link() {
    // By the build id in both files, and by the CRC where there is none.
    for build_id in [ID, "none"] {
        let split = Split::new(build_id);
        assert!(split.find(&[]).is_some(), "beside it");
        split.put(".debug/program.debug");
        assert!(split.find(&[]).is_some(), "in .debug");
        assert!(split.find_by_id(&[]).is_none());

        let split = Split::new(build_id);
        let mirrored = split.dir.path().strip_prefix("/").unwrap();
        split.put(&format!("dir/{}/program.debug", mirrored.display()));
        assert!(split.find(&[]).is_none());
        assert!(split.find(&[split.path("dir")]).is_some(), "mirrored");
    }
}

#[test]
fn it_is_found_in_another_root() {
    let split = Split::new(ID);
    split.put("root/usr/lib/debug/.build-id/01/23456789abcdef.debug");
    let stripped = Stripped {
        build_id: split.file.build_id(),
        link: None,
        lacks: SYMBOLS,
    };
    let dirs = [PathBuf::from("/usr/lib/debug")];
    assert!(find(stripped, &["/".into()], &dirs).is_none());
    assert!(find(stripped, &["/".into(), split.path("root")], &dirs).is_some());
}

#[test]
fn one_of_another_build_is_not_taken() {
    // At the right place, with the right name.
    for (mine, other) in [(ID, "0x0123456789abcdee"), ("none", "none"), (ID, "none")] {
        let split = Split::new(mine);
        let other = Split::new(other);
        let mut debug = fs::read(other.path("program.debug")).unwrap();
        // Where two builds are equal to a byte, they are made to differ.
        debug.extend_from_slice(b"!");
        fs::write(split.path("program.debug"), &debug).unwrap();
        assert!(split.find(&[]).is_none(), "{mine}");
        split.put("some/.build-id/01/23456789abcdef.debug");
        assert!(split.find(&[split.path("some")]).is_none(), "{mine}");
    }
}

#[test]
fn one_without_symbols_is_no_help() {
    let split = Split::new(ID);
    // The link leads to the stripped program itself.
    fs::copy(split.path("program"), split.path("program.debug")).unwrap();
    assert!(split.find(&[]).is_none());
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let split = Split::new(ID);
    fs::remove_file(split.path("program.debug")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        split.path("program.debug"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert!(split.find(&[]).is_none());
}
