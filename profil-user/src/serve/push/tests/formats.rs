//! What the receivers of each kind read.

use std::{fs, process::Command, time::Duration};

use profil_tests::{Process, require_programs};

use super::{config, pushed, receiver::Receiver, start};
use crate::{
    pprof::{self, Packing},
    serve::push::Kind,
};

#[test]
fn pyroscope_is_asked_as_its_documentation_says() {
    let receiver = Receiver::new([]);
    let mut config = config(&receiver.url(), None);
    config.kind = Kind::Pyroscope;
    config.labels = vec![
        ("env".to_owned(), "prod".to_owned()),
        ("host".to_owned(), "a b".to_owned()),
    ];
    let (pusher, _) = start(config);
    pusher.offer(pushed(1));
    let asked = &receiver.wait_for(1)[0];
    assert!(asked.line.starts_with("POST "), "{}", asked.line);
    assert_eq!(asked.path(), "/ingest");
    let expected = [
        ("name", "profil-bpf{env=prod,host=a b}"),
        ("from", "1800000000123456789"),
        ("until", "1800000015123456789"),
        ("format", "pprof"),
        ("sampleRate", "97"),
        ("spyName", "profil-bpf"),
    ];
    assert_eq!(
        asked.query(),
        expected.map(|(a, b)| (a.to_owned(), b.to_owned()))
    );
    // No form, which would be taken for the profile.
    assert_eq!(
        asked.header("content-type"),
        Some("application/octet-stream")
    );
    assert_eq!(asked.header("content-encoding"), None);
    assert_eq!(asked.header("authorization"), None);
    assert!(
        asked
            .header("user-agent")
            .unwrap()
            .starts_with("profil-bpf/")
    );
    assert_eq!(asked.body, b"profile 1");
}

#[test]
fn go_reads_what_arrived() {
    require_programs!("go");
    let receiver = Receiver::new([]);
    let (pusher, _) = start(config(&receiver.url(), None));
    let (profile, record) = pprof::tests::small();
    let mut real = pushed(1);
    real.pprof.clear();
    pprof::write(&profile, &record, Packing::Gzip, &mut real.pprof).unwrap();
    pusher.offer(real);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("arrived.pb.gz");
    fs::write(&file, &receiver.wait_for(1)[0].body).unwrap();
    let mut command = Command::new("go");
    command
        .args(["tool", "pprof", "-raw", "-symbolize=none"])
        .arg(&file)
        .env("PPROF_TMPDIR", directory.path());
    let finished = Process::start(&mut command).finish(Duration::from_secs(60));
    finished.assert_code(0);
    assert!(
        finished.stdout.contains("ticks/count cpu/nanoseconds"),
        "{}",
        finished.stdout
    );
    assert!(finished.stdout.contains("f(int)"), "{}", finished.stdout);
}
