//! The balance, and the buffers of regions.

use profil_common::{Classic, Dialect, Outcome, Tally};

use super::words::{Damaged, Words};
use crate::profile::{Balance, Buffer};

/// No machine ticks so often, and sums of a few such numbers cannot overflow.
const MOST: u64 = 1 << 58;

pub(super) fn lines(balance: &Balance) -> Vec<String> {
    let Balance {
        tally,
        binned,
        strays,
        unwanted,
        stray_fill: (fullest, capacity),
        due_ns,
        others_are_due,
        period_ns,
        kernel_bytes,
    } = balance;
    let numbers = format!(
        "#balance runs={} binned={binned} strays={strays} unwanted={unwanted} fullest={fullest} \
         capacity={capacity} due={due_ns} others={} period={period_ns:?} memory={kernel_bytes}",
        tally.runs,
        u8::from(*others_are_due),
    );
    let outcomes = Outcome::ALL
        .iter()
        .filter(|&&outcome| balance.of(outcome) > 0);
    let outcomes =
        outcomes.map(|&outcome| format!("#outcome {} {}", balance.of(outcome), outcome.name()));
    [numbers].into_iter().chain(outcomes).collect()
}

/// Puts it together again.
#[derive(Debug, Default)]
pub(super) struct Reader {
    balance: Option<Balance>,
    outcomes: [u64; Outcome::COUNT],
}

impl Reader {
    pub(super) fn numbers(&mut self, words: &mut Words<'_>) -> Result<(), Damaged> {
        let balance = Balance {
            tally: Tally {
                runs: count(words, "runs")?,
                ..Tally::default()
            },
            binned: count(words, "binned")?,
            strays: count(words, "strays")?,
            unwanted: count(words, "unwanted")?,
            stray_fill: (after(words, "fullest")?, after(words, "capacity")?),
            due_ns: after(words, "due")?,
            others_are_due: after::<u8>(words, "others")? != 0,
            period_ns: after(words, "period")?,
            kernel_bytes: after(words, "memory")?,
        };
        if !balance.period_ns.is_finite() || balance.period_ns < 0.0 {
            return Err(words.damaged());
        }
        self.balance = Some(balance);
        Ok(())
    }

    pub(super) fn outcome(&mut self, words: &mut Words<'_>) -> Result<(), Damaged> {
        let ticks = words.number()?;
        let name = words.text();
        let place = Outcome::ALL
            .iter()
            .position(|outcome| outcome.name() == name);
        match place {
            Some(place) if ticks <= MOST / Outcome::COUNT as u64 => self.outcomes[place] = ticks,
            _ => return Err(words.damaged()),
        }
        Ok(())
    }

    pub(super) fn balance(self) -> Result<Balance, Damaged> {
        let mut balance = self.balance.ok_or(Damaged::Missing("#balance"))?;
        balance.tally.outcomes = self.outcomes;
        Ok(balance)
    }
}

/// The number in the next word, which is `key=number`.
fn after<T: std::str::FromStr>(words: &mut Words<'_>, key: &str) -> Result<T, Damaged> {
    let number = words.word()?.strip_prefix(key);
    let number = number.and_then(|number| number.strip_prefix('='));
    let number = number.and_then(|number| number.parse().ok());
    number.ok_or_else(|| words.damaged())
}

fn count(words: &mut Words<'_>, key: &str) -> Result<u64, Damaged> {
    let count = after(words, key)?;
    if count <= MOST {
        Ok(count)
    } else {
        Err(words.damaged())
    }
}

pub(super) fn buffer_line(buffer: &Buffer) -> String {
    let Classic {
        offset,
        bytes,
        scale,
        added,
    } = buffer.region;
    let mut line = format!(
        "#buffer {} {offset:x} {bytes} {scale} {added} {}",
        buffer.dialect.word(),
        buffer.bins
    );
    for (bin, ticks) in &buffer.counts {
        line += &format!(" {bin}:{ticks}");
    }
    line
}

pub(super) fn buffer(words: &mut Words<'_>) -> Result<Buffer, Damaged> {
    let dialect = Dialect::from_word(words.word()?).ok_or_else(|| words.damaged())?;
    let region = Classic {
        offset: words.address()?,
        bytes: words.number()?,
        scale: words.number()?,
        added: words.number()?,
    };
    let bins = words.number()?;
    let mut counts: Vec<(u32, u64)> = Vec::new();
    while !words.is_empty() {
        let pair = words.word()?.split_once(':');
        let pair = pair.and_then(|(bin, ticks)| Some((bin.parse().ok()?, ticks.parse().ok()?)));
        match (pair, counts.last()) {
            (Some((bin, _)), Some(&(last, _))) if bin <= last => return Err(words.damaged()),
            (Some((bin, ticks)), _) if bin < bins => counts.push((bin, ticks)),
            _ => return Err(words.damaged()),
        }
    }
    Ok(Buffer {
        region,
        dialect,
        bins,
        counts,
    })
}
