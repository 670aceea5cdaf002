//! The virtual machine: QEMU, a kernel, a file system in memory, and a serial console.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;

use crate::{arch::Arch, exec, machine};

/// What runs the guest's instructions, and what its clock counts.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum Accelerator {
    /// QEMU's emulation of one CPU, whose clock counts instructions: no work of the host's delays
    /// a tick
    #[default]
    Icount,
    /// QEMU's emulation of several CPUs, with the host's clock: wants a host with nothing else to do
    Tcg,
    /// The host's own CPUs, where it has them to give away; for guests of its own architecture
    Kvm,
}

/// Nanoseconds for an instruction, as a power of two, and no waiting for the host's clock while
/// the guest sleeps. Slower than emulation mostly is, so that the guest is not kept waiting.
const ICOUNT: &str = "shift=2,sleep=off";

/// More CPUs than the host has make the guest's clocks late.
const MOST_CPUS: usize = 2;
const MEMORY_MIB: &str = "1024";

impl Accelerator {
    /// How many machines run at the same time. A clock that counts instructions does not mind
    /// company; one that goes with the host's does.
    pub(super) fn at_once(self) -> usize {
        match self {
            Self::Icount => thread::available_parallelism().map_or(1, usize::from),
            Self::Tcg | Self::Kvm => 1,
        }
    }

    /// QEMU's options for it.
    fn options(self) -> Vec<String> {
        let host = thread::available_parallelism().map_or(1, usize::from);
        let cpus = host.min(MOST_CPUS).to_string();
        let options: &[&str] = match self {
            // It emulates several CPUs in turns, of a tenth of a second each.
            Self::Icount => &[
                "-accel",
                "tcg,thread=single",
                "-icount",
                ICOUNT,
                "-cpu",
                "max",
                "-smp",
                "1",
            ],
            Self::Tcg => &["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", &cpus],
            Self::Kvm => &["-accel", "kvm", "-cpu", "host", "-smp", &cpus],
        };
        options.iter().map(|&option| option.to_owned()).collect()
    }
}

/// How a machine ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum End {
    /// By itself.
    Off,
    /// By us: it took longer than it may.
    OutOfTime,
}

/// What to start a machine with.
#[derive(Debug)]
pub(super) struct Machine<'a> {
    pub(super) arch: Arch,
    pub(super) accelerator: Accelerator,
    pub(super) kernel: &'a Path,
    pub(super) initramfs: &'a Path,
    /// The file of the guest with the test runner's arguments.
    pub(super) arguments: &'a str,
    pub(super) limit: Duration,
}

impl Machine<'_> {
    /// Runs it to its end, writes its console to `log`, and returns the console and what ended it.
    /// Each line is shown to `watch` as it comes.
    ///
    /// # Errors
    ///
    /// If QEMU cannot be run or says that it cannot run this.
    pub(super) fn run(&self, log: &Path, mut watch: impl FnMut(&str)) -> Result<(String, End)> {
        let mut file =
            File::create(log).with_context(|| format!("cannot create {}", log.display()))?;
        let mut console = String::new();
        let mut take = |line: String| {
            watch(&line);
            console += &line;
            console.push('\n');
            writeln!(file, "{line}").with_context(|| format!("cannot write {}", log.display()))
        };
        let mut command = self.qemu();
        let child = command.spawn();
        let mut qemu = Running(child.with_context(|| exec::cannot_run(&command))?);
        let deadline = Instant::now() + self.limit;
        let lines = lines_of(qemu.0.stdout.take().context("stdout was piped")?);
        let complaints = text_of(qemu.0.stderr.take().context("stderr was piped")?);

        let end = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match lines.recv_timeout(left) {
                Ok(line) => take(line)?,
                Err(RecvTimeoutError::Disconnected) => break End::Off,
                Err(RecvTimeoutError::Timeout) => break End::OutOfTime,
            }
        };
        if end == End::OutOfTime {
            qemu.0.kill().context("cannot stop QEMU")?;
            // The line that it did not finish says where it hangs.
            lines.iter().try_for_each(take)?;
        }
        let status = qemu.0.wait().context("cannot wait for QEMU")?;
        let complaints = complaints.join().unwrap_or_default();
        if end == End::Off && !status.success() {
            eprintln!("xtask: this was `{}`", exec::shown(&command));
            let complaints = complaints.trim().lines().collect::<Vec<_>>().join("; ");
            bail!("QEMU gave up ({status}): {complaints}");
        }
        Ok((console, end))
    }

    fn qemu(&self) -> Command {
        let (machine, console) = match self.arch {
            Arch::X86_64 => ("q35", "ttyS0"),
            Arch::Aarch64 => ("virt", "ttyAMA0"),
        };
        let mut command = Command::new(program(self.arch));
        command
            .args(["-machine", machine, "-m", MEMORY_MIB])
            .args(self.accelerator.options())
            .args(["-nodefaults", "-no-user-config", "-display", "none"])
            .args(["-no-reboot", "-serial", "stdio"])
            .arg("-kernel")
            .arg(self.kernel)
            .arg("-initrd")
            .arg(self.initramfs)
            .arg("-append")
            // A panic reboots at once, which ends a QEMU that may not reboot.
            .arg(format!(
                "console={console} panic=-1 quiet arguments={}",
                self.arguments
            ))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// A QEMU that ends with us, whatever happens.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Installs the QEMUs for these architectures if they are missing and we may.
///
/// # Errors
///
/// If one is missing and stays so; the error names the command that installs it.
pub(super) fn provide(arches: &[Arch]) -> Result<()> {
    let missing: Vec<_> = arches
        .iter()
        .filter(|&&arch| machine::find_program(program(arch)).is_none())
        .map(|&arch| package(arch))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages = missing.join(" ");
    if !machine::is_root() || !machine::is_debian_like() {
        bail!("missing: `sudo apt-get install --no-install-recommends {packages}`");
    }
    machine::install_packages(&missing)
}

/// The QEMU for an architecture.
fn program(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "qemu-system-x86_64",
        Arch::Aarch64 => "qemu-system-aarch64",
    }
}

/// Debian's package with that QEMU.
fn package(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "qemu-system-x86",
        Arch::Aarch64 => "qemu-system-arm",
    }
}

/// The lines of a console as they come, the last one too if nothing ends it.
fn lines_of(console: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut console = BufReader::new(console);
        let mut line = Vec::new();
        while console
            .read_until(b'\n', &mut line)
            .is_ok_and(|read| read > 0)
        {
            let text = String::from_utf8_lossy(&line);
            if sender
                .send(text.trim_end_matches(['\r', '\n']).to_owned())
                .is_err()
            {
                break;
            }
            line.clear();
        }
    });
    receiver
}

/// All that comes, without holding up whoever writes it.
fn text_of(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lose_their_ends_and_the_last_one_counts() {
        let lines = lines_of(&b"one\r\n\r\ntwo\nunfinished"[..]);
        assert_eq!(
            lines.iter().collect::<Vec<_>>(),
            ["one", "", "two", "unfinished"]
        );
    }
}
