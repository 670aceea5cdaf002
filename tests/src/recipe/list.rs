//! How each target is built.

use super::{HOT_OBJECT, Library, Recipe, Symbols, Workload};

/// Where the segments of [`Workload::SegmentsPie`] and its kin go. Their places in a page are
/// alike, so that they fit into one page of the file, whether of 4 or of 64 KiB.
const SEGMENTS: &str = "-Wl,--section-start=.hot_alpha=0x10000340,\
                        --section-start=.hot_beta=0x20000440,\
                        --section-start=.hot_gamma=0x30000540";

/// Where the text of [`Workload::FarPie`] and its kin goes.
const FAR: &str = "-Wl,--section-start=.text=0x7654000";
const PIE: &[&str] = &["-fPIE", "-pie"];
const NON_PIE: &[&str] = &["-fno-pie", "-no-pie"];
const SPLIT: &[&str] = &["split.c", "hot.c"];

/// The library of the hot functions.
const fn hot(flags: &'static [&'static str]) -> Library {
    Library {
        name: "libhot.so",
        source: "hot.c",
        flags,
    }
}

const HOT_FAR: Library = hot(&[FAR]);
const HOT_SEGMENTS: Library = hot(&["-DHOT_SECTIONS", SEGMENTS]);

const PLAIN: Recipe = Recipe {
    name: "split",
    sources: SPLIT,
    kind: PIE,
    flags: &[],
    libraries: &[],
    linked: false,
    symbols: Symbols::Stay,
    mangling: None,
};

const INLINE: Recipe = Recipe {
    sources: &["inline.c"],
    ..PLAIN
};

const WITH_RUST: Recipe = Recipe {
    sources: &["split.c", HOT_OBJECT],
    ..PLAIN
};

const WITH_LIBRARY: Recipe = Recipe {
    sources: &["split.c"],
    flags: &["-Wl,-rpath,$ORIGIN"],
    libraries: &[hot(&[])],
    linked: true,
    ..PLAIN
};

