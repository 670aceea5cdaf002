//! A terminal of the test's own, whose other end it reads.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::fd::AsFd as _,
    panic,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use profil_tests::terminal::pair;
use rustix::termios::{LocalModes, tcgetattr};

use super::{GIVE_BACK, Guard, Screen, TAKE, give_back, is_ours, lend};

/// There is one terminal for the whole program.
static ONE: Mutex<()> = Mutex::new(());

/// What was written to it so far.
fn written(ours: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    while let Ok(length @ 1..) = ours.read(&mut part) {
        bytes.extend_from_slice(&part[..length]);
    }
    bytes
}

fn is_raw(terminal: &File) -> bool {
    let settings = tcgetattr(terminal).expect("a terminal");
    !settings
        .local_modes
        .intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
}

#[test]
fn it_is_taken_and_given_back_once() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut ours, theirs) = pair();
    assert!(!is_raw(&theirs));
    let guard = Guard::take(&theirs, &theirs).expect("a terminal");
    assert!(is_raw(&theirs));
    assert_eq!(written(&mut ours), TAKE);
    let mut screen = Screen::default();
    screen.write_all(b"picture").expect("memory");
    screen.flush().expect("it is ours");
    assert_eq!(written(&mut ours), b"picture");
    give_back();
    assert!(!is_raw(&theirs));
    assert_eq!(written(&mut ours), GIVE_BACK);
    screen.write_all(b"late").expect("memory");
    screen.flush().expect("on nothing");
    assert!(!is_ours());
    drop(guard);
    assert_eq!(written(&mut ours), b"");
}

#[test]
fn while_it_is_lent_it_is_as_it_was() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut ours, theirs) = pair();
    let guard = Guard::take(&theirs, &theirs).expect("a terminal");
    written(&mut ours);
    lend(|| {
        assert!(!is_raw(&theirs));
        assert_eq!(written(&mut ours), GIVE_BACK);
    })
    .expect("it is taken again");
    assert!(is_raw(&theirs) && is_ours());
    assert_eq!(written(&mut ours), TAKE);
    drop(guard);
    assert!(!is_raw(&theirs));
    written(&mut ours);
    lend(|| {}).expect("there is nothing to lend");
    assert_eq!(written(&mut ours), b"");
}

#[test]
fn a_panic_of_any_thread_gives_it_back_before_it_speaks() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut ours, theirs) = pair();
    let seen = Arc::new(Mutex::new(None));
    let (note, theirs_too) = (Arc::clone(&seen), theirs.try_clone().expect("a descriptor"));
    // The hook that was there before ours; other tests run theirs.
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if thread::current().name() == Some("falls") {
            *note.lock().expect("whole") = Some(is_raw(&theirs_too));
        } else {
            usual(info);
        }
    }));
    super::hook();
    let guard = Guard::take(&theirs, &theirs).expect("a terminal");
    let falls = thread::Builder::new().name("falls".to_owned());
    let fallen = falls
        .spawn(|| panic!("as planned"))
        .expect("a thread")
        .join();
    fallen.expect_err("it panics");
    assert_eq!(
        *seen.lock().expect("whole"),
        Some(false),
        "given back first"
    );
    let bytes = written(&mut ours);
    assert!(bytes.ends_with(GIVE_BACK), "{bytes:?}");
    drop(guard);
    let _ = panic::take_hook();
}

#[test]
fn a_terminal_that_takes_nothing_holds_nobody_up() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (_ours, theirs) = pair();
    let guard = Guard::take(theirs.as_fd(), theirs.as_fd()).expect("a terminal");
    // More than there is room for, and nobody reads.
    let draws = thread::spawn(|| {
        let mut screen = Screen::default();
        screen.write_all(&[b'x'; 1 << 20]).expect("memory");
        screen.flush()
    });
    thread::sleep(Duration::from_millis(300));
    let start = Instant::now();
    drop(guard);
    draws.join().expect("no panic").expect("on nothing");
    // It would wait for ever.
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(!is_raw(&theirs));
}
