//! The rows of one function: its addresses, and how often each ticked.
//!
//! [`listing`] is all that the view knows of what lies inside a function. Whatever else can be said there
//! (instructions, lines of the source) goes into the text of a row.

use profil_user::{
    Count, Taken,
    symbolize::{Name, Symbolizer},
};

use super::{
    model::{Spot, Ticks},
    rows::Row,
};

/// Most addresses of a function; of more, those that ticked most.
const MOST: usize = 10_000;

/// A function, of one process or of all.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Asked {
    pub(crate) process: Option<Option<usize>>,
    pub(crate) spot: Spot,
}

/// Where an address belongs.
pub(crate) fn spot_of(symbolizer: &Symbolizer, count: &Count) -> Spot {
    let (address, name) = match symbolizer.name_of(count.object, count.address) {
        Name::Function { name, start, .. } => (*start, Ok(name.clone())),
        Name::Unnamed(why) => (count.address, Err(*why)),
    };
    Spot {
        object: count.object,
        address,
        name,
    }
}

/// The addresses of a function that ticked since the start, by address.
pub(crate) fn listing(taken: &Taken, symbolizer: &Symbolizer, asked: &Asked) -> Vec<Row> {
    let profile = &taken.profile;
    let mut rows: Vec<Row> = match asked.process {
        None => {
            let counts = profile.counts_in(asked.spot.object).iter();
            let counts = counts.filter(|count| spot_of(symbolizer, count) == asked.spot);
            counts.map(|count| row(count, &asked.spot)).collect()
        }
        Some(process) => {
            let of_process = profile.by_task.iter().filter(|(task, count)| {
                task.index() == process && count.object == asked.spot.object
            });
            let counts = of_process.map(|(_, count)| count);
            let counts = counts.filter(|count| spot_of(symbolizer, count) == asked.spot);
            counts.map(|count| row(count, &asked.spot)).collect()
        }
    };
    if rows.len() > MOST {
        rows.sort_by_key(|row| std::cmp::Reverse(row.sums.all.all()));
        rows.truncate(MOST);
    }
    rows
}

fn row(count: &Count, spot: &Spot) -> Row {
    let text = match spot.name {
        Ok(_) => format!("+{:#x}", count.address.wrapping_sub(spot.address)),
        Err(why) => why.to_string(),
    };
    let ticks = Ticks {
        user: count.user,
        system: count.system,
    };
    Row::of_address(count.address, text, ticks)
}
