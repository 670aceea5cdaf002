//! Nobody waits for a receiver, and nothing is lost when the daemon ends.

use std::time::{Duration, Instant};

use super::{
    bodies, config, numbered, pushed,
    receiver::{Answer, Receiver},
    start, wait,
};

#[test]
fn a_receiver_that_never_answers_keeps_nobody_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let spool = directory.path().join("spool");
    let silent = Receiver::new(vec![Answer::Never; 100]);
    let mut config = config(&silent.url(), Some(&spool));
    config.timeout = Duration::from_secs(30);
    let (pusher, _) = start(config.clone());
    pusher.offer(pushed(1));
    silent.wait_for(1);

    // While the thread waits for the answer.
    let since = Instant::now();
    for number in 2..=10 {
        pusher.offer(pushed(number));
    }
    let figures = pusher.figures();
    let took = since.elapsed();
    assert!(took < Duration::from_millis(200), "{took:?}");
    assert_eq!(figures.dropped, 1);

    // Nor does the end.
    let since = Instant::now();
    let figures = pusher.stop();
    let took = since.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert_eq!((figures.waiting, figures.dropped), (9, 1));
    let kept = std::fs::read_dir(&spool).unwrap().count();
    assert_eq!(kept, 9);

    // In another process the lock would be gone.
    let moved = directory.path().join("moved");
    std::fs::create_dir(&moved).unwrap();
    std::fs::set_permissions(&moved, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    for file in std::fs::read_dir(&spool).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), moved.join(file.file_name())).unwrap();
    }
    let receiver = Receiver::new([]);
    config.url = receiver.url();
    config.spool.as_mut().unwrap().directory = moved;
    let (pusher, _) = start(config);
    wait(&pusher, |figures| figures.sent == 9);
    let expected = numbered([1].into_iter().chain(3..=10));
    assert_eq!(bodies(&receiver.asked()), expected);
}

#[test]
fn an_answer_that_takes_too_long_is_a_failure() {
    let receiver = Receiver::new([Answer::Never]);
    let (pusher, lines) = start(config(&receiver.url(), None));
    pusher.offer(pushed(1));
    let figures = wait(&pusher, |figures| figures.sent == 1);
    assert_eq!(figures.failed, 1);
    assert_eq!(bodies(&receiver.asked()), numbered([1, 1]));
    assert!(lines.all()[0].contains("timeout"), "{:?}", lines.all());
}

#[test]
fn the_last_try_is_made_before_its_time() {
    let busy = Answer::Says(
        "503 Service Unavailable",
        "Retry-After: 3000\r\n",
        Vec::new(),
    );
    let receiver = Receiver::new([busy]);
    let (pusher, _) = start(config(&receiver.url(), None));
    pusher.offer(pushed(1));
    pusher.offer(pushed(2));
    wait(&pusher, |figures| figures.failed == 1);
    let figures = pusher.stop();
    assert_eq!((figures.sent, figures.waiting, figures.dropped), (2, 0, 0));
    assert_eq!(bodies(&receiver.asked()), numbered([1, 1, 2]));
}

#[test]
fn without_a_spool_what_was_not_sent_is_counted() {
    let down = Answer::Says("500 Internal Server Error", "", Vec::new());
    let receiver = Receiver::new(vec![down; 1000]);
    let (pusher, lines) = start(config(&receiver.url(), None));
    for number in 1..=3 {
        pusher.offer(pushed(number));
    }
    wait(&pusher, |figures| figures.waiting == 3);
    let figures = pusher.stop();
    assert_eq!((figures.sent, figures.waiting, figures.dropped), (0, 0, 3));
    assert!(lines.all()[1].contains("3 profiles"), "{:?}", lines.all());
}

#[test]
fn memory_is_bounded() {
    let down = Answer::Says("500 Internal Server Error", "", Vec::new());
    let receiver = Receiver::new(vec![down; 1000]);
    let (pusher, _) = start(config(&receiver.url(), None));
    for number in 1..=12 {
        let mut large = pushed(number);
        large.pprof.resize(1 << 20, 0);
        pusher.offer(large);
        wait(&pusher, |figures| {
            figures.waiting + figures.dropped == u64::from(number)
        });
    }
    // A bit less than a MiB each is left for frames.
    assert_eq!(pusher.figures().waiting, 7);
    assert_eq!(pusher.figures().dropped, 5);
}

#[test]
fn a_profile_without_a_body_is_none() {
    let receiver = Receiver::new([]);
    let (pusher, lines) = start(config(&receiver.url(), None));
    let mut empty = pushed(1);
    empty.pprof.clear();
    pusher.offer(empty);
    wait(&pusher, |figures| figures.dropped == 1);
    assert!(receiver.asked().is_empty());
    assert_eq!(lines.all(), ["a profile was not pushed: it has no pprof"]);
}
