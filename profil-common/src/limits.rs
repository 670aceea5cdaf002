//! Limits that both halves share, each with its unit and its reason.

/// Regions that the table can hold.
///
/// A process with thousands of shared objects is rare but real; 4,096 regions are 128 KiB of
/// kernel memory and twelve steps of the search.
pub const MAX_REGIONS: u32 = 4096;

/// Halvings that the region search may take: enough for [`MAX_REGIONS`], and a bound that the
/// verifier can see.
pub const SEARCH_STEPS: u32 = MAX_REGIONS.ilog2() + 1;

/// Regions that a dialect tries one after the other, in all dialects but ours.
///
/// Their order decides and they may overlap, so there is nothing to halve. A program that called
/// `profil` itself had one region or a few; 64 keep the verifier's work in bounds.
pub const MAX_CLASSIC_REGIONS: u32 = 64;

/// Bins whose use is noted together: as many 8-byte counters as fill the smallest page there is,
/// so that what was never used is never even mapped by the reader.
pub const BINS_PER_PAGE: u32 = 512;
