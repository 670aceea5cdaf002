//! The targets and how each is built.
//!
//! The sources are part of the test binary. A target is built once for what goes into it (sources,
//! flags, compiler), in a directory of its own, so that nothing stale is ever run. For another
//! machine, all of them are built at once ([`build_all`]), under their plain names.

mod build;

use std::path::PathBuf;

use crate::places;
pub use build::build_all;

/// A target. Each knows its own split; see the head of its source.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Workload {
    /// `split` at a fixed address.
    NonPie,
    /// `split`, position-independent.
    Pie,
    /// `split` at a fixed address, with its C library.
    Static,
    /// `split`, position-independent, with its C library.
    StaticPie,
    /// `split` without a symbol table: the only names are the dynamic ones.
    DynamicSymbolsOnly,
    /// `split`, stripped; its debug file is beside it, and it says so by a link.
    DebugLink,
    /// `split`, stripped; its debug file is below `debug/`, by build id.
    DebugBuildId,
    /// `split` with its hot functions in `libhot.so`.
    SharedLibrary,
    /// `split` that loads `libhot.so` after it was told to go.
    Dlopen,
    /// `split` at a fixed address, its code far from where its file offset suggests.
    FarNonPie,
    /// The same, position-independent.
    FarPie,
    /// `split` with a `libhot.so` of that kind.
    FarLibrary,
    /// `split` at a fixed address, each hot function in a segment of its own. The three segments
    /// share a page of the file, each with another distance from it.
    SegmentsNonPie,
    /// The same, position-independent.
    SegmentsPie,
    /// `split` with a `libhot.so` of that kind.
    SegmentsLibrary,
    /// `one`: one instruction that jumps to itself.
    One,
    /// `system`: half of the time in system calls.
    System,
    /// `jit`: half of the time in code that it made itself.
    Jit,
    /// `lockstep`: in step with a timer of 10 ms, 2 ms in one function and 1 ms in another.
    Lockstep,
    /// `contain`: runs another target in a container. Does not wait for `go` itself.
    Contain,
    /// `idle`: no CPU time at all.
    Idle,
    /// `brief`: over before you know it. Does not wait for `go`.
    Brief,
    /// `busy`: in one function until it is killed.
    Busy,
    /// `inline`: its hot loops are inlined, also one in another.
    Inline,
    /// The same with compressed debug information.
    InlineCompressed,
    /// The same, stripped, with a debug file.
    InlineStripped,
    /// `itimer`: profiles itself with ITIMER_PROF, for as long as asked for.
    Itimer,
    /// `many`: as many mappings of text as asked for, then like `busy`.
    Many,
    /// `odd`: like `busy`, at an odd address. Only where instructions can be there.
    Odd,
    /// `storm`: many processes that live for milliseconds each. Does not wait for `go`.
    Storm,
    /// `replace`: a library takes the place of another.
    Replace,
}

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

/// For every target: optimised a little, functions kept apart, names for every line.
const COMMON: &[&str] = &[
    "-std=gnu11",
    "-D_GNU_SOURCE",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-O1",
    "-fno-inline",
    "-g",
    "-pthread",
];

/// Everything in the directory of sources, so that a change of any of them is seen.
const SOURCES: &[(&str, &str)] = &[
    ("brief.c", include_str!("../workloads/brief.c")),
    ("busy.c", include_str!("../workloads/busy.c")),
    ("contain.c", include_str!("../workloads/contain.c")),
    ("hot.c", include_str!("../workloads/hot.c")),
    ("hot.h", include_str!("../workloads/hot.h")),
    ("idle.c", include_str!("../workloads/idle.c")),
    ("inline.c", include_str!("../workloads/inline.c")),
    ("itimer.c", include_str!("../workloads/itimer.c")),
    ("jit.c", include_str!("../workloads/jit.c")),
    ("lockstep.c", include_str!("../workloads/lockstep.c")),
    ("many.c", include_str!("../workloads/many.c")),
    ("odd.S", include_str!("../workloads/odd.S")),
    ("one.c", include_str!("../workloads/one.c")),
    ("replace.c", include_str!("../workloads/replace.c")),
    ("storm.c", include_str!("../workloads/storm.c")),
    ("slices.h", include_str!("../workloads/slices.h")),
    ("spin.h", include_str!("../workloads/spin.h")),
    ("split.c", include_str!("../workloads/split.c")),
    ("system.c", include_str!("../workloads/system.c")),
    ("target.h", include_str!("../workloads/target.h")),
    ("work.c", include_str!("../workloads/work.c")),
];

