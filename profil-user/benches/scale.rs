//! A profile as large as they get: 1,000,000 addresses in 5,000 objects, read and written in every
//! format. `cargo xtask bench scale`.
//!
//! Every format is written by the program itself, from a file of record with names, and stands beside
//! what `go tool pprof` takes to list the same file, where there is one. Nothing is asserted: it
//! measures and reports.

#![allow(clippy::print_stdout, reason = "it reports")]

#[path = "../tests/large/mod.rs"]
mod large;

use std::{
    fs::{self, File},
    path::Path,
    process::Command,
    time::Instant,
};

use large::{ADDRESSES, FORMATS};

const OBJECTS: usize = 5_000;

fn main() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let saved = dir.join("large.pb.gz");
    let began = Instant::now();
    large::write_profile(dir, &saved, OBJECTS);
    println!(
        "{} addresses in {OBJECTS} objects, made in {:.1} s",
        OBJECTS * ADDRESSES,
        began.elapsed().as_secs_f64()
    );
    println!(
        "{:<20} {:>8} {:>6} {:>6} {:>12}",
        "what", "seconds", "CPU", "MiB", "bytes"
    );
    let report = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_profil-bpf"));
        command.arg("report").arg(&saved);
        command
    };
    show("report", report().stdout(file(&dir.join("report"))), dir);
    for format in FORMATS {
        let name = format!("out.{format}");
        show(&name, report().arg("-o").arg(dir.join(&name)), dir);
    }
    let mut peer = Command::new("go");
    // It looks for the objects, to disassemble what nobody asked for.
    peer.args(["tool", "pprof", "-symbolize=none", "-top"])
        .arg(&saved);
    let name = "go tool pprof -top";
    show(name, peer.stdout(file(&dir.join(name))), dir);
}

fn file(path: &Path) -> File {
    File::create(path).expect("there is room")
}

/// Runs a command, and prints what it took and wrote.
fn show(name: &str, command: &mut Command, dir: &Path) {
    let began = Instant::now();
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return println!("{name:<20} was not run: {error}"),
    };
    let (status, usage) = large::wait(&child);
    let seconds = began.elapsed().as_secs_f64();
    let bytes = fs::metadata(dir.join(name)).map_or(0, |file| file.len());
    let of_time = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let cpu = of_time(usage.ru_utime) + of_time(usage.ru_stime);
    let mebibytes = usage.ru_maxrss / 1024;
    println!("{name:<20} {seconds:>8.2} {cpu:>6.2} {mebibytes:>6} {bytes:>12}");
    if !status.success() {
        println!("  it failed: {status}");
    }
}
