use std::{
    ffi::{OsStr, OsString},
    fs,
    io::{self, Write as _},
    os::fd::AsRawFd as _,
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    path::Path,
    process::ExitStatus,
    thread::sleep,
    time::Duration,
};

use super::{LaunchError, Launched, State, exit_code};

fn prepare(program: impl AsRef<OsStr>, args: &[&OsStr]) -> Launched {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    Launched::prepare(program.as_ref(), &args).expect("a process")
}

fn shell(script: &str) -> Launched {
    prepare("sh", &["-c".as_ref(), script.as_ref()])
}

fn exit_code_of(script: &str) -> u8 {
    let mut launched = shell(script);
    launched.release().expect("there is a shell");
    exit_code(launched.wait().expect("our child"))
}

/// Long enough for a child to have done what it should not.
fn let_it_be() {
    sleep(Duration::from_millis(100));
}

#[test]
fn its_status_is_passed_on() {
    assert_eq!(exit_code_of("exit 0"), 0);
    assert_eq!(exit_code_of("exit 7"), 7);
    assert_eq!(exit_code_of("exit 255"), 255);
    assert_eq!(exit_code_of("kill -TERM $$"), 128 + 15);
    assert_eq!(exit_code_of("kill -KILL $$"), 128 + 9);
    let dumped_core = ExitStatus::from_raw(libc::SIGSEGV | 0x80);
    assert_eq!(exit_code(dumped_core), 128 + 11);
}

#[test]
fn nothing_runs_before_it_is_released() {
    let dir = tempfile::tempdir().expect("a directory");
    let ran = dir.path().join("ran");
    let mut launched = prepare("touch", &[ran.as_ref()]);
    let exe = format!("/proc/{}/exe", launched.pid());
    let_it_be();
    assert_eq!(
        fs::read_link(exe).expect("it is there"),
        std::env::current_exe().expect("we are")
    );
    assert!(!ran.exists());
    assert_eq!(
        launched.wait().map_err(|error| error.kind()),
        Err(io::ErrorKind::InvalidInput)
    );

    launched.release().expect("there is touch(1)");
    launched.release().expect("it is");
    let status = launched.wait().expect("our child");
    assert!(status.success() && ran.exists());
    assert_eq!(launched.try_wait().expect("as before"), Some(status));
}

#[test]
fn the_number_is_the_programs() {
    let dir = tempfile::tempdir().expect("a directory");
    let number = dir.path().join("number");
    let script = r#"echo $$ >"$0""#;
    let mut launched = prepare("sh", &["-c".as_ref(), script.as_ref(), number.as_ref()]);
    launched.release().expect("there is a shell");
    launched.wait().expect("our child");
    let number = fs::read_to_string(number).expect("was written");
    assert_eq!(number.trim(), launched.pid().to_string());
}

#[test]
fn what_is_not_released_runs_nothing_and_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let ran = dir.path().join("ran");
    let launched = prepare("touch", &[ran.as_ref()]);
    let proc = format!("/proc/{}", launched.pid());
    drop(launched);
    assert!(!Path::new(&proc).exists(), "not even a zombie");
    let_it_be();
    assert!(!ran.exists());
}

#[test]
fn it_gives_up_if_we_die() {
    let mut launched = shell("true");
    let State::Held(hold) = &mut launched.state else {
        panic!("it was not released");
    };
    // As if we were gone: there is nobody left to tell it anything.
    let (_, nobody) = rustix::pipe::pipe().expect("a pipe");
    hold.pipe.1 = nobody;
    let spawning = hold.spawning.take().expect("it was not told");
    let error = spawning.join().expect("no panic").expect_err("gave up");
    assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
}

#[test]
fn what_is_killed_meanwhile_is_a_status() {
    let mut launched = shell("true");
    let killed = shell(&format!("kill -KILL {}", launched.pid()));
    let mut killer = killed;
    killer.release().expect("there is a shell");
    killer.wait().expect("our child");
    launched.release().expect("there was a child");
    let status = launched.wait().expect("our child");
    assert_eq!(exit_code(status), 128 + 9);

    let launched = shell("true");
    let mut killer = shell(&format!("kill -KILL {}", launched.pid()));
    killer.release().expect("there is a shell");
    killer.wait().expect("our child");
    let proc = format!("/proc/{}", launched.pid());
    drop(launched);
    assert!(!Path::new(&proc).exists(), "not even a zombie");
}

