//! What operators install: the unit, the rules, the dashboard and the manifests.

mod container;
mod metrics;
mod unit;
