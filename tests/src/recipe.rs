//! The targets and how each is built.
//!
//! The sources are part of the test binary. A target is built once for what goes into it (sources,
//! flags, compiler), in a directory of its own, so that nothing stale is ever run.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    process::Command,
};

use crate::places;

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
    /// `idle`: no CPU time at all.
    Idle,
    /// `brief`: over before you know it. Does not wait for `go`.
    Brief,
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
    ("hot.c", include_str!("../workloads/hot.c")),
    ("hot.h", include_str!("../workloads/hot.h")),
    ("idle.c", include_str!("../workloads/idle.c")),
    ("jit.c", include_str!("../workloads/jit.c")),
    ("one.c", include_str!("../workloads/one.c")),
    ("slices.h", include_str!("../workloads/slices.h")),
    ("split.c", include_str!("../workloads/split.c")),
    ("system.c", include_str!("../workloads/system.c")),
    ("target.h", include_str!("../workloads/target.h")),
];

/// The name of the shared object, for the targets that have one.
pub const LIBRARY: &str = "libhot.so";

/// How one target is built.
#[derive(Clone, Copy, Debug, Hash)]
struct Recipe {
    /// The name of the executable.
    name: &'static str,
    sources: &'static [&'static str],
    /// Fixed address or not.
    kind: &'static [&'static str],
    flags: &'static [&'static str],
    /// The flags of `libhot.so`, if it has one.
    library: Option<&'static [&'static str]>,
    /// Whether the executable is linked with it, or loads it by itself.
    linked: bool,
    stripped: bool,
}

const PLAIN: Recipe = Recipe {
    name: "split",
    sources: SPLIT,
    kind: PIE,
    flags: &[],
    library: None,
    linked: false,
    stripped: false,
};

const WITH_LIBRARY: Recipe = Recipe {
    sources: &["split.c"],
    flags: &["-Wl,-rpath,$ORIGIN"],
    library: Some(&[]),
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
        Self::Idle,
        Self::Brief,
    ];

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
                stripped: true,
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
                library: Some(&[FAR]),
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
                library: Some(&["-DHOT_SECTIONS", SEGMENTS]),
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
        }
    }

    /// The executable, built now if it never was.
    ///
    /// # Panics
    ///
    /// If it cannot be built, with what the compiler said.
    pub fn executable(self) -> PathBuf {
        let recipe = self.recipe();
        let home =
            places::workloads_dir().join(format!("{}-{:016x}", recipe.name, recipe.digest()));
        if !home.is_dir() {
            recipe.build(&home);
        }
        home.join(recipe.name)
    }

    /// The shared object beside the executable.
    pub fn library(self) -> PathBuf {
        self.executable().with_file_name(LIBRARY)
    }

    /// The name of the object that holds the hot functions.
    pub fn hot_object(self) -> &'static str {
        let recipe = self.recipe();
        if recipe.library.is_some() {
            LIBRARY
        } else {
            recipe.name
        }
    }
}

fn compiler() -> String {
    env::var("CC").unwrap_or_else(|_| "cc".to_owned())
}

impl Recipe {
    /// Stands for everything that goes into the target.
    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self, SOURCES, COMMON, env::consts::ARCH).hash(&mut hasher);
        hasher.finish()
    }

    /// Builds aside, then moves the whole directory into place: other tests may be building too.
    fn build(&self, home: &Path) {
        let parent = home
            .parent()
            .expect("a directory in the directory of targets");
        fs::create_dir_all(parent).unwrap_or_else(|error| panic!("{}: {error}", parent.display()));
        let aside = tempfile::Builder::new()
            .prefix(".building-")
            .tempdir_in(parent)
            .unwrap_or_else(|error| panic!("{}: {error}", parent.display()));
        for (name, text) in SOURCES {
            let path = aside.path().join(name);
            fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        if let Some(flags) = self.library {
            let mut cc = Command::new(compiler());
            cc.args(COMMON)
                .args(["-fPIC", "-shared", "hot.c", "-o", LIBRARY])
                .args(flags);
            run_in(aside.path(), &mut cc);
        }
        let mut cc = Command::new(compiler());
        cc.args(COMMON)
            .args(self.kind)
            .args(self.sources)
            .args(["-o", self.name]);
        cc.args(self.flags);
        if self.linked {
            cc.arg(LIBRARY);
        }
        run_in(aside.path(), &mut cc);
        if self.stripped {
            run_in(aside.path(), Command::new("strip").args(["-s", self.name]));
        }
        // Losing a race is fine: the winner built the same.
        if let Err(error) = fs::rename(aside.path(), home) {
            assert!(home.is_dir(), "{}: {error}", home.display());
        } else {
            // It has moved away: there is nothing left to remove.
            let _ = aside.keep();
        }
    }
}

fn run_in(dir: &Path, command: &mut Command) {
    let output = command
        .current_dir(dir)
        .output()
        .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}",
        String::from_utf8_lossy(&output.stderr),
    );
}
