//! What the kernel itself says is loaded.

use std::collections::BTreeSet;

/// The name of the profiler's program, as the kernel knows it.
pub const PROGRAM: &str = "profil_tick";

/// The ids of the loaded BPF programs of that name.
///
/// Another profiler may run on the machine, so a test compares sets of ids. Programs that end
/// while the list is read are left out.
///
/// # Panics
///
/// If the kernel does not tell.
pub fn loaded_programs(name: &str) -> BTreeSet<u32> {
    let mut ids = BTreeSet::new();
    for program in aya::programs::loaded_programs() {
        match program {
            Ok(info) if info.name_as_str() == Some(name) => {
                ids.insert(info.id());
            }
            Ok(_) => {}
            Err(error) if is_gone(&error) => {}
            Err(error) => panic!("the kernel does not list its BPF programs: {error}"),
        }
    }
    ids
}

fn is_gone(error: &aya::programs::ProgramError) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return error.kind() == std::io::ErrorKind::NotFound;
        }
        cause = error.source();
    }
    false
}