/// A shared object beside an executable.
#[derive(Clone, Copy, Debug, Hash)]
struct Library {
    name: &'static str,
    source: &'static str,
    flags: &'static [&'static str],
}

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

/// How one target is built.
#[derive(Clone, Copy, Debug, Hash)]
struct Recipe {
    /// The name of the executable.
    name: &'static str,
    sources: &'static [&'static str],
    /// Fixed address or not.
    kind: &'static [&'static str],
    flags: &'static [&'static str],
    libraries: &'static [Library],
    /// Whether the executable is linked with them, or loads them by itself.
    linked: bool,
    symbols: Symbols,
}

/// Where the symbols of an executable go.
#[derive(Clone, Copy, Debug, Hash)]
enum Symbols {
    /// Nowhere: they stay.
    Stay,
    /// Away, but for the dynamic ones.
    Away,
    /// To this file, which a link in the executable names.
    Linked(&'static str),
    /// To this file, without a word.
    Moved(&'static str),
}

const PLAIN: Recipe = Recipe {
    name: "split",
    sources: SPLIT,
    kind: PIE,
    flags: &[],
    libraries: &[],
    linked: false,
    symbols: Symbols::Stay,
};

const INLINE: Recipe = Recipe {
    sources: &["inline.c"],
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
    /// Every target.
    pub const ALL: &[Self] = &[
        Self::NonPie,
        Self::Pie,
        Self::Static,
        Self::StaticPie,
        Self::DynamicSymbolsOnly,
        Self::DebugLink,
        Self::DebugBuildId,
        Self::SharedLibrary,
        Self::Dlopen,
        Self::FarNonPie,
        Self::FarPie,
        Self::FarLibrary,
        Self::SegmentsNonPie,
        Self::SegmentsPie,
        Self::SegmentsLibrary,
        Self::One,
        Self::System,
        Self::Jit,
        Self::Lockstep,
        Self::Contain,
        Self::Idle,
        Self::Brief,
        Self::Busy,
        Self::Storm,
        Self::Inline,
        Self::InlineCompressed,
        Self::InlineStripped,
        Self::Itimer,
        Self::Many,
        Self::Odd,
        Self::Replace,
    ];

    /// Whether it waits for `go`, measures where its time goes and prints that.
    pub fn gives_account(self) -> bool {
        !matches!(
            self,
            Self::Brief
                | Self::Contain
                | Self::Busy
                | Self::Storm
                | Self::Itimer
                | Self::Many
                | Self::Odd
                | Self::Replace
        )
    }

    /// Whether it can be built for machines of that kind, by the compiler's name for them.
    fn fits(self, machine: &str) -> bool {
        self != Self::Odd || machine.starts_with("x86_64")
    }

    fn recipe(self) -> Recipe {
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

    /// The executable, built now if it never was.
    ///
    /// # Panics
    ///
    /// If it cannot be built, with what the compiler said.
    pub fn executable(self) -> PathBuf {
        let recipe = self.recipe();
        if let Some(built) = places::built_workloads() {
            return built.join(recipe.name).join(recipe.name);
        }
        let home =
            places::workloads_dir().join(format!("{}-{:016x}", recipe.name, recipe.digest()));
        if !home.is_dir() {
            recipe
                .build(&home)
                .unwrap_or_else(|error| panic!("cannot build {self:?}: {error}"));
        }
        home.join(recipe.name)
    }

    /// The shared objects beside the executable.
    pub fn libraries(self) -> Vec<PathBuf> {
        let executable = self.executable();
        let libraries = self.recipe().libraries.iter();
        libraries
            .map(|library| executable.with_file_name(library.name))
            .collect()
    }

    /// The name of the object that holds the hot functions.
    pub fn hot_object(self) -> &'static str {
        let recipe = self.recipe();
        match recipe.libraries {
            [library, ..] => library.name,
            [] => recipe.name,
        }
    }
}
