//! Many readings of one quantity, condensed.

/// Readings of one quantity, sorted; at least one.
#[derive(Clone, Debug)]
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    /// Takes readings in any order.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub(crate) fn of(readings: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = readings.into_iter().collect();
        assert!(!sorted.is_empty(), "a sample has at least one reading");
        sorted.sort_by(f64::total_cmp);
        Self(sorted)
    }

    /// The middle reading, or the mean of the two in the middle.
    pub(crate) fn median(&self) -> f64 {
        let (middle, count) = (self.0.len() / 2, self.0.len());
        if count % 2 == 1 {
            self.0[middle]
        } else {
            f64::midpoint(self.0[middle - 1], self.0[middle])
        }
    }

    /// The readings between which the middle half lies.
    pub(crate) fn quartiles(&self) -> (f64, f64) {
        let cut = self.0.len() / 4;
        (self.0[cut], self.0[self.0.len() - 1 - cut])
    }

    /// The median, and where the middle half lies, each printed by `show`.
    pub(crate) fn show(&self, show: impl Fn(f64) -> String) -> String {
        let (lower, upper) = self.quartiles();
        let median = show(self.median());
        format!("{median} ({} … {})", show(lower), show(upper))
    }
}

#[cfg(test)]
mod tests {
    use super::Sample;

    #[test]
    fn the_middle_is_where_it_should_be() {
        assert_eq!(Sample::of([3.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(Sample::of([4.0, 1.0, 2.0, 3.0]).median(), 2.5);
        assert_eq!(Sample::of([2.0, 9.0, 1.0]).quartiles(), (1.0, 9.0));
        assert_eq!(Sample::of([5.0, 2.0, 9.0, 1.0]).quartiles(), (2.0, 5.0));
    }
}
