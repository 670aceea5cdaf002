use proptest::{collection::vec, prelude::*};

use super::{Architecture, Bin, Code, Instruction, Line, Listing, Span, Sum};

const SUM: Sum = Sum { user: 3, system: 1 };

fn bin(start: u64, end: u64, user: u64, system: u64) -> Bin {
    Bin {
        start,
        end,
        sum: Sum { user, system },
    }
}

/// Everything that a listing promises, whatever is in it.
#[track_caller]
fn assert_whole(listing: &Listing, code: &[u8], bins: &[Bin]) {
    let mut next = listing.start;
    let mut bytes = Vec::new();
    for one in &listing.instructions {
        assert_eq!(one.address, next, "a gap, or twice the same");
        assert!(!one.bytes.is_empty() && one.bytes.len() <= 15);
        next += one.bytes.len() as u64;
        bytes.extend(&one.bytes);
    }
    assert_eq!((next, &bytes[..]), (listing.end, code));

    let mut sum = Sum::default();
    bins.iter().for_each(|bin| sum.add(bin.sum));
    assert_eq!(listing.sum, sum);
    let mut by_instruction = Sum::default();
    let instructions = listing.instructions.iter().map(|one| one.sum);
    let spans = listing.spans.iter().map(|span| span.sum);
    instructions
        .chain(spans)
        .for_each(|sum| by_instruction.add(sum));
    assert_eq!(by_instruction, sum);
    let mut by_line = listing.no_line;
    listing
        .sources
        .iter()
        .for_each(|source| by_line.add(source.sum()));
    assert_eq!(by_line, sum);

    for Span { instructions, .. } in &listing.spans {
        assert!(instructions.start <= instructions.end);
        assert!(instructions.end <= listing.instructions.len());
    }
    // Nobody has ticks whose bin it does not begin in, alone.
    let expected = |one: &Instruction| {
        let mut sum = Sum::default();
        let holds = |bin: &Bin, one: &Instruction| (bin.start..bin.end).contains(&one.address);
        for bin in bins.iter().filter(|bin| holds(bin, one)) {
            let inside = listing
                .instructions
                .iter()
                .filter(|one| holds(bin, one))
                .count();
            let is_ours =
                bin.start >= listing.start && (bin.end <= listing.end || bin.end - bin.start <= 2);
            if inside == 1 && is_ours {
                sum.add(bin.sum);
            }
        }
        sum
    };
    for one in &listing.instructions {
        assert_eq!(one.sum, expected(one), "{one:x?}");
    }
}

/// A loop by hand, with two instructions of one byte in one bin.
#[test]
fn x86_by_hand() {
    let code = [
        0x48, 0xff, 0xc0, // 1000 inc %rax
        0x90, // 1003 nop
        0x90, // 1004 nop
        0x50, // 1005 push %rax
        0x58, // 1006 pop %rax
        0x75, 0xf7, // 1007 jne 1000
        0xc3, // 1009 ret
    ];
    let bins = [
        bin(0x1000, 0x1002, 10, 0),
        bin(0x1002, 0x1004, 20, 1),
        bin(0x1004, 0x1006, 40, 2),
        bin(0x1006, 0x1008, 80, 0),
        bin(0x1008, 0x100a, 5, 3),
    ];
    let listing = Listing::new(
        Code {
            architecture: Architecture::X86_64,
            start: 0x1000,
            bytes: &code,
        },
        &bins,
    );
    assert_whole(&listing, &code, &bins);
    let shown: Vec<_> = listing
        .instructions
        .iter()
        .map(|one| (one.address, &*one.text, one.sum.user, one.sum.system))
        .collect();
    assert_eq!(
        shown,
        [
            (0x1000, "inc %rax", 10, 0),
            (0x1003, "nop", 20, 1),
            (0x1004, "nop", 0, 0),
            (0x1005, "push %rax", 0, 0),
            (0x1006, "pop %rax", 0, 0),
            (0x1007, "jne 0x1000", 0, 0),
            (0x1009, "ret", 5, 3),
        ]
    );
    let spans: Vec<_> = listing
        .spans
        .iter()
        .map(|span| (span.start, span.instructions.clone(), span.sum.ticks()))
        .collect();
    assert_eq!(spans, [(0x1004, 2..4, 42), (0x1006, 4..6, 80)]);

    let line = |number| Line {
        file: "a.c".into(),
        number,
    };
    let numbers = [1, 1, 2, 2, 2, 3, 4].map(|number| Some(line(number)));
    let listing = listing.with_lines(numbers.to_vec());
    assert_whole(&listing, &code, &bins);
    let lines = &listing.sources[0].lines;
    let lines: Vec<_> = lines
        .iter()
        .map(|line| (line.number, line.sum.ticks()))
        .collect();
    // Which of two instructions of one line it was is no question; which of two lines is.
    assert_eq!(lines, [(1, 31), (2, 42), (3, 0), (4, 8)]);
    assert_eq!(
        listing.no_line,
        Sum {
            user: 80,
            system: 0
        }
    );
}

