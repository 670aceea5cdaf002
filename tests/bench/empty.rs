//! The floor: a cpu-clock event like the profiler's, with a program that does nothing.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
};

use perf_event_open_sys::{
    bindings::{
        PERF_COUNT_SW_CPU_CLOCK, PERF_FLAG_FD_CLOEXEC, PERF_TYPE_SOFTWARE, perf_event_attr,
    },
    ioctls, perf_event_open,
};

/// An empty program at work on a process. Dropping it takes it off.
#[derive(Debug)]
pub(crate) struct EmptyProgram {
    /// Closed first: the event holds the program.
    _event: OwnedFd,
    program: OwnedFd,
}

impl EmptyProgram {
    /// Attaches one to a process of one thread, ticking every `period_ns` of its CPU time.
    ///
    /// # Panics
    ///
    /// If the kernel refuses.
    pub(crate) fn on(pid: u32, period_ns: u64) -> Self {
        let attached = load().and_then(|program| {
            let event = open_clock(pid, period_ns)?;
            let number = program.as_raw_fd().cast_unsigned();
            // SAFETY: both descriptors are open; the call takes nothing by reference.
            checked(unsafe { ioctls::SET_BPF(event.as_raw_fd(), number) }.into())?;
            // SAFETY: likewise.
            checked(unsafe { ioctls::ENABLE(event.as_raw_fd(), 0) }.into())?;
            Ok(Self {
                _event: event,
                program,
            })
        });
        attached.unwrap_or_else(|error| panic!("cannot attach an empty program: {error}"))
    }

    /// The program's descriptor in this process.
    pub(crate) fn descriptor(&self) -> i32 {
        self.program.as_raw_fd()
    }
}

/// The part of `union bpf_attr` that `BPF_PROG_LOAD` needs.
#[repr(C)]
struct Load {
    program_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buffer: u64,
}

/// `r0 = 0; exit`.
const INSTRUCTIONS: [[u8; 8]; 2] = [[0xb7, 0, 0, 0, 0, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]];
const LICENSE: &CStr = c"GPL";

fn load() -> io::Result<OwnedFd> {
    const BPF_PROG_LOAD: libc::c_long = 5;
    const BPF_PROG_TYPE_PERF_EVENT: u32 = 7;
    let attributes = Load {
        program_type: BPF_PROG_TYPE_PERF_EVENT,
        instruction_count: INSTRUCTIONS.len() as u32,
        instructions: INSTRUCTIONS.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log_buffer: 0,
    };
    // SAFETY: the attributes and what they point to live for the call; their size is given.
    let program = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            BPF_PROG_LOAD,
            &raw const attributes,
            size_of::<Load>(),
        )
    };
    descriptor(program)
}

/// The profiler's own event: cpu-clock, a fixed period, inherited, off for now.
fn open_clock(pid: u32, period_ns: u64) -> io::Result<OwnedFd> {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: size_of::<perf_event_attr>() as u32,
        config: u64::from(PERF_COUNT_SW_CPU_CLOCK),
        ..perf_event_attr::default()
    };
    attributes.__bindgen_anon_1.sample_period = period_ns;
    attributes.set_disabled(1);
    attributes.set_inherit(1);
    let flags = u64::from(PERF_FLAG_FD_CLOEXEC);
    // SAFETY: the attributes live for the call and their size is given in them.
    let event = unsafe { perf_event_open(&mut attributes, pid.cast_signed(), -1, -1, flags) };
    descriptor(event.into())
}

fn descriptor(number: libc::c_long) -> io::Result<OwnedFd> {
    checked(number)?;
    let number = i32::try_from(number).map_err(io::Error::other)?;
    // SAFETY: the kernel has just made it, for nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

fn checked(result: libc::c_long) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
