//! What a person should know about a file that was written: what is in it, how to read it, and
//! what its format could not say.

use std::path::Path;

use super::{Format, escape::printable, gmon};
use crate::profile::{ObjectId, ObjectKind, Profile};

/// About a file with one object. Texts, and what programs read, speak for themselves.
pub(super) fn for_file(
    profile: &Profile,
    object: ObjectId,
    format: Format,
    path: &Path,
) -> Option<String> {
    let here: u64 = profile
        .counts_in(object)
        .iter()
        .map(|count| count.ticks())
        .sum();
    let all = profile.ticks();
    let name = profile.object(object).name();
    let name = printable(&name);
    let path = shell_word(&path.to_string_lossy());
    let image = shell_word(&object_path(profile, object));
    let mut text = match format {
        Format::Text(_) | Format::Buffer | Format::Json | Format::Csv => return None,
        Format::Gmon(_) => format!(
            "{path}: {here} of {all} ticks, those in {name}; read it with: gprof -p {image} {path}"
        ),
        Format::Pprof(_) => {
            return Some(format!(
                "{path}: all {all} ticks; read it with: profil-bpf report {path}, or: go tool pprof -top {path}"
            ));
        }
        Format::Folded => {
            return Some(format!(
                "{path}: all {all} ticks; -o FILE.svg draws them, and so do inferno-flamegraph and \
                 flamegraph.pl"
            ));
        }
        Format::FlameGraph => {
            return Some(format!("{path}: all {all} ticks; look at it in a browser"));
        }
        Format::Speedscope => {
            return Some(format!(
                "{path}: all {all} ticks; look at it with: speedscope {path}, or at \
                 https://www.speedscope.app"
            ));
        }
        Format::Symbols => {
            return Some(format!(
                "{path}: the names in {name}; use it with: gprof -p -S {path} {image} gmon.out"
            ));
        }
    };
    if format == Format::Gmon(gmon::Variant::Bsd) {
        text += &shortfall(profile, object);
    }
    if here < all {
        text += "\nthe other objects' ticks go to one file each with: -o DIR/";
    }
    Some(text)
}

fn shortfall(profile: &Profile, object: ObjectId) -> String {
    let short = gmon::bsd_shortfall(profile, object);
    let mut text = String::new();
    if short.ticks > 0 {
        text += &format!(
            "\n{} ticks more than its 16-bit counters hold are not in it; --format gmon has no such \
             limit",
            short.ticks
        );
    }
    if let Some(width) = short.widened {
        text += &format!(
            "\nits one histogram has bins of {width} bytes, because the text that was hit is far \
             apart; --format gmon keeps it apart"
        );
    }
    text
}

/// The files in a directory.
pub(super) struct Files<'a> {
    pub(super) directory: &'a Path,
    pub(super) number: usize,
    /// Ticks of the objects that they are about.
    pub(super) ticks: u64,
}

/// About a directory of such files.
pub(super) fn for_directory(profile: &Profile, format: Format, files: &Files<'_>) -> String {
    let Files {
        directory,
        number,
        ticks,
    } = files;
    let directory = directory.display();
    let all = profile.ticks();
    let options = match format {
        Format::Symbols => format!("-p -S {directory}OBJECT.syms OBJECT gmon.out"),
        _ => format!("-p OBJECT {directory}OBJECT.gmon"),
    };
    let mut text = format!(
        "{directory}: {number} files with {ticks} of {all} ticks; read one with: gprof {options}"
    );
    if format == Format::Gmon(gmon::Variant::Bsd) {
        for index in 0..profile.objects.len() {
            let object = ObjectId::new(index);
            for line in shortfall(profile, object).lines().skip(1) {
                let name = profile.object(object).name();
                text += &format!("\n{}: {line}", printable(&name));
            }
        }
    }
    text
}

/// A name as one word of a shell command: somebody may paste it, and it was chosen by others.
fn shell_word(name: &str) -> String {
    let is_plain = |character: char| {
        character.is_ascii_alphanumeric() || matches!(character, '/' | '.' | '_' | '-' | '+')
    };
    let name = printable(name);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.into_owned();
    }
    format!("'{}'", name.replace('\'', "'\\''"))
}

fn object_path(profile: &Profile, object: ObjectId) -> String {
    match &profile.object(object).kind {
        ObjectKind::File { path, .. } => path.to_string_lossy().into_owned(),
        _ => profile.object(object).name(),
    }
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn a_name_is_one_word_of_a_command() {
        assert_eq!(shell_word("/usr/bin/a-b.c"), "/usr/bin/a-b.c");
        assert_eq!(shell_word("we ird;touch x"), "'we ird;touch x'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
    }
}
