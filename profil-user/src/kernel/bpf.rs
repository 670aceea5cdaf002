//! Single calls of bpf(2), where aya has only larger steps.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd},
};

use aya::Pod;
use aya_obj::generated::{
    bpf_attach_type, bpf_attr, bpf_cmd, bpf_insn, bpf_map_type, bpf_prog_info, bpf_prog_type,
};

/// Makes the verifier say how much it had to do (`BPF_LOG_STATS`, `include/linux/bpf_verifier.h`;
/// since Linux 5.2).
pub(super) const LOG_FIGURES: u32 = 4;
/// Makes it tell every step (`BPF_LOG_LEVEL1`).
pub(super) const LOG_STEPS: u32 = 1;

/// Declared by every program: helpers for tracing are for GPL-compatible code.
pub(super) const LICENSE: &CStr = c"Dual MIT/GPL";

/// A program to be loaded, for perf events.
pub(super) struct Code<'a> {
    pub(super) name: &'a str,
    pub(super) instructions: &'a [bpf_insn],
    /// What makes the verifier's log show source lines.
    pub(super) lines: Option<&'a LineTable>,
}

/// Type information of an object, loaded, and the places in it that a program's instructions
/// belong to.
pub(super) struct LineTable {
    pub(super) types: OwnedFd,
    /// Records of `struct bpf_func_info`, and the size of one.
    pub(super) functions: (Vec<u8>, usize),
    /// Records of `struct bpf_line_info`, and the size of one.
    pub(super) lines: (Vec<u8>, usize),
}

/// Loads a program. The verifier's log, of what `log_level` asks for, is written to `log` from
/// its beginning, and ends with a zero byte.
pub(super) fn load_program(code: &Code<'_>, log: &mut [u8], log_level: u32) -> io::Result<OwnedFd> {
    let mut attributes = zeroed();
    // SAFETY: every field is a plain number, and zero is a value of each.
    let load = unsafe { &mut attributes.__bindgen_anon_3 };
    load.prog_type = bpf_prog_type::BPF_PROG_TYPE_PERF_EVENT as u32;
    copy_name(code.name, &mut load.prog_name);
    load.insns = code.instructions.as_ptr() as u64;
    load.insn_cnt = code.instructions.len() as u32;
    load.license = LICENSE.as_ptr() as u64;
    if !log.is_empty() {
        load.log_level = log_level;
        load.log_buf = log.as_mut_ptr() as u64;
        load.log_size = log.len() as u32;
    }
    if let Some(table) = code.lines {
        let count = |(records, size): &(Vec<u8>, usize)| {
            records.len().checked_div(*size).unwrap_or_default() as u32
        };
        load.prog_btf_fd = table.types.as_raw_fd().cast_unsigned();
        load.func_info = table.functions.0.as_ptr() as u64;
        load.func_info_rec_size = table.functions.1 as u32;
        load.func_info_cnt = count(&table.functions);
        load.line_info = table.lines.0.as_ptr() as u64;
        load.line_info_rec_size = table.lines.1 as u32;
        load.line_info_cnt = count(&table.lines);
    }
    // SAFETY: what the attributes point to is borrowed for the call; the log is writable.
    unsafe { call_for_fd(bpf_cmd::BPF_PROG_LOAD, &mut attributes) }
}

/// Loads an object's type information.
pub(super) fn load_types(types: &[u8]) -> io::Result<OwnedFd> {
    let mut attributes = zeroed();
    // SAFETY: as above.
    let load = unsafe { &mut attributes.__bindgen_anon_7 };
    load.btf = types.as_ptr() as u64;
    load.btf_size = types.len() as u32;
    // SAFETY: the bytes are borrowed for the call, which only reads them.
    unsafe { call_for_fd(bpf_cmd::BPF_BTF_LOAD, &mut attributes) }
}

/// What the kernel says about a loaded program.
pub(super) fn program_info(program: BorrowedFd<'_>) -> io::Result<bpf_prog_info> {
    // SAFETY: every field is a plain number, and zero is a value of each.
    let mut info: bpf_prog_info = unsafe { std::mem::zeroed() };
    let mut attributes = zeroed();
    attributes.info.bpf_fd = program.as_raw_fd().cast_unsigned();
    attributes.info.info_len = size_of::<bpf_prog_info>() as u32;
    attributes.info.info = (&raw mut info) as u64;
    // SAFETY: the kernel writes at most the size that it is given. Older ones write less.
    unsafe { call(bpf_cmd::BPF_OBJ_GET_INFO_BY_FD, &mut attributes) }?;
    Ok(info)
}

