//! Parameters of a request → what is meant, or one line that says what is wrong with them.

use std::{fmt::Display, str::FromStr};

use crate::serve::{
    Query, Response, Status,
    history::{Filter, Grouping, Span},
};

/// Rows of one answer.
pub(super) const MOST_ROWS: usize = 10_000;

/// Rows of an answer if nobody says how many.
const USUAL_ROWS: usize = 1000;

/// Strips of a heat map.
const MOST_STRIPS: usize = 50;
const USUAL_STRIPS: usize = 12;

/// Bytes of a name that is looked for: longer ones are not kept.
const MOST_BYTES: usize = 1024;

/// What rows are sorted by, the largest or the first in the alphabet first.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Sort {
    /// CPU time; of differences, how large they are.
    #[default]
    Cpu,
    User,
    System,
    Name,
}

/// The parameters of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters<'a>(&'a Query);

/// Why a request makes no sense.
pub(super) type Refused = Box<Response>;

fn refused(why: impl Display) -> Refused {
    Box::new(Response::refusal(Status::BadRequest, why))
}

impl<'a> Parameters<'a> {
    /// Those of a request that may have these, and others not: a parameter that is misspelt would change nothing.
    pub(super) fn of(query: &'a Query, known: &[&str]) -> Result<Self, Refused> {
        for (index, (name, value)) in query.0.iter().enumerate() {
            if !known.contains(&&name[..]) {
                let known = known.join(", ");
                let name = shown(name);
                return Err(refused(format!(
                    "there is no parameter {name} here; there are: {known}"
                )));
            }
            if query.0.iter().take(index).any(|(before, _)| before == name) {
                return Err(refused(format!(
                    "{name} is given twice; please name it once"
                )));
            }
            if value.len() > MOST_BYTES {
                return Err(refused(format!("{name} is longer than {MOST_BYTES} bytes")));
            }
        }
        Ok(Self(query))
    }

    fn number<T: FromStr>(self, name: &str) -> Result<Option<T>, Refused> {
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        let is_plain = value.bytes().all(|byte| byte.is_ascii_digit());
        let number = is_plain.then(|| value.parse().ok()).flatten();
        let why = || {
            refused(format!(
                "{name} is a whole number, and not {}",
                shown(value)
            ))
        };
        number.map(Some).ok_or_else(why)
    }

    /// A span of time between two parameters; the last minute if neither is given.
    pub(super) fn span(self, from: &str, until: &str) -> Result<Span, Refused> {
        match (self.number(from)?, self.number(until)?) {
            (None, None) => Ok(Span::Now),
            (Some(first), Some(end)) if first < end => Ok(Span::Minutes(first, end)),
            (Some(_), Some(_)) => Err(refused(format!("{from} must be before {until}"))),
            _ => Err(refused(format!(
                "{from} and {until} belong together; without both it is the last minute"
            ))),
        }
    }

    pub(super) fn filter(self) -> Filter {
        let text = |name| self.0.get(name).map(str::to_owned);
        Filter {
            process: text("process"),
            cgroup: text("cgroup"),
            object: text("object"),
            function: text("function"),
        }
    }

    /// A name that must be there.
    pub(super) fn required(self, name: &str) -> Result<&'a str, Refused> {
        let value = self.0.get(name).filter(|value| !value.is_empty());
        value.ok_or_else(|| refused(format!("{name} is missing: whose instructions?")))
    }

    /// What rows have in them somewhere, in small letters.
    pub(super) fn part(self) -> String {
        self.0.get("match").unwrap_or_default().to_lowercase()
    }

    pub(super) fn grouping(self) -> Result<Grouping, Refused> {
        match self.0.get("by") {
            None | Some("process") => Ok(Grouping::Process),
            Some("object") => Ok(Grouping::Object),
            Some("function") => Ok(Grouping::Function),
            Some("address") => Ok(Grouping::Address),
            Some(other) => Err(refused(format!(
                "by is process, object, function or address, and not {}",
                shown(other)
            ))),
        }
    }

    pub(super) fn sort(self) -> Result<Sort, Refused> {
        match self.0.get("sort") {
            None | Some("cpu") => Ok(Sort::Cpu),
            Some("user") => Ok(Sort::User),
            Some("system") => Ok(Sort::System),
            Some("name") => Ok(Sort::Name),
            Some(other) => Err(refused(format!(
                "sort is cpu, user, system or name, and not {}",
                shown(other)
            ))),
        }
    }

    pub(super) fn limit(self) -> Result<usize, Refused> {
        self.count("limit", USUAL_ROWS, MOST_ROWS)
    }

    pub(super) fn strips(self) -> Result<usize, Refused> {
        self.count("top", USUAL_STRIPS, MOST_STRIPS)
    }

    fn count(self, name: &str, usual: usize, most: usize) -> Result<usize, Refused> {
        match self.number(name)? {
            None => Ok(usual),
            Some(count) if (1..=most).contains(&count) => Ok(count),
            Some(count) => Err(refused(format!("{name} is 1 to {most}, and not {count}"))),
        }
    }
}

/// A value as it can stand in a line.
fn shown(value: &str) -> String {
    let short: String = value.chars().take(64).collect();
    format!("\"{}\"", crate::export::printable(&short))
}
