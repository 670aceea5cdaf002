//! Which objects of two profiles are one.

use crate::{
    pprof::{Piece, Record, Saved},
    profile::{Object, ObjectId, Text},
    symbolize::{Name, Names},
};

/// The objects of both, and where those of the other are among them.
pub(super) struct Objects {
    pub(super) all: Vec<Object>,
    places: Vec<usize>,
}

impl Objects {
    pub(super) fn of(first: &Saved, other: &Saved) -> Self {
        let mut all = first.profile.objects.clone();
        let mut places: Vec<usize> = Vec::new();
        for (index, object) in other.profile.objects.iter().enumerate() {
            let is_it = |&place: &usize| {
                let one = (&first.record.names, ObjectId::new(place));
                let two = (&other.record.names, ObjectId::new(index));
                // Within one profile, objects are several.
                !places.contains(&place)
                    && is_one(&first.profile.objects[place], object)
                    && (object.build_id.is_some() || agree(other, one, two))
            };
            let place = (0..first.profile.objects.len()).find(is_it);
            match place {
                Some(place) => {
                    let one = &mut all[place];
                    one.text = united(&one.text, &object.text);
                    one.is_main |= object.is_main;
                }
                None => all.push(object.clone()),
            }
            places.push(place.unwrap_or(all.len() - 1));
        }
        Self { all, places }
    }

    /// Where an object of the other profile is.
    pub(super) fn place(&self, object: ObjectId) -> ObjectId {
        ObjectId::new(self.places[object.index()])
    }

    /// The parts of all objects.
    pub(super) fn pieces(&self, first: &Record, other: &Record) -> Vec<Vec<Piece>> {
        let mut pieces = first.pieces.clone();
        pieces.resize(self.all.len(), Vec::new());
        for (place, more) in self.places.iter().zip(&other.pieces) {
            pieces[*place].extend(more);
            pieces[*place] = Piece::united(std::mem::take(&mut pieces[*place]));
        }
        pieces
    }
}

/// Whether two objects are one: of the same build, or without one and called alike.
fn is_one(one: &Object, other: &Object) -> bool {
    match (one.build_id, other.build_id) {
        (Some(one), Some(other)) => one == other,
        (None, None) => one.kind == other.kind,
        _ => false,
    }
}

/// Whether what is known of the names contradicts that two objects without a build are one: another
/// program may have taken the path, and another process the number.
fn agree(other: &Saved, one: (&Names, ObjectId), two: (&Names, ObjectId)) -> bool {
    other.profile.counts_in(two.1).iter().all(|count| {
        let names = [one, two].map(|(names, object)| names.name_of(object, count.address));
        match names {
            [
                Name::Function { name: one, .. },
                Name::Function { name: two, .. },
            ] => one == two,
            _ => true,
        }
    })
}

/// The ranges of both, with the wider bins where they overlap.
fn united(first: &[Text], other: &[Text]) -> Vec<Text> {
    if first == other || other.is_empty() {
        return first.to_vec();
    }
    let both = || first.iter().chain(other);
    let mut edges: Vec<u64> = both().flat_map(|text| [text.start, text.end]).collect();
    edges.sort_unstable();
    edges.dedup();
    let mut all: Vec<Text> = Vec::new();
    for pair in edges.windows(2) {
        let holds = |text: &&Text| text.start <= pair[0] && pair[0] < text.end;
        let Some(width) = both().filter(holds).map(|text| text.width).max() else {
            continue;
        };
        match all.last_mut() {
            Some(last) if last.end == pair[0] && last.width == width => last.end = pair[1],
            _ => all.push(Text {
                start: pair[0],
                end: pair[1],
                width,
            }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::united;
    use crate::profile::Text;

    #[test]
    fn ranges_are_united_and_the_wider_bins_win() {
        let text = |start, end, width| Text { start, end, width };
        let some = [text(0, 10, 2), text(20, 30, 2)];
        assert_eq!(united(&some, &some), some);
        assert_eq!(united(&[], &some), some);
        assert_eq!(united(&some, &[]), some);
        assert_eq!(
            united(&some, &[text(5, 25, 4)]),
            [text(0, 5, 2), text(5, 25, 4), text(25, 30, 2)]
        );
        assert_eq!(united(&some, &[text(10, 20, 2)]), [text(0, 30, 2)]);
    }
}
