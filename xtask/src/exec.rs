//! Running commands. An error always names the command that failed.

use std::{
    io::{self, Read as _},
    os::unix::process::CommandExt as _,
    process::{Command, ExitStatus, Stdio},
};

use anyhow::{Context as _, Error, Result, anyhow, bail};

/// Runs a command to its end; it shares our input and outputs.
///
/// # Errors
///
/// If the command cannot be started or does not succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| cannot_run(command))?;
    succeeded(command, status)
}

/// Runs a command and returns what it wrote to stdout; its stderr is ours.
///
/// # Errors
///
/// If the command cannot be started, does not succeed, or does not write UTF-8.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| cannot_run(command))?;
    succeeded(command, output.status)?;
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` wrote something else than UTF-8", shown(command)))
}

/// Like [`run`], and hands each whole line of stdout to `line` as well. The bytes pass through
/// as they come, so that a test's name is visible while the test runs.
///
/// # Errors
///
/// If the command cannot be started or does not succeed, or if our stdout is gone.
pub(crate) fn tee(command: &mut Command, line: impl FnMut(&str)) -> Result<()> {
    tee_to(&mut io::stdout(), command, line)
}

fn tee_to(
    to: &mut impl io::Write,
    command: &mut Command,
    mut line: impl FnMut(&str),
) -> Result<()> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| cannot_run(command))?;
    let mut from = child
        .stdout
        .take()
        .expect("stdout was piped one line above");
    let mut unfinished = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => &buffer[..read],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).with_context(|| cannot_run(command)),
        };
        to.write_all(read)
            .and_then(|()| to.flush())
            .context("cannot write to stdout")?;
        unfinished.extend_from_slice(read);
        while let Some(end) = unfinished.iter().position(|&byte| byte == b'\n') {
            line(&String::from_utf8_lossy(&unfinished[..end]));
            unfinished.drain(..=end);
        }
    }
    line(&String::from_utf8_lossy(&unfinished));
    let status = child.wait().with_context(|| cannot_run(command))?;
    succeeded(command, status)
}

/// Becomes the command, so that its signals and its exit status are its own. Returns only if
/// that is impossible.
pub(crate) fn replace_by(command: &mut Command) -> Error {
    Error::new(command.exec()).context(cannot_run(command))
}

/// The command as one could type it.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted: Vec<String> = words
        .map(|word| {
            let word = word.to_string_lossy();
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
            if !word.is_empty() && word.chars().all(plain) {
                word.into_owned()
            } else {
                format!("'{}'", word.replace('\'', r"'\''"))
            }
        })
        .collect();
    quoted.join(" ")
}

fn succeeded(command: &Command, status: ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    match status.code() {
        Some(code) => bail!("`{}` failed with exit status {code}", shown(command)),
        None => Err(anyhow!("`{}` was ended by a {status}", shown(command))),
    }
}

/// What to say of a command that cannot be started.
pub(crate) fn cannot_run(command: &Command) -> String {
    format!("cannot run `{}`", shown(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_command() {
        let mut failing = Command::new("sh");
        failing.args(["-c", "exit 3"]);
        let error = run(&mut failing).expect_err("sh exits with 3");
        assert_eq!(
            error.to_string(),
            "`sh -c 'exit 3'` failed with exit status 3"
        );

        let error = run(&mut Command::new("/nonexistent/tool")).expect_err("there is none");
        assert!(format!("{error:#}").starts_with("cannot run `/nonexistent/tool`: No such file"));
    }

    #[test]
    fn quotes_can_be_typed_again() {
        let mut command = Command::new("echo");
        command.args(["plain", "two words", "it's", ""]);
        assert_eq!(shown(&command), r"echo plain 'two words' 'it'\''s' ''");
    }

    #[test]
    fn tee_sees_every_line_and_the_failure() {
        let mut lines = Vec::new();
        let mut command = Command::new("sh");
        command.args(["-c", r"printf 'one\ntwo'; exit 1"]);
        let mut through = Vec::new();
        let result = tee_to(&mut through, &mut command, |line| {
            lines.push(line.to_owned())
        });
        assert_eq!(through, b"one\ntwo");
        assert_eq!(lines, ["one", "two"]);
        assert!(result.is_err());
    }
}
