//! Whom the profile is of.

use super::words::{Damaged, Words};
use crate::{
    options::{Selector, Tgid},
    profile::Subject,
};

pub(super) fn lines(subject: &Subject) -> Vec<String> {
    let numbered = |word: &str, number: &Tgid, name: &str| format!("#{word} {number} {name}");
    match subject {
        Subject::Processes(processes) => {
            let processes = processes.iter();
            processes
                .map(|(tgid, name)| numbered("process", tgid, name))
                .collect()
        }
        Subject::Thread(tid, name) => vec![numbered("thread", tid, name)],
        Subject::Command(tgid, name) => vec![numbered("command", tgid, name)],
        Subject::Cgroup(path) => vec![format!("#cgroup {}", path.display())],
        Subject::Matching(Selector { comm, exe }) => {
            let comm = comm.iter().map(|comm| format!("#matching-comm {comm}"));
            let exe = exe.iter();
            let exe = exe.map(|exe| format!("#matching-exe {}", exe.display()));
            comm.chain(exe).collect()
        }
        Subject::Everything => vec!["#everything".to_owned()],
    }
}

/// Puts it together again.
#[derive(Debug, Default)]
pub(super) struct Reader {
    processes: Vec<(Tgid, String)>,
    selector: Option<Selector>,
    other: Option<Subject>,
}

impl Reader {
    pub(super) fn line(&mut self, word: &str, words: &mut Words<'_>) -> Result<(), Damaged> {
        match word {
            "#process" => self.processes.push(numbered(words)?),
            "#thread" => {
                let (tid, name) = numbered(words)?;
                self.other = Some(Subject::Thread(tid, name));
            }
            "#command" => {
                let (tgid, name) = numbered(words)?;
                self.other = Some(Subject::Command(tgid, name));
            }
            "#cgroup" => self.other = Some(Subject::Cgroup(words.text().into())),
            "#matching-comm" => self.selector().comm = Some(words.text().to_owned()),
            "#matching-exe" => self.selector().exe = Some(words.text().into()),
            "#everything" => self.other = Some(Subject::Everything),
            _ => return Err(words.damaged()),
        }
        Ok(())
    }

    fn selector(&mut self) -> &mut Selector {
        self.selector.get_or_insert_default()
    }

    pub(super) fn subject(self) -> Result<Subject, Damaged> {
        match self {
            Self {
                other: Some(subject),
                ..
            } => Ok(subject),
            Self {
                selector: Some(selector),
                ..
            } => Ok(Subject::Matching(selector)),
            Self { processes, .. } if !processes.is_empty() => Ok(Subject::Processes(processes)),
            _ => Err(Damaged::Missing("#process")),
        }
    }
}

fn numbered(words: &mut Words<'_>) -> Result<(Tgid, String), Damaged> {
    let tgid = Tgid::new(words.number()?).ok_or_else(|| words.damaged())?;
    Ok((tgid, words.text().to_owned()))
}
