//! The programs that tests compile their targets with and read profiles with.

use anyhow::{Result, bail};

use crate::machine;

/// A program, and what to install for it on Debian and its relatives.
struct Program {
    name: &'static str,
    packages: &'static [&'static str],
    /// Whether a test that counts cannot run without it.
    required: bool,
}

const PROGRAMS: [Program; 11] = [
    Program {
        name: "cc",
        packages: &["gcc", "libc6-dev"],
        required: true,
    },
    Program {
        name: "gprof",
        packages: &["binutils"],
        required: true,
    },
    Program {
        name: "ld.lld",
        packages: &["lld"],
        required: true,
    },
    Program {
        name: "setpriv",
        packages: &["util-linux"],
        required: true,
    },
    // What man(1) formats pages with.
    Program {
        name: "groff",
        packages: &["groff-base"],
        required: true,
    },
    // `go tool pprof`, which reads files of record.
    Program {
        name: "go",
        packages: &["golang-go"],
        required: true,
    },
    // What the page of the daemon is looked at with.
    Program {
        name: "chromium",
        packages: &["chromium"],
        required: true,
    },
    // What is shipped for it is checked with its own tool, and asked of itself.
    Program {
        name: "promtool",
        packages: &["prometheus"],
        required: true,
    },
    // What a unit is checked with.
    Program {
        name: "systemd-analyze",
        packages: &["systemd"],
        required: true,
    },
    // What a server's certificate is made with.
    Program {
        name: "openssl",
        packages: &["openssl"],
        required: true,
    },
    // A second opinion on a profile.
    Program {
        name: "perf",
        packages: &["linux-perf"],
        required: false,
    },
];

/// Installs what is missing if we are root and know how, and names it otherwise: then the tests
/// that need it will say that they are skipped.
///
/// # Errors
///
/// If a required program cannot be installed.
pub(super) fn provide() -> Result<()> {
    let may_install = machine::is_root() && machine::is_debian_like();
    for Program {
        name,
        packages,
        required,
    } in PROGRAMS
    {
        if machine::find_program(name).is_some() {
            continue;
        }
        let packages_shown = packages.join(" ");
        if !may_install {
            println!("missing: {name}, in Debian's {packages_shown}");
            continue;
        }
        match machine::install_packages(packages) {
            Err(error) if required => return Err(error),
            Err(error) => println!("missing, but not required: {name} ({error:#})"),
            Ok(()) if machine::find_program(name).is_none() => {
                bail!("installing {packages_shown} did not provide {name}")
            }
            Ok(()) => {}
        }
    }
    Ok(())
}
