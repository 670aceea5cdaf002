//! The queries that we ship, of the dashboard and of the rules, and the metrics that they may ask for.

use std::{collections::BTreeSet, fs, path::PathBuf};

use serde_json::Value;
use yaml_rust2::{Yaml, YamlLoader};

/// The metrics of `profil-bpf serve`, as they are queried: counters end in `_total`.
pub const METRICS: [&str; 27] = [
    "profil_build_info",
    "profil_cgroup_cpu_seconds_total",
    "profil_cpu_seconds_total",
    "profil_cpu_used_seconds_total",
    "profil_drain_seconds_total",
    "profil_drains_total",
    "profil_last_drain_age_seconds",
    "profil_machine_cpu_seconds_total",
    "profil_memory_bytes",
    "profil_process_cpu_seconds_total",
    "profil_profhz",
    "profil_profiles_running",
    "profil_profiles_total",
    "profil_push_dropped_total",
    "profil_push_failed_total",
    "profil_push_sent_total",
    "profil_retired_cpu_seconds_total",
    "profil_runs_total",
    "profil_series",
    "profil_series_limit",
    "profil_sideband_lost_total",
    "profil_stathz",
    "profil_stray_capacity",
    "profil_stray_entries",
    "profil_symbols",
    "profil_ticks_due_total",
    "profil_ticks_seen_total",
];

/// A query, and where it stands.
#[derive(Clone, Debug)]
pub struct Query {
    /// The panel or the rule.
    pub place: String,
    /// The expression, with values in place of Grafana's variables.
    pub expr: String,
}

impl Query {
    /// What it asks for by a name: our metrics, and series that rules record (those have a colon).
    pub fn names(&self) -> BTreeSet<&str> {
        let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        let words = self.expr.split(|c| !in_name(c));
        words
            .filter(|word| word.starts_with("profil_") || word.trim_matches(':').contains(':'))
            .collect()
    }
}

/// A file of `packaging/`.
pub fn packaged(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../packaging", name]
        .iter()
        .collect()
}

/// The text of a file of `packaging/`.
///
/// # Panics
///
/// If there is none.
pub fn text_of(name: &str) -> String {
    let path = packaged(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The queries of the dashboard.
///
/// # Panics
///
/// If it is not one.
pub fn of_dashboard() -> Vec<Query> {
    let text = text_of("grafana-dashboard.json");
    let dashboard: Value = serde_json::from_str(&text).expect("a dashboard is JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let mut queries = Vec::new();
    for panel in panels {
        let title = panel["title"].as_str().expect("a panel has a title");
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expr = target["expr"].as_str().expect("a target has an expr");
            let mut expr = expr.to_owned();
            for (variable, value) in [
                ("$__rate_interval", "5m"),
                ("$instance", ".*"),
                ("$top", "10"),
            ] {
                expr = expr.replace(variable, value);
            }
            queries.push(Query {
                place: format!("panel {title:?}"),
                expr,
            });
        }
    }
    queries
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The name of the series or of the alert.
    pub name: String,
    /// Whether it is an alert, and not a series.
    pub is_alert: bool,
    /// What it asks for.
    pub query: Query,
}

/// The rules for Prometheus.
///
/// # Panics
///
/// If the file is not one of rules.
pub fn rules() -> Vec<Rule> {
    let documents = YamlLoader::load_from_str(&text_of("prometheus-rules.yaml"));
    let documents = documents.expect("rules are YAML");
    let groups = documents[0]["groups"].as_vec().expect("groups");
    let rules = groups.iter().flat_map(|group| {
        let rules = group["rules"].as_vec().expect("a group has rules");
        rules.iter().map(rule)
    });
    rules.collect()
}

fn rule(rule: &Yaml) -> Rule {
    let alert = rule["alert"].as_str();
    let name = alert.or(rule["record"].as_str()).expect("a rule's name");
    Rule {
        name: name.to_owned(),
        is_alert: alert.is_some(),
        query: Query {
            place: format!("rule {name}"),
            expr: rule["expr"].as_str().expect("a rule's expr").to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::Query;

    #[test]
    fn names_are_those_of_metrics_and_rules() {
        let query = |expr: &str| Query {
            place: String::new(),
            expr: expr.to_owned(),
        };
        let asked =
            query(r#"sum by (a) (rate(profil_x_total{job="profil-bpf"}[5m])) / a:profil_y:c"#);
        let names: Vec<_> = asked.names().into_iter().collect();
        assert_eq!(names, ["a:profil_y:c", "profil_x_total"]);
        assert!(query("vector(1)").names().is_empty());
    }
}
