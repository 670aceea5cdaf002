use super::{Annotated, Layout, Line, Listing, write};
use crate::{
    annotate::{Architecture, Bin, Code, NoSource, Sum},
    profile::{Object, ObjectId, ObjectKind, TaskId},
    symbolize::{Function, Place},
};

fn bin(start: u64, user: u64, system: u64) -> Bin {
    Bin {
        start,
        end: start + 2,
        sum: Sum { user, system },
    }
}

/// mul, add, two instructions of one byte, jne, ret; on two lines of a file, the return on none.
fn listing(bins: &[Bin]) -> Listing {
    let code = [
        0x48, 0x0f, 0xaf, 0xc0, 0x48, 0x01, 0xc8, 0x90, 0x50, 0x58, 0x75, 0xf4, 0xc3,
    ];
    let mut listing = Listing::new(
        Code {
            architecture: Architecture::X86_64,
            start: 0x1000,
            bytes: &code,
        },
        bins,
    );
    let line = |number| {
        Some(Line {
            file: "/src/\x1b[2Jf.c".into(),
            number,
        })
    };
    listing.instructions[5].target_name = Some("g\x1b+0x4".to_owned());
    let mut listing = listing.with_lines(vec![
        line(7),
        line(7),
        line(9),
        line(9),
        line(9),
        line(9),
        None,
    ]);
    for line in &mut listing.sources[0].lines {
        line.text = Some(format!("  line\x07 {}", line.number));
    }
    listing
}

fn shown(listing: &Listing, layout: Layout) -> String {
    let function = Function {
        task: TaskId::ALL,
        object: ObjectId::new(0),
        address: 0x1000,
        name: Ok("f\x1b(int)".to_owned()),
        mangled: None,
        place: Place::Whole,
        user: listing.sum.user,
        system: listing.sum.system,
    };
    let object = Object {
        kind: ObjectKind::File {
            path: "/bin/prog".into(),
            class: None,
        },
        is_main: true,
        build_id: None,
        text: Vec::new(),
    };
    let annotated = Annotated {
        function: &function,
        object: &object,
        listing,
        total: 400,
    };
    let mut out = Vec::new();
    write(&annotated, layout, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_function_is_laid_out() {
    let bins = [
        bin(0x1000, 3, 0),
        bin(0x1004, 150, 2),
        bin(0x1008, 40, 0),
        bin(0x100c, 4, 1),
    ];
    let expected = r"f\u{1b}(int) in prog: 200 ticks, 50.00 % of all 400; 197 user, 3 system

hottest lines
    share    user  system            line  source
>   77.50     153       2  \u{1b}[2Jf.c:7  line\u{7} 7
    20.00      40          \u{1b}[2Jf.c:9  line\u{7} 9

hottest instructions
    share    user  system    address  instruction
>   76.00     150       2       1004  add %rcx,%rax   \u{1b}[2Jf.c:7
    20.00      40          1008-1009  (at one of these 2 instructions)
     2.50       4       1       100c  ret
     1.50       3               1000  imul %rax,%rax  \u{1b}[2Jf.c:7

/src/\u{1b}[2Jf.c
    share    user  system  line  source
>   77.50     153       2     7  line\u{7} 7
                              8  line\u{7} 8
    20.00      40             9  line\u{7} 9

0x1000 to 0x100d
    share    user  system    address  instruction
     1.50       3               1000  imul %rax,%rax  \u{1b}[2Jf.c:7
>   76.00     150       2       1004  add %rcx,%rax
                                1007  nop             \u{1b}[2Jf.c:9
    20.00      40          1008-1009  (at one of these 2 instructions)
                                1008  push %rax
                                1009  pop %rax
                                100a  jne 0x1000 <g\u{1b}+0x4>
     2.50       4       1       100c  ret

note: a tick is at the instruction that was next to run: what takes long is as a rule the one before it; system time is at the instruction at which the process went on: after a system call, or where it was interrupted
note: 40 ticks are of bins of which it is not known at which instruction they were; they are shown in front of those that begin there, and in none
note: 5 ticks are on no line that is known
";
    assert_eq!(shown(&listing(&bins), Layout::default()), expected);
}

#[test]
fn of_a_file_that_is_not_there_only_lines_with_ticks_are_shown() {
    let mut listing = listing(&[bin(0x1004, 9, 0)]);
    let source = &mut listing.sources[0];
    source.unread = Some(NoSource::TooLarge);
    for line in &mut source.lines {
        line.text = None;
    }
    let text = shown(&listing, Layout::default());
    let rows = text.lines().skip_while(|line| !line.starts_with("/src/"));
    let rows: Vec<_> = rows.skip(2).take_while(|line| !line.is_empty()).collect();
    assert_eq!(rows.len(), 1, "{text}");
    assert!(rows[0].trim_end().ends_with(" 7"), "{text}");
    assert!(text.contains("it is too large"), "{text}");
}

#[test]
fn without_system_time_there_is_one_column() {
    let text = shown(&listing(&[bin(0x1004, 9, 0)]), Layout::default());
    assert!(
        text.contains("\n    share   ticks  address  instruction\n"),
        "{text}"
    );
    assert!(!text.contains("system"), "{text}");
    assert!(
        text.starts_with(r"f\u{1b}(int) in prog: 9 ticks, 2.25 % of all 400"),
        "{text}"
    );
}

#[test]
fn on_a_terminal_lines_fit_and_what_has_no_ticks_is_left_out() {
    let code: Vec<u8> = [&[0x90; 100][..], &[0x48, 0x89, 0xe5], &[0x90; 100]].concat();
    let bins = [bin(0x1000 + 100, 60, 0), bin(0x1000 + 200, 3, 0)];
    let listing = Listing::new(
        Code {
            architecture: Architecture::X86_64,
            start: 0x1000,
            bytes: &code,
        },
        &bins,
    );
    let layout = Layout {
        width: Some(60),
        rows: Some(12),
        ..Layout::default()
    };
    let text = shown(&listing, layout);
    for line in text.lines() {
        let width = unicode_width::UnicodeWidthStr::width(line);
        assert!(width <= 60, "{width}: {line}");
    }
    let rows: Vec<_> = text
        .lines()
        .skip_while(|line| !line.starts_with("0x1000 to"))
        .skip(2)
        .map(|line| line.trim_start_matches(['>', ' ']))
        .take_while(|line| !line.is_empty())
        .collect();
    let expected = [
        "…  (98 more)",
        "1062  nop",
        "1063  nop",
        "95.24      60       1064  mov %rsp,%rbp",
        "1067  nop",
        "1068  nop",
        "…  (93 more)",
        "10c6  nop",
        "10c7  nop",
        "4.76       3  10c8-10c9  (at one of these 2 instructio…",
        "10c8  nop",
        "10c9  nop",
        "10ca  nop",
    ];
    assert_eq!(rows, expected, "{text}");
    assert!(shown(&listing, Layout::default()).lines().count() > 200);
}