/// Creates a map with 32-bit keys that nobody has to find by name.
pub(super) fn create_array(
    kind: bpf_map_type,
    (key, value): (u32, u32),
    entries: u32,
    flags: u32,
) -> io::Result<OwnedFd> {
    let mut attributes = zeroed();
    // SAFETY: as above.
    let create = unsafe { &mut attributes.__bindgen_anon_1 };
    create.map_type = kind as u32;
    create.key_size = key;
    create.value_size = value;
    create.max_entries = entries;
    create.map_flags = flags;
    // SAFETY: the attributes point to nothing.
    unsafe { call_for_fd(bpf_cmd::BPF_MAP_CREATE, &mut attributes) }
}

/// Writes the only value of an array of one, of as many bytes as the array was created for.
pub(super) fn write_only_value(map: BorrowedFd<'_>, value: &[u8]) -> io::Result<()> {
    let key = 0_u32;
    let mut attributes = zeroed();
    // SAFETY: as above.
    let update = unsafe { &mut attributes.__bindgen_anon_2 };
    update.map_fd = map.as_raw_fd().cast_unsigned();
    update.key = (&raw const key) as u64;
    update.__bindgen_anon_1.value = value.as_ptr() as u64;
    // SAFETY: key and value outlive the call, which only reads them.
    unsafe { call(bpf_cmd::BPF_MAP_UPDATE_ELEM, &mut attributes) }.map(drop)
}

/// Reads entries of a hash map, as many buckets as fit into `keys` and `values`, from where `place`
/// says, which is zero at the beginning. Returns how many entries were read, and whether they were
/// the last (Linux 5.6).
pub(super) fn read_batch<K: Pod, V: Pod>(
    map: BorrowedFd<'_>,
    place: &mut Option<u32>,
    keys: &mut [K],
    values: &mut [V],
) -> io::Result<(usize, bool)> {
    let mut next = 0_u32;
    let mut attributes = zeroed();
    // SAFETY: every field is a plain number, and zero is a value of each.
    let batch = unsafe { &mut attributes.batch };
    batch.map_fd = map.as_raw_fd().cast_unsigned();
    batch.in_batch = place.as_ref().map_or(0, |place| (&raw const *place) as u64);
    batch.out_batch = (&raw mut next) as u64;
    batch.keys = keys.as_mut_ptr() as u64;
    batch.values = values.as_mut_ptr() as u64;
    batch.count = keys.len().min(values.len()) as u32;
    // SAFETY: the kernel writes at most as many keys and values as there is room for, and a number.
    let result = unsafe { call(bpf_cmd::BPF_MAP_LOOKUP_BATCH, &mut attributes) };
    // SAFETY: as above.
    let count = unsafe { attributes.batch.count } as usize;
    match result {
        Ok(_) => {
            *place = Some(next);
            Ok((count, false))
        }
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok((count, true)),
        Err(error) => Err(error),
    }
}

/// Removes entries of a hash map, all of which are there (Linux 5.6).
pub(super) fn delete_batch<K: Pod>(map: BorrowedFd<'_>, keys: &[K]) -> io::Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let mut attributes = zeroed();
    // SAFETY: as above.
    let batch = unsafe { &mut attributes.batch };
    batch.map_fd = map.as_raw_fd().cast_unsigned();
    batch.keys = keys.as_ptr() as u64;
    batch.count = keys.len() as u32;
    // SAFETY: the keys are borrowed for the call, which only reads them.
    unsafe { call(bpf_cmd::BPF_MAP_DELETE_BATCH, &mut attributes) }.map(drop)
}

/// Makes a map read-only to this side, so that the verifier may rely on its values.
pub(super) fn freeze(map: BorrowedFd<'_>) -> io::Result<()> {
    let mut attributes = zeroed();
    attributes.__bindgen_anon_2.map_fd = map.as_raw_fd().cast_unsigned();
    // SAFETY: the attributes point to nothing.
    unsafe { call(bpf_cmd::BPF_MAP_FREEZE, &mut attributes) }.map(drop)
}

/// Gives an object a name in a BPF file system, by which it stays when nobody holds it any more.
pub(super) fn pin(object: BorrowedFd<'_>, path: &CStr) -> io::Result<()> {
    let mut attributes = zeroed();
    // SAFETY: every field is a plain number, and zero is a value of each.
    let pin = unsafe { &mut attributes.__bindgen_anon_4 };
    pin.pathname = path.as_ptr() as u64;
    pin.bpf_fd = object.as_raw_fd().cast_unsigned();
    // SAFETY: the path is borrowed for the call, which only reads it.
    unsafe { call(bpf_cmd::BPF_OBJ_PIN, &mut attributes) }.map(drop)
}

