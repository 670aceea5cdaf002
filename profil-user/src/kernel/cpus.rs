//! Which CPUs are there, in the kernel's list format (cputopology, `Documentation/admin-guide`).

use std::{fs, io};

/// The list of the CPUs that are online, as the kernel writes it: comparing two is cheaper than
/// parsing them.
pub(super) fn online_list() -> io::Result<String> {
    fs::read_to_string("/sys/devices/system/cpu/online")
}

/// The CPUs that there may ever be: values of maps by CPU are in their order.
#[cfg(feature = "serve")]
pub(super) fn possible() -> io::Result<Vec<u32>> {
    let list = fs::read_to_string("/sys/devices/system/cpu/possible")?;
    parse_list(&list).ok_or(io::ErrorKind::InvalidData.into())
}

/// Parses a list such as `0-3,8`. `None` if it is no such list.
pub(super) fn parse_list(list: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::parse_list;

    #[test]
    fn a_list_has_ranges() {
        assert_eq!(parse_list("0\n"), Some(vec![0]));
        assert_eq!(parse_list("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse_list("a-b"), None);
    }
}
