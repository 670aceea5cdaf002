//! The instructions of a function, with what each cost.

use std::{collections::HashMap, path::Path, sync::Arc};

use serde::Serialize;

use super::json::Amount;
use crate::{
    annotate::{Architecture, Code, Listing},
    profile::share_error,
    serve::{
        ObjectLabel,
        history::{Cost, Item, Selection},
    },
    target::ObjectFile,
};

/// Bytes of a function that are looked at.
const MOST_BYTES: u64 = 256 << 10;

/// No instruction is longer: that of x86.
const LONGEST: u64 = 15;

/// A function.
#[derive(Debug, Serialize)]
pub(super) struct Instructions {
    /// Why there are addresses alone.
    reason: Option<String>,
    build_id: Option<String>,
    matched: Amount,
    /// How many rows there are, of which some are not here.
    count: usize,
    rows: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    /// Link-time address; empty for what is known of no address.
    address: String,
    text: String,
    #[serde(flatten)]
    amount: Amount,
    share: f64,
    error: f64,
}

/// What was found at addresses of a function, by address.
#[derive(Debug, Default)]
struct Build<'a> {
    cost: u64,
    items: Vec<&'a Item>,
}

impl Instructions {
    /// The instructions of a selection by address in one function, and what is at no one of them.
    pub(super) fn of(selection: &Selection, most: usize) -> Self {
        let mut builds: HashMap<(&Arc<ObjectLabel>, Option<u64>), Build<'_>> = HashMap::new();
        for item in &selection.items {
            let build = builds
                .entry((&item.spot.object, item.spot.start))
                .or_default();
            build.cost = build.cost.saturating_add(item.cost.ns());
            build.items.push(item);
        }
        let mut builds: Vec<_> = builds.into_iter().collect();
        builds.sort_by(|a, b| {
            let of = |object: &ObjectLabel| (Arc::clone(&object.path), object.build_id);
            let by_cost = b.1.cost.cmp(&a.1.cost);
            by_cost.then_with(|| (of(a.0.0), a.0.1).cmp(&(of(b.0.0), b.0.1)))
        });
        let mut lines = Lines::new(&selection.matched);
        let mut reason = None;
        let mut build_id = None;
        for (index, ((object, start), mut build)) in builds.into_iter().enumerate() {
            build
                .items
                .sort_by_key(|item| (item.address.is_none(), item.address));
            if index == 0 {
                build_id = object.build_id.map(|id| id.to_string());
                match code_of(object, start, &build.items) {
                    Ok(listing) => {
                        lines.add_listing(&listing, &build.items);
                        continue;
                    }
                    Err(why) => reason = Some(why),
                }
            }
            let remark = if index == 0 { "" } else { "in another build" };
            build
                .items
                .iter()
                .for_each(|item| lines.add_item(item, remark));
        }
        let count = lines.rows.len();
        lines.rows.truncate(most);
        Self {
            reason,
            build_id,
            matched: Amount::from(&selection.matched),
            count,
            rows: lines.rows,
        }
    }
}

/// The instructions of a function from its first byte to its last tick, or why they cannot be had.
fn code_of(object: &ObjectLabel, start: Option<u64>, items: &[&Item]) -> Result<Listing, String> {
    let Some(start) = start else {
        return Err("it is not known where the function begins".to_owned());
    };
    if object.path.is_empty() {
        return Err("its object has no file".to_owned());
    }
    let Some(build_id) = object.build_id else {
        return Err("its object has no build id, by which its file could be known".to_owned());
    };
    let path = Path::new(&*object.path);
    let file = ObjectFile::open_named(path).map_err(|error| {
        // The path is the page's to show, escaped.
        format!("the file of its object cannot be read here: {error}")
    })?;
    if file.build_id() != Some(build_id) {
        return Err("the file at the object's path is of another build now".to_owned());
    }
    let machine = file
        .machine()
        .map_err(|error| format!("its file cannot be read: {error}"))?;
    let Some(architecture) = Architecture::of_machine(machine) else {
        return Err(format!("there is no disassembler for machine {machine}"));
    };
    let last = items
        .iter()
        .filter_map(|item| item.address)
        .max()
        .unwrap_or(start);
    let length = last
        .saturating_sub(start)
        .saturating_add(LONGEST + 1)
        .min(MOST_BYTES);
    let bytes = file.text_at(start, length as usize);
    let bytes = bytes.map_err(|error| format!("its file cannot be read: {error}"))?;
    if bytes.is_empty() {
        return Err("its file has no code there".to_owned());
    }
    let mut listing = Listing::new(
        Code {
            architecture,
            start,
            bytes: &bytes,
        },
        &[],
    );
    // What comes after may be another function's.
    listing.instructions.retain(|one| one.address <= last);
    Ok(listing)
}

/// Rows that are being made.
struct Lines<'a> {
    matched: &'a Cost,
    rows: Vec<Line>,
}

impl<'a> Lines<'a> {
    const fn new(matched: &'a Cost) -> Self {
        Self {
            matched,
            rows: Vec::new(),
        }
    }

    fn add(&mut self, address: Option<u64>, text: String, cost: &Cost) {
        self.rows.push(Line {
            address: address
                .map(|address| format!("{address:#x}"))
                .unwrap_or_default(),
            text,
            amount: Amount::from(cost),
            share: cost.share_of(self.matched),
            error: share_error(cost.ticks(), self.matched.ticks()),
        });
    }

    fn add_item(&mut self, item: &Item, remark: &str) {
        let text = match item.address {
            Some(_) => remark,
            None => "(addresses with few ticks)",
        };
        self.add(item.address, text.to_owned(), &item.cost);
    }

    /// Every instruction with its cost; and what is at none of them, between them.
    fn add_listing(&mut self, listing: &Listing, items: &[&Item]) {
        let instructions = &listing.instructions;
        let mut costs = vec![Cost::default(); instructions.len()];
        let mut rest: Vec<(usize, &Item, &str)> = Vec::new();
        for item in items {
            let Some(address) = item.address else {
                rest.push((instructions.len(), item, "(addresses with few ticks)"));
                continue;
            };
            // The daemon has no bins: addresses are exact.
            let place = instructions.partition_point(|one| one.address < address);
            match instructions.get(place) {
                Some(one) if one.address == address => costs[place].add_cost(&item.cost),
                _ => rest.push((place, item, "(no instruction begins here)")),
            }
        }
        rest.sort_by_key(|(before, item, _)| (*before, item.address));
        let mut rest = rest.into_iter().peekable();
        for (index, instruction) in instructions.iter().enumerate() {
            while let Some((_, item, why)) = rest.next_if(|(before, ..)| *before <= index) {
                self.add(item.address, why.to_owned(), &item.cost);
            }
            let text = instruction.text.clone();
            self.add(Some(instruction.address), text, &costs[index]);
        }
        for (_, item, why) in rest {
            self.add(item.address, why.to_owned(), &item.cost);
        }
    }
}
