//! The settings that the user half wrote before load, read field by field.

use profil_common::Settings;

#[unsafe(no_mangle)]
static SETTINGS: Settings = Settings {
    pid_namespace_device: 0,
    pid_namespace_inode: 0,
    only_tgid: 0,
    bins: 0,
    charge: 0,
    dialect: 0,
    task_shift: Settings::BY_PROCESS,
    unused: 0,
};

/// Reads one field. The read is volatile because the compiler sees the zeros above and the
/// verifier sees the values of the session.
macro_rules! setting {
    ($field:ident, $type:ty) => {
        #[inline(always)]
        pub fn $field() -> $type {
            // SAFETY: the pointer is to a field of a static that is never written.
            unsafe { core::ptr::read_volatile(&raw const SETTINGS.$field) }
        }
    };
}

setting!(pid_namespace_device, u64);
setting!(pid_namespace_inode, u64);
setting!(only_tgid, u32);
setting!(bins, u32);
setting!(charge, u32);
setting!(dialect, u32);
setting!(task_shift, u32);
