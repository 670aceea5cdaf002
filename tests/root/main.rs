//! Tests on the real kernel, with targets that know the truth about themselves.
//!
//! They need root and a C compiler, and they measure: run them with `--test-threads=1` on a
//! machine with nothing else to do.

mod always_on;
mod annotate;
mod conservation;
mod control;
mod cpus;
mod dialects;
mod endings;
mod filters;
mod gmon;
mod go;
mod ground_truth;
mod high_rate;
mod hostile;
mod jitter;
mod kernel;
mod kernel_text;
mod lifecycle;
mod lockstep;
mod mappings;
mod mode;
mod names;
mod outputs;
mod privileges;
mod regions;
mod saved;
mod serve;
mod symbols;
mod system_time;
mod targets;
mod terminal;
mod top;
mod translation;
mod undisturbed;
mod vectors;
