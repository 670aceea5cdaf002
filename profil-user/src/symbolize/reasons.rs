//! Reasons as words that can be read again.

use super::{MapRefused, WhyUnnamed};
use crate::profile::Unresolved;

impl WhyUnnamed {
    /// The reason after this one, from [`WhyUnnamed::NoSymbols`] on: there is a place for each.
    const fn next(self) -> Option<Self> {
        Some(match self {
            Self::NoSymbols => Self::NoSuchSymbol,
            Self::NoSuchSymbol => Self::Linkage,
            Self::Linkage => Self::FileUnreadable,
            Self::FileUnreadable => Self::FileChanged,
            Self::FileChanged => Self::TablesUnreadable,
            Self::TablesUnreadable => Self::NotLookedUp,
            Self::NotLookedUp => Self::KernelHidden,
            Self::KernelHidden => Self::TooMany,
            Self::TooMany => Self::Generated,
            Self::Generated => Self::MapRefused(MapRefused::NotOwned),
            Self::MapRefused(MapRefused::NotOwned) => Self::MapRefused(MapRefused::NotRegular),
            Self::MapRefused(MapRefused::NotRegular) => Self::MapRefused(MapRefused::TooLarge),
            Self::MapRefused(MapRefused::TooLarge) => Self::MapRefused(MapRefused::TooMany),
            Self::MapRefused(MapRefused::TooMany) => Self::MapRefused(MapRefused::Unreadable),
            Self::MapRefused(MapRefused::Unreadable) => Self::Nowhere(Unresolved::ProcessEnded),
            Self::Nowhere(Unresolved::ProcessEnded) => Self::Nowhere(Unresolved::Unmapped),
            Self::Nowhere(Unresolved::Unmapped) => Self::Nowhere(Unresolved::Refused),
            Self::Nowhere(Unresolved::Refused) => return None,
        })
    }

    /// Every reason.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        std::iter::successors(Some(Self::NoSymbols), |reason| reason.next())
    }

    /// The reason that is displayed as `text`.
    pub(crate) fn displayed_as(text: &str) -> Option<Self> {
        Self::all().find(|reason| reason.to_string() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::WhyUnnamed;

    #[test]
    fn every_reason_is_read_as_it_is_written() {
        assert_eq!(WhyUnnamed::all().count(), 18);
        for reason in WhyUnnamed::all() {
            assert_eq!(WhyUnnamed::displayed_as(&reason.to_string()), Some(reason));
        }
        assert_eq!(WhyUnnamed::displayed_as("because"), None);
    }
}
