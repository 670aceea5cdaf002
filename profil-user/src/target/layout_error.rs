//! What is wrong with regions.

/// Why the regions cannot be laid out.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LayoutError {
    /// Even the coarsest bins are too many.
    #[error("{budget} bytes of memory are too few for one bin a region ({regions} regions)")]
    BudgetTooSmall {
        /// The memory budget for bins.
        budget: u64,
        /// The number of regions.
        regions: usize,
    },
    /// A region that was asked for has more counters than there may be.
    #[error("{wanted} counters are more than {budget} bytes of memory hold")]
    TooManyBins {
        /// Counters of all regions.
        wanted: u64,
        /// The memory budget for bins.
        budget: u64,
    },
    /// More regions than the dialect has room for.
    #[error("{dialect} takes at most {most} region{}", if *.most == 1 { "" } else { "s" })]
    TooManyRegions {
        /// The dialect.
        dialect: &'static str,
        /// The most that it takes.
        most: u32,
    },
    /// Two regions count the same text.
    #[error("the regions at {first:#x} and {second:#x} overlap")]
    Overlap {
        /// Where the lower one starts.
        first: u64,
        /// Where the higher one starts.
        second: u64,
    },
    /// A region that would count nothing.
    #[error("the region at {region} counts nothing in {dialect}: {why}")]
    CountsNothing {
        /// The region.
        region: String,
        /// The dialect.
        dialect: &'static str,
        /// What it says to it.
        why: &'static str,
    },
    /// Neither an object nor a symbol.
    #[error("the process has no text at {0:?}: no such object, symbol or address in it")]
    NotFound(String),
    /// No mapping to tell the size from.
    #[error("the process has no text at {0}, so a buffer for it needs a size")]
    NoText(String),
    /// The symbols of an object cannot be read.
    #[error("cannot look for a symbol in {object:?}: {reason}")]
    Symbols {
        /// The object.
        object: String,
        /// Why.
        reason: String,
    },
}
