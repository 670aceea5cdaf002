//! Where the kernel's own text lies, from `/proc/kallsyms` (proc_kallsyms(5)).

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
};

use super::mappings::{Backing, Mapping};

/// The kernel's text, without its modules.
///
/// # Errors
///
/// If the kernel would not show its addresses; what the reason is and what to do, in one line.
pub(crate) fn kernel_text() -> Result<Mapping, String> {
    let file = File::open("/proc/kallsyms").map_err(|error| format!("/proc/kallsyms: {error}"))?;
    let mut lines = BufReader::new(file).lines();
    let (mut start, mut end) = (None, None);
    while let (true, Some(Ok(line))) = (start.is_none() || end.is_none(), lines.next()) {
        match parse(&line) {
            Some((address, "_stext")) => start = Some(address),
            Some((address, "_etext")) => end = Some(address),
            _ => {}
        }
    }
    match (start, end) {
        (Some(0), _) => {
            // With less than 1, kernel.perf_event_paranoid has a say as well (kallsyms_show_value).
            let reason = "it takes CAP_SYSLOG, and kernel.kptr_restrict of at most 1; `profil-bpf \
                          doctor` has the command";
            Err(reason.to_owned())
        }
        (Some(start), Some(end)) if start < end => Ok(Mapping {
            start,
            end,
            backing: Backing::Kernel,
        }),
        _ => Err("/proc/kallsyms does not say where the kernel's text begins and ends".to_owned()),
    }
}

/// The address and the name in a line such as `ffffffff81000000 T _stext`.
fn parse(line: &str) -> Option<(u64, &str)> {
    let mut fields = line.split_ascii_whitespace();
    let address = u64::from_str_radix(fields.next()?, 16).ok()?;
    fields.next()?;
    Some((address, fields.next()?))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_line_has_an_address_and_a_name() {
        let line = "ffffffff81000000 T _stext";
        assert_eq!(parse(line), Some((0xffff_ffff_8100_0000, "_stext")));
        let line = "ffffffffc0000000 t helper\t[module]";
        assert_eq!(parse(line), Some((0xffff_ffff_c000_0000, "helper")));
        assert_eq!(parse("zz T _stext"), None);
        assert_eq!(parse(""), None);
    }
}
