use super::{Architecture, BAD, Decoded};

fn listed(architecture: Architecture, address: u64, bytes: &[u8]) -> Vec<(u64, usize, String)> {
    let decoded = architecture.decode(address, bytes).into_iter();
    let plain = |Decoded {
                     address,
                     length,
                     text,
                     ..
                 }| (address, length, text);
    decoded.map(plain).collect()
}

#[track_caller]
fn assert_listed(architecture: Architecture, bytes: &[u8], expected: &[(u64, usize, &str)]) {
    let listed = listed(architecture, 0x1000, bytes);
    let listed: Vec<_> = listed
        .iter()
        .map(|(address, length, text)| (*address, *length, &**text))
        .collect();
    assert_eq!(listed, expected);
}

/// As `objdump -d` has them.
#[test]
fn x86_instructions_have_the_notation_of_objdump() {
    assert_listed(
        Architecture::X86_64,
        &[
            0xf3, 0x0f, 0x1e, 0xfa, // endbr64
            0x55, // push
            0x48, 0x89, 0xe5, // mov
            0x48, 0xb8, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, // movabs
            0x48, 0x8b, 0x05, 0x10, 0x00, 0x00, 0x00, // mov, relative to the program counter
            0xf0, 0x48, 0x0f, 0xc1, 0x02, // lock xadd
            0x0f, 0x05, // syscall
            0x62, 0xf1, 0x7d, 0x48, 0xef, 0xc0, // AVX-512
            0x75, 0xfe, // jne
            0xc3, // ret
        ],
        &[
            (0x1000, 4, "endbr64"),
            (0x1004, 1, "push %rbp"),
            (0x1005, 3, "mov %rsp,%rbp"),
            (0x1008, 10, "movabs $0x1122334455667788,%rax"),
            (0x1012, 7, "mov 0x10(%rip),%rax"),
            (0x1019, 5, "lock xadd %rax,(%rdx)"),
            (0x101e, 2, "syscall"),
            (0x1020, 6, "vpxord %zmm0,%zmm0,%zmm0"),
            (0x1026, 2, "jne 0x1026"),
            (0x1028, 1, "ret"),
        ],
    );
    assert_listed(
        Architecture::X86,
        &[0x55, 0x40, 0xcd, 0x80],
        &[
            (0x1000, 1, "push %ebp"),
            (0x1001, 1, "inc %eax"),
            (0x1002, 2, "int $0x80"),
        ],
    );
}

#[test]
fn arm64_instructions_have_the_notation_of_objdump() {
    let words: [u32; 9] = [
        0xa9be_7bfd, // stp
        0x9100_03fd, // mov
        0x9b01_7c00, // mul
        0xd400_0001, // svc
        0x54ff_ffc1, // b.ne
        0xa402_4000, // ld1b (SVE)
        0x4e28_4820, // aese
        0x0000_0000, // udf
        0xd65f_03c0, // ret
    ];
    let bytes: Vec<_> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_listed(
        Architecture::Arm64,
        &bytes,
        &[
            (0x1000, 4, "stp x29, x30, [sp, #-0x20]!"),
            (0x1004, 4, "mov x29, sp"),
            (0x1008, 4, "mul x0, x0, x1"),
            (0x100c, 4, "svc #0x0"),
            (0x1010, 4, "b.ne 0x1008"),
            (0x1014, 4, "ld1b {z0.b}, p0/z, [x0, x2]"),
            (0x1018, 4, "aese v0.16b, v1.16b"),
            (0x101c, 4, "udf #0x0"),
            (0x1020, 4, "ret"),
        ],
    );
}

#[test]
fn where_a_branch_leads_is_known() {
    let targets = |architecture: Architecture, bytes: &[u8]| -> Vec<_> {
        let decoded = architecture.decode(0x1000, bytes).into_iter();
        decoded.map(|one| one.target).collect()
    };
    // call 0x1105; jne 0x1000; jmp *%rax; ret
    assert_eq!(
        targets(
            Architecture::X86_64,
            &[0xe8, 0, 1, 0, 0, 0x75, 0xf9, 0xff, 0xe0, 0xc3]
        ),
        [Some(0x1105), Some(0x1000), None, None]
    );
    // bl 0x1100; b.ne 0x1000; blr x0; ret
    let words = [0x9400_0040_u32, 0x54ff_ffe1, 0xd63f_0000, 0xd65f_03c0];
    let bytes: Vec<_> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(
        targets(Architecture::Arm64, &bytes),
        [Some(0x1100), Some(0x1000), None, None]
    );
}

#[test]
fn what_is_no_instruction_is_one_of_its_own() {
    // An opcode that 64-bit mode has not, and the beginning of an instruction whose end is cut off.
    assert_listed(
        Architecture::X86_64,
        &[0x06, 0x90, 0x48, 0xb8, 0x90],
        &[
            (0x1000, 1, BAD),
            (0x1001, 1, "nop"),
            (0x1002, 1, BAD),
            (0x1003, 1, BAD),
            (0x1004, 1, "nop"),
        ],
    );
    assert_listed(
        Architecture::Arm64,
        &[0xff, 0xff, 0xff, 0xff, 0xc0, 0x03, 0x5f],
        &[(0x1000, 4, ".inst 0xffffffff"), (0x1004, 3, BAD)],
    );
    for architecture in ALL {
        assert!(listed(architecture, 0x1000, &[]).is_empty());
        // The end of the address space is no trap.
        let last = listed(architecture, u64::MAX - 2, &[0; 9]);
        assert_eq!(last.iter().map(|one| one.1).sum::<usize>(), 9);
    }
}

const ALL: [Architecture; 3] = [Architecture::X86, Architecture::X86_64, Architecture::Arm64];