/// Opens what has a name in a BPF file system.
pub(super) fn open_pinned(path: &CStr) -> io::Result<OwnedFd> {
    let mut attributes = zeroed();
    attributes.__bindgen_anon_4.pathname = path.as_ptr() as u64;
    // SAFETY: as above.
    unsafe { call_for_fd(bpf_cmd::BPF_OBJ_GET, &mut attributes) }
}

/// Attaches a program to a perf event by a link, which holds both and can be pinned (Linux 5.15).
pub(super) fn link(program: BorrowedFd<'_>, event: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut attributes = zeroed();
    attributes.link_create.__bindgen_anon_1.prog_fd = program.as_raw_fd().cast_unsigned();
    attributes.link_create.__bindgen_anon_2.target_fd = event.as_raw_fd().cast_unsigned();
    attributes.link_create.attach_type = bpf_attach_type::BPF_PERF_EVENT as u32;
    // SAFETY: the attributes point to nothing.
    unsafe { call_for_fd(bpf_cmd::BPF_LINK_CREATE, &mut attributes) }
}

/// Attaches a program to a perf event that does not exist. The error tells whether the kernel
/// would know how.
pub(super) fn link_to_no_event(program: BorrowedFd<'_>) -> io::Error {
    let mut attributes = zeroed();
    attributes.link_create.__bindgen_anon_1.prog_fd = program.as_raw_fd().cast_unsigned();
    attributes.link_create.__bindgen_anon_2.target_fd = (-1_i32).cast_unsigned();
    attributes.link_create.attach_type = bpf_attach_type::BPF_PERF_EVENT as u32;
    // SAFETY: the attributes point to nothing.
    match unsafe { call_for_fd(bpf_cmd::BPF_LINK_CREATE, &mut attributes) } {
        Ok(_link) => io::Error::other("a link to nothing"),
        Err(error) => error,
    }
}

/// The bytes of a value without padding, as the kernel is to see them.
pub(super) fn bytes_of<T: Pod>(value: &T) -> &[u8] {
    // SAFETY: plain data may be looked at as bytes.
    unsafe { std::slice::from_raw_parts((&raw const *value).cast(), size_of::<T>()) }
}

/// The part of a kernel's buffer before the zero that ends it.
pub(super) fn text_of(log: &[u8]) -> String {
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim_end().to_owned()
}

/// Copies as much of a name as fits before the zero that ends it.
fn copy_name(name: &str, to: &mut [libc::c_char; 16]) {
    let last = to.len() - 1;
    for (to, byte) in to[..last].iter_mut().zip(name.bytes()) {
        *to = byte.cast_signed() as libc::c_char;
    }
}

fn zeroed() -> bpf_attr {
    // SAFETY: a union of plain numbers, which bpf(2) wants to be zero where they are not used.
    unsafe { std::mem::zeroed() }
}

/// # Safety
///
/// What `attributes` points to is valid for what `command` does with it.
unsafe fn call(command: bpf_cmd, attributes: &mut bpf_attr) -> io::Result<libc::c_long> {
    loop {
        // SAFETY: the size is that of the attributes; the rest is the caller's promise.
        let result = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                command as libc::c_long,
                &raw mut *attributes,
                size_of::<bpf_attr>(),
            )
        };
        if result >= 0 {
            return Ok(result);
        }
        let error = io::Error::last_os_error();
        // The verifier gives up when a signal comes, and asks to be called again.
        if error.raw_os_error() != Some(libc::EAGAIN) {
            return Err(error);
        }
    }
}

/// # Safety
///
/// As [`call`], and `command` returns a new descriptor.
unsafe fn call_for_fd(command: bpf_cmd, attributes: &mut bpf_attr) -> io::Result<OwnedFd> {
    // SAFETY: the caller's promises.
    unsafe {
        let fd = call(command, attributes)?;
        Ok(OwnedFd::from_raw_fd(fd as libc::c_int))
    }
}

#[cfg(test)]
mod tests {
    use super::{copy_name, text_of};

    #[test]
    fn a_log_ends_at_its_zero() {
        assert_eq!(text_of(b"one\ntwo\n\0old"), "one\ntwo");
        assert_eq!(text_of(b"cut of"), "cut of");
        assert_eq!(text_of(b"\0"), "");
    }

    #[test]
    fn a_long_name_is_cut_and_ends_with_zero() {
        let mut name = [1; 16];
        name[15] = 0;
        copy_name("a_name_of_more_than_fifteen", &mut name);
        assert_eq!(name[14], b'_' as libc::c_char);
        assert_eq!(name[15], 0);
    }
}
