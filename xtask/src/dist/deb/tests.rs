use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{Built, member, pack, set_mode, with_directories, write};
use crate::{arch::Arch, machine, workspace};

/// A directory of a test, which goes with it.
struct Room(PathBuf);

impl Room {
    fn new(name: &str) -> Self {
        let name = format!("deb-test-{name}-{}", std::process::id());
        Self(workspace::target_dir().join(name))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A package of all that the metadata names, with something in place of what takes minutes to build.
fn packed(room: &Path) -> Vec<u8> {
    let program = room.join("built");
    write(&program, "#!/bin/sh\necho this is it\n").expect("a program");
    set_mode(&program, 0o700).expect("a mode");
    let manual = room.join("manual");
    for page in [
        "man/man1/profil-bpf.1",
        "man/man1/profil-bpf-top.1",
        "bash-completion/completions/profil-bpf",
        "zsh/site-functions/_profil-bpf",
        "fish/vendor_completions.d/profil-bpf.fish",
    ] {
        write(&manual.join(page), "a page\n").expect("a page");
    }
    let built = Built {
        program: &program,
        manual: &manual,
        arch: Arch::X86_64,
    };
    pack(built, &room.join("stage")).expect("a package")
}

#[track_caller]
fn output(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{errors}");
    said
}

#[test]
fn dpkg_reads_and_installs_it() {
    if machine::find_program("dpkg-deb").is_none() {
        return;
    }
    let room = Room::new("install");
    let made = packed(&room.0);
    let file = room.0.join("profil-bpf.deb");
    fs::write(&file, &made).expect("a file");

    let info = output(Command::new("dpkg-deb").arg("--info").arg(&file));
    for field in [
        "Package: profil-bpf\n",
        "Architecture: amd64\n",
        "Installed-Size: ",
        "Description: profil(2) for running",
    ] {
        assert!(info.contains(field), "{field:?} is not in {info}");
    }
    assert!(!info.contains("Depends"), "a static program: {info}");

    let root = room.0.join("root");
    output(Command::new("dpkg-deb").arg("-x").arg(&file).arg(&root));
    for (place, mode) in [
        ("usr/bin/profil-bpf", "755"),
        ("usr/share/man/man1/profil-bpf-top.1.gz", "644"),
        ("usr/lib/systemd/system/profil-bpf.service", "644"),
        (
            r"usr/lib/systemd/system/sys-fs-bpf-profil\x2dbpf.mount",
            "644",
        ),
        ("etc/profil-bpf.toml", "644"),
        ("usr/share/doc/profil-bpf/copyright", "644"),
    ] {
        let found = output(
            Command::new("stat")
                .args(["-c", "%a"])
                .arg(root.join(place)),
        );
        assert_eq!(found.trim(), mode, "{place}");
    }
    if !machine::is_root() {
        return;
    }
    // Into a root of its own, with its scripts, which leave this machine alone.
    let root = room.0.join("installed");
    let database = root.join("var/lib/dpkg");
    for dir in ["info", "updates"] {
        fs::create_dir_all(database.join(dir)).expect("a directory");
    }
    for list in ["status", "available"] {
        fs::write(database.join(list), "").expect("a list");
    }
    let dpkg = |arguments: &[&str]| {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg("--root").arg(&root);
        dpkg.args(["--force-script-chrootless", "--force-architecture"]);
        output(dpkg.args(arguments))
    };
    let path = file.to_str().expect("a plain path");
    dpkg(&["--install", path]);
    assert_eq!(dpkg(&["--verify", "profil-bpf"]), "");
    let config = root.join("etc/profil-bpf.toml");
    fs::write(&config, "# mine\n").expect("a change");
    // An upgrade keeps what somebody has changed.
    dpkg(&["--force-confold", "--install", path]);
    assert_eq!(fs::read_to_string(&config).expect("it is kept"), "# mine\n");
    dpkg(&["--remove", "profil-bpf"]);
    assert!(config.exists() && !root.join("usr/bin/profil-bpf").exists());
    dpkg(&["--purge", "profil-bpf"]);
    assert!(!config.exists());
}

#[test]
fn the_same_files_are_the_same_bytes() {
    let (one, other) = (Room::new("one"), Room::new("other"));
    assert!(
        packed(&one.0) == packed(&other.0),
        "packed twice, and not the same"
    );
}

#[test]
fn odd_members_are_filled_up() {
    let mut archive = Vec::new();
    member(&mut archive, "odd", b"1");
    assert_eq!(archive.len(), 62);
    assert!(
        archive.starts_with(b"odd             0           0     0     100644  1         `\n1\n")
    );
    member(&mut archive, "even", b"12");
    assert_eq!(archive.len(), 62 + 62);
}

#[test]
fn directories_come_before_what_is_in_them() {
    let files = ["etc/a".into(), "usr/bin/b".into()];
    let shown = with_directories(&files).into_iter();
    let shown: Vec<_> = shown.map(|path| path.display().to_string()).collect();
    assert_eq!(
        shown,
        [
            "./",
            "./etc",
            "./etc/a",
            "./usr",
            "./usr/bin",
            "./usr/bin/b"
        ]
    );
}