#[test]
fn what_cannot_be_run_says_why() {
    let dir = tempfile::tempdir().expect("a directory");
    let refusal = |program: &Path| {
        let mut launched = prepare(program, &[]);
        let error = launched.release().expect_err("cannot be run");
        assert!(launched.wait().is_err());
        assert!(launched.release().is_err());
        (error.exit_code(), error)
    };
    let absent = dir.path().join("absent");
    for absent in [&absent, Path::new("no-program-has-this-name")] {
        let (code, error) = refusal(absent);
        assert!(matches!(error, LaunchError::NotFound { .. }), "{error:?}");
        assert_eq!(code, 127);
    }

    let file = dir.path().join("file");
    fs::write(&file, "#!/no/such/interpreter\n").expect("room");
    let (code, error) = refusal(&file);
    assert!(matches!(error, LaunchError::Exec { .. }), "{error:?}");
    assert_eq!(code, 126);

    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let (code, error) = refusal(&file);
    assert!(
        matches!(error, LaunchError::NoInterpreter { .. }),
        "{error:?}"
    );
    assert_eq!(code, 126);

    let error = Launched::prepare(OsStr::new("nul\0"), &[]).expect_err("no such name");
    assert!(matches!(error, LaunchError::Start { .. }), "{error:?}");
    assert_eq!(error.exit_code(), 125);
}

#[test]
fn signals_are_as_in_a_fresh_program() {
    let dir = tempfile::tempdir().expect("a directory");
    let status = dir.path().join("status");
    // SAFETY: the signal is nobody else's in these tests; the set is written before it is read.
    let before = unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGUSR1);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        libc::signal(libc::SIGUSR2, libc::SIG_IGN)
    };
    let mut launched = prepare("cp", &["/proc/self/status".as_ref(), status.as_ref()]);
    launched.release().expect("there is cp(1)");
    launched.wait().expect("our child");
    // SAFETY: as it was before.
    unsafe { libc::signal(libc::SIGUSR2, before) };

    let status = fs::read_to_string(status).expect("was copied");
    let set = |name: &str| {
        let set = status.lines().find_map(|line| line.strip_prefix(name));
        u64::from_str_radix(set.expect("a field").trim(), 16).expect("a set")
    };
    assert_eq!(set("SigBlk:"), 0);
    let of_the_c_library = 32..libc::SIGRTMIN();
    let untouched: u64 = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT]
        .into_iter()
        .chain(of_the_c_library)
        .map(|signal| 1 << (signal - 1))
        .sum();
    assert_eq!(set("SigIgn:") & !untouched, 0);
}

#[test]
fn descriptors_of_ours_stay_ours() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut ours = fs::File::create(dir.path().join("ours")).expect("room");
    ours.write_all(b"ours").expect("room");
    let list = dir.path().join("list");
    let script = r#"ls -l /proc/$$/fd >"$0""#;
    let mut launched = prepare("sh", &["-c".as_ref(), script.as_ref(), list.as_ref()]);
    let State::Held(hold) = &launched.state else {
        panic!("it was not released");
    };
    let pipes = [hold.pipe.0.as_raw_fd(), hold.pipe.1.as_raw_fd()]
        .map(|fd| fs::read_link(format!("/proc/self/fd/{fd}")).expect("it is open"));
    launched.release().expect("there is a shell");
    launched.wait().expect("our child");
    let list = fs::read_to_string(list).expect("was written");
    assert!(list.contains("list"), "itself: {list}");
    for ours in pipes.iter().map(|pipe| &**pipe).chain([Path::new("/ours")]) {
        let ours = ours.to_str().expect("text");
        assert!(!list.contains(ours), "{ours} in {list}");
    }
}
