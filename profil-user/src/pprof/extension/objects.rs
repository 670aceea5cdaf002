//! Objects, their ranges of text, and tasks.

use super::words::{Damaged, Words, or_dash};
use crate::profile::{ElfClass, Object, ObjectKind, Task, Text, Unresolved};

/// An object, and its ranges.
pub(super) fn lines(number: usize, object: &Object, slide: u64) -> Vec<String> {
    let main = if object.is_main { "main" } else { "-" };
    let build_id = or_dash(object.build_id, |id| id.to_string());
    let kind = match &object.kind {
        ObjectKind::File { path, class } => {
            let class = match class {
                Some(ElfClass::Elf32) => "elf32",
                Some(ElfClass::Elf64) => "elf64",
                None => "file",
            };
            format!("{class} {}", path.display())
        }
        ObjectKind::Vdso => "vdso".to_owned(),
        ObjectKind::Kernel => "kernel".to_owned(),
        ObjectKind::Anonymous { tgid } => format!("anonymous {tgid}"),
        ObjectKind::Nowhere(reason) => reason_word(*reason).to_owned(),
    };
    let text = object.text.iter().map(|text| {
        let Text { start, end, width } = text;
        format!("#text {number} {start:x} {end:x} {width}")
    });
    [format!("#object {slide:x} {main} {build_id} {kind}")]
        .into_iter()
        .chain(text)
        .collect()
}

const fn reason_word(reason: Unresolved) -> &'static str {
    match reason {
        Unresolved::ProcessEnded => "ended",
        Unresolved::Unmapped => "unmapped",
        Unresolved::Refused => "refused",
    }
}

pub(super) fn object(words: &mut Words<'_>) -> Result<(Object, u64), Damaged> {
    let slide = words.address()?;
    let is_main = match words.word()? {
        "main" => true,
        "-" => false,
        _ => return Err(words.damaged()),
    };
    let build_id = words.optional(Words::number)?;
    let kind = match words.word()? {
        "elf32" => file(words, Some(ElfClass::Elf32)),
        "elf64" => file(words, Some(ElfClass::Elf64)),
        "file" => file(words, None),
        "vdso" => ObjectKind::Vdso,
        "kernel" => ObjectKind::Kernel,
        "anonymous" => ObjectKind::Anonymous {
            tgid: words.number()?,
        },
        "ended" => ObjectKind::Nowhere(Unresolved::ProcessEnded),
        "unmapped" => ObjectKind::Nowhere(Unresolved::Unmapped),
        "refused" => ObjectKind::Nowhere(Unresolved::Refused),
        _ => return Err(words.damaged()),
    };
    let object = Object {
        kind,
        is_main,
        build_id,
        text: Vec::new(),
    };
    Ok((object, slide))
}

fn file(words: &mut Words<'_>, class: Option<ElfClass>) -> ObjectKind {
    ObjectKind::File {
        path: words.text().into(),
        class,
    }
}

pub(super) fn text(words: &mut Words<'_>, objects: &mut [Object]) -> Result<(), Damaged> {
    let number = words.index(objects.len())?;
    let text = Text {
        start: words.address()?,
        end: words.address()?,
        width: words.number()?,
    };
    let ranges = &mut objects[number].text;
    let follows = ranges.last().is_none_or(|last| last.end <= text.start);
    if text.start >= text.end || text.width == 0 || !follows {
        return Err(words.damaged());
    }
    ranges.push(text);
    Ok(())
}

pub(super) fn task_line(task: &Task) -> String {
    let number = |number: Option<u32>| or_dash(number, |number| number.to_string());
    let (tid, inner) = (number(task.tid), number(task.inner));
    format!("#task {} {tid} {inner} {}", task.tgid, task.name)
}

pub(super) fn task(words: &mut Words<'_>) -> Result<Task, Damaged> {
    Ok(Task {
        tgid: words.number()?,
        tid: words.optional(Words::number)?,
        inner: words.optional(Words::number)?,
        name: words.text().to_owned(),
    })
}
