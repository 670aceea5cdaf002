//! The targets and how each is built.
//!
//! The sources are part of the test binary. A target is built once for what goes into it (sources,
//! flags, compiler), in a directory of its own, so that nothing stale is ever run. For another
//! machine, all of them are built at once ([`build_all`]), under their plain names.

mod build;
mod list;
mod sources;

use std::{env, path::PathBuf};

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
    /// `edges`: a function of two names, one without a size, code without a name, an IFUNC.
    Edges,
    /// The same, with nothing but the dynamic symbols.
    EdgesStripped,
    /// `vdso`: asks for the time, without a system call.
    Vdso,
    /// `plt`: calls a library all the time.
    Plt,
    /// `remap`: a part of its text is in anonymous memory.
    Remap,
    /// `mangled`: names as C++ and Rust write them.
    Mangled,
    /// `split` with its hot functions in Rust, whose names are mangled as they are today. Only for
    /// this kind of machine, as the next.
    RustV0,
    /// The same, mangled as they were before.
    RustLegacy,
    /// `narrow`: like `busy`, of 32 bits. Only where such programs run.
    Narrow,
    /// `itimer`: profiles itself with ITIMER_PROF, for as long as asked for.
    Itimer,
    /// `restless`: makes names, or objects, without end. Does not wait for `go`.
    Restless,
    /// `many`: as many mappings of text as asked for, then like `busy`.
    Many,
    /// `odd`: like `busy`, at an odd address. Only where instructions can be there.
    Odd,
    /// `storm`: many processes that live for milliseconds each. Does not wait for `go`.
    Storm,
    /// `replace`: a library takes the place of another.
    Replace,
}

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

/// A shared object beside an executable.
#[derive(Clone, Copy, Debug, Hash)]
struct Library {
    name: &'static str,
    source: &'static str,
    flags: &'static [&'static str],
}

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
    /// How names of `hot.rs` are mangled, if [`HOT_OBJECT`] is among the sources.
    mangling: Option<&'static str>,
}

/// What `hot.rs` is compiled to.
const HOT_OBJECT: &str = "hot.o";

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
        Self::Edges,
        Self::EdgesStripped,
        Self::Vdso,
        Self::Plt,
        Self::Remap,
        Self::Mangled,
        Self::RustV0,
        Self::RustLegacy,
        Self::Narrow,
        Self::Itimer,
        Self::Many,
        Self::Restless,
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
                | Self::Narrow
                | Self::Many
                | Self::Restless
                | Self::Odd
                | Self::Replace
        )
    }

    /// Whether it can be built for machines of that kind, by the compiler's name for them.
    fn fits(self, machine: &str) -> bool {
        match self {
            Self::Odd | Self::Narrow => machine.starts_with("x86_64"),
            Self::RustV0 | Self::RustLegacy => machine.starts_with(env::consts::ARCH),
            _ => true,
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