impl Workload {
    pub(super) fn recipe(self) -> Recipe {
        match self {
            Self::NonPie => Recipe {
                name: "split-non-pie",
                kind: NON_PIE,
                ..PLAIN
            },
            Self::Pie => Recipe {
                name: "split-pie",
                ..PLAIN
            },
            Self::Static => Recipe {
                name: "split-static",
                kind: NON_PIE,
                flags: &["-static"],
                ..PLAIN
            },
            Self::StaticPie => Recipe {
                name: "split-static-pie",
                kind: &["-fPIE"],
                flags: &["-static-pie"],
                ..PLAIN
            },
            Self::DynamicSymbolsOnly => Recipe {
                name: "split-dynsym",
                flags: &["-rdynamic"],
                symbols: Symbols::Away,
                ..PLAIN
            },
            Self::DebugLink => Recipe {
                name: "split-debuglink",
                // So that the link is all there is.
                flags: &["-Wl,--build-id=none"],
                symbols: Symbols::Linked("split.debug"),
                ..PLAIN
            },
            Self::DebugBuildId => Recipe {
                name: "split-build-id",
                flags: &["-Wl,--build-id=0x5f4e3d2c1b0a"],
                symbols: Symbols::Moved("debug/.build-id/5f/4e3d2c1b0a.debug"),
                ..PLAIN
            },
            Self::SharedLibrary => Recipe {
                name: "split-library",
                ..WITH_LIBRARY
            },
            Self::Dlopen => Recipe {
                name: "split-dlopen",
                flags: &["-Wl,-rpath,$ORIGIN", "-DHOT_LIBRARY=\"libhot.so\""],
                linked: false,
                ..WITH_LIBRARY
            },
            Self::FarNonPie => Recipe {
                name: "split-far-non-pie",
                kind: NON_PIE,
                flags: &[FAR],
                ..PLAIN
            },
            Self::FarPie => Recipe {
                name: "split-far-pie",
                flags: &[FAR],
                ..PLAIN
            },
            Self::FarLibrary => Recipe {
                name: "split-far-library",
                libraries: &[HOT_FAR],
                ..WITH_LIBRARY
            },
            Self::SegmentsNonPie => Recipe {
                name: "split-segments-non-pie",
                kind: NON_PIE,
                flags: &["-DHOT_SECTIONS", SEGMENTS],
                ..PLAIN
            },
            Self::SegmentsPie => Recipe {
                name: "split-segments-pie",
                flags: &["-DHOT_SECTIONS", SEGMENTS],
                ..PLAIN
            },
            Self::SegmentsLibrary => Recipe {
                name: "split-segments-library",
                libraries: &[HOT_SEGMENTS],
                ..WITH_LIBRARY
            },
            Self::One => Recipe {
                name: "one",
                sources: &["one.c"],
                ..PLAIN
            },
            Self::System => Recipe {
                name: "system",
                sources: &["system.c", "hot.c"],
                ..PLAIN
            },
            Self::Jit => Recipe {
                name: "jit",
                sources: &["jit.c", "hot.c"],
                ..PLAIN
            },
            Self::Lockstep => Recipe {
                name: "lockstep",
                sources: &["lockstep.c", "hot.c"],
                ..PLAIN
            },
            Self::Contain => Recipe {
                name: "contain",
                sources: &["contain.c"],
                ..PLAIN
            },
            Self::Idle => Recipe {
                name: "idle",
                sources: &["idle.c"],
                ..PLAIN
            },
            Self::Brief => Recipe {
                name: "brief",
                sources: &["brief.c"],
                ..PLAIN
            },
            Self::Storm => Recipe {
                name: "storm",
                sources: &["storm.c"],
                ..PLAIN
            },
            Self::Busy => Recipe {
                name: "busy",
                sources: &["busy.c"],
                ..PLAIN
            },
            Self::Inline => Recipe {
                name: "inline",
                ..INLINE
            },
            Self::InlineCompressed => Recipe {
                name: "inline-compressed",
                flags: &["-gz=zlib"],
                ..INLINE
            },
            Self::InlineStripped => Recipe {
                name: "inline-stripped",
                symbols: Symbols::Linked("inline.debug"),
                ..INLINE
            },
            Self::Edges => Recipe {
                name: "edges",
                sources: &["edges.c"],
                ..PLAIN
            },
            Self::EdgesStripped => Recipe {
                name: "edges-stripped",
                sources: &["edges.c"],
                flags: &["-rdynamic"],
                symbols: Symbols::Away,
                ..PLAIN
            },
            Self::Vdso => Recipe {
                name: "vdso",
                sources: &["vdso.c", "hot.c"],
                ..PLAIN
            },
            Self::Plt => Recipe {
                name: "plt",
                sources: &["plt.c", "hot.c"],
                flags: &["-Wl,-rpath,$ORIGIN"],
                libraries: &[Library {
                    name: "libstep.so",
                    source: "step.c",
                    flags: &[],
                }],
                linked: true,
                ..PLAIN
            },
            Self::Remap => Recipe {
                name: "remap",
                sources: &["remap.c", "hot.c"],
                ..PLAIN
            },
            Self::Mangled => Recipe {
                name: "mangled",
                sources: &["mangled.c"],
                ..PLAIN
            },
            Self::RustV0 => Recipe {
                name: "split-rust-v0",
                mangling: Some("v0"),
                ..WITH_RUST
            },
            Self::RustLegacy => Recipe {
                name: "split-rust-legacy",
                mangling: Some("legacy"),
                ..WITH_RUST
            },
            Self::Narrow => Recipe {
                name: "narrow",
                sources: &["narrow.c"],
                kind: NON_PIE,
                flags: &[
                    "-m32",
                    "-nostdlib",
                    "-static",
                    "-ffreestanding",
                    "-fno-stack-protector",
                ],
                ..PLAIN
            },
            Self::Itimer => Recipe {
                name: "itimer",
                sources: &["itimer.c"],
                ..PLAIN
            },
            Self::Many => Recipe {
                name: "many",
                sources: &["many.c"],
                ..PLAIN
            },
            Self::Restless => Recipe {
                name: "restless",
                sources: &["restless.c"],
                ..PLAIN
            },
            Self::Odd => Recipe {
                name: "odd",
                sources: &["odd.S"],
                ..PLAIN
            },
            Self::Replace => Recipe {
                name: "replace",
                sources: &["replace.c"],
                libraries: &[
                    Library {
                        name: "libone.so",
                        source: "work.c",
                        flags: &["-DWORK=one_work"],
                    },
                    Library {
                        name: "libtwo.so",
                        source: "work.c",
                        flags: &["-DWORK=two_work"],
                    },
                ],
                ..PLAIN
            },
        }
    }
}