#[test]
fn arm64_by_hand() {
    // mul x0, x0, x1; subs x2, x2, #1; b.ne 2000; ret
    let words = [0x9b01_7c00_u32, 0xf100_0442, 0x54ff_ffc1, 0xd65f_03c0];
    let code: Vec<_> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let bins = [
        bin(0x2000, 0x2002, 1, 0),
        bin(0x2004, 0x2006, 20, 0),
        // No instruction is there.
        bin(0x2006, 0x2008, 4, 0),
        bin(0x200c, 0x200e, 0, 8),
    ];
    let listing = Listing::new(
        Code {
            architecture: Architecture::Arm64,
            start: 0x2000,
            bytes: &code,
        },
        &bins,
    );
    assert_whole(&listing, &code, &bins);
    let shown: Vec<_> = listing
        .instructions
        .iter()
        .map(|one| (&*one.text, one.sum.ticks()))
        .collect();
    assert_eq!(
        shown,
        [
            ("mul x0, x0, x1", 1),
            ("subs x2, x2, #0x1", 20),
            ("b.ne 0x2000", 0),
            ("ret", 8),
        ]
    );
    assert_eq!(listing.spans[0].instructions, 2..2);
}

/// Bins that do not overlap, as a profile has them, from a little before 0 on; of any width, on a grid or
/// not.
fn bins() -> impl Strategy<Value = Vec<(i64, u64, Sum)>> {
    let one = (
        0_u64..8,
        prop_oneof![Just(1_u64), Just(2), 1_u64..40],
        0_u64..1000,
        0_u64..9,
    );
    vec(one, 0..60).prop_map(|list| {
        let mut next = -8;
        let mut place = |(gap, width, user, system): (u64, u64, u64, u64)| {
            let start = next + gap as i64;
            next = start + width as i64;
            (start, width, Sum { user, system })
        };
        list.into_iter().map(&mut place).collect()
    })
}

proptest! {
    /// Whatever the bytes are: each is listed once, and no tick is lost, made up, or given to an
    /// instruction that it need not be of.
    #[test]
    fn any_bytes_with_any_ticks_are_a_listing(
        architecture in prop_oneof![
            Just(Architecture::X86), Just(Architecture::X86_64), Just(Architecture::Arm64),
        ],
        code in vec(prop_oneof![3 => any::<u8>(), 1 => prop_oneof![Just(0x48), Just(0x0f), Just(0x62), Just(0xc4)]], 0..200),
        start in prop_oneof![Just(0x1000_u64), Just(0x1001), 9_u64..1 << 50],
        list in bins(),
        lines in vec(proptest::option::of((0_usize..3, 1_u32..40)), 0..220),
    ) {
        let bin = |&(far, width, sum): &(i64, u64, Sum)| {
            let start = start.wrapping_add_signed(far);
            Bin { start, end: start + width, sum }
        };
        let bins: Vec<_> = list.iter().map(bin).collect();
        let listing = Listing::new(Code { architecture, start, bytes: &code }, &bins);
        assert_whole(&listing, &code, &bins);
        let names = ["a.c", "b.h", "c.rs"];
        let lines = lines.into_iter().map(|line| {
            line.map(|(file, number)| Line { file: names[file].into(), number })
        });
        let mut lines: Vec<_> = lines.collect();
        lines.resize(listing.instructions.len(), None);
        assert_whole(&listing.with_lines(lines), &code, &bins);
    }
}

#[test]
fn nothing_is_a_listing_too() {
    let code = Code {
        architecture: Architecture::X86_64,
        start: 0x1000,
        bytes: &[],
    };
    let bins = [Bin {
        start: 0x1000,
        end: 0x1002,
        sum: SUM,
    }];
    let listing = Listing::new(code, &bins).with_lines(Vec::new());
    assert_whole(&listing, &[], &bins);
    assert_eq!(listing.spans[0].instructions, 0..0);
    assert_eq!(listing.no_line, SUM);
}
