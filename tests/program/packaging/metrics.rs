use std::{collections::BTreeSet, fs, process::Command};

use profil_tests::{
    places,
    queries::{self, METRICS, Query, packaged, text_of},
    require_programs,
};

fn all() -> Vec<Query> {
    let rules = queries::rules().into_iter().map(|rule| rule.query);
    queries::of_dashboard().into_iter().chain(rules).collect()
}

#[track_caller]
fn promtool(arguments: &[&str]) {
    let output = Command::new("promtool").args(arguments).output();
    let output = output.expect("promtool runs");
    assert!(
        output.status.success(),
        "{arguments:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn queries_ask_for_metrics_that_there_are() {
    let recorded: BTreeSet<_> = queries::rules()
        .into_iter()
        .filter(|rule| !rule.is_alert)
        .map(|rule| rule.name)
        .collect();
    let queries = all();
    assert!(queries.len() > 30, "only {} queries", queries.len());
    for query in &queries {
        for name in query.names() {
            assert!(
                METRICS.contains(&name) || recorded.contains(name),
                "{}: there is no {name}",
                query.place
            );
        }
    }
}

/// So that a metric that is renamed is missed.
#[test]
fn the_dashboard_shows_what_there_is() {
    let queries = queries::of_dashboard();
    let asked: BTreeSet<_> = queries.iter().flat_map(Query::names).collect();
    for metric in METRICS {
        // What is in sums that others show.
        if ["profil_retired_cpu_seconds_total", "profil_profiles_total"].contains(&metric) {
            continue;
        }
        assert!(asked.contains(metric), "no panel shows {metric}");
    }
}

#[test]
fn panels_have_places_of_their_own() {
    let dashboard: serde_json::Value =
        serde_json::from_str(&text_of("grafana-dashboard.json")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let mut ids = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().expect("an id")));
        let place = |name: &str| panel["gridPos"][name].as_u64().expect("a place");
        assert!(place("x") + place("w") <= 24, "{}", panel["title"]);
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert!(taken.insert((x, y)), "{} covers another", panel["title"]);
            }
        }
    }
}

/// Prometheus's own opinion of every query, of the dashboard as well.
#[test]
fn queries_can_be_read() {
    require_programs!("promtool");
    let rules: Vec<_> = all()
        .into_iter()
        .enumerate()
        .map(|(at, query)| serde_json::json!({ "record": format!("query:{at}"), "expr": query.expr }))
        .collect();
    let dir = places::public_dir();
    let file = dir.path().join("queries.yaml");
    let groups = serde_json::json!({ "groups": [{ "name": "queries", "rules": rules }] });
    fs::write(&file, groups.to_string()).expect("a file");
    promtool(&["check", "rules", file.to_str().expect("a plain path")]);
}

#[test]
fn rules_do_what_they_say() {
    require_programs!("promtool");
    let path = |name| packaged(name).to_str().expect("a plain path").to_owned();
    promtool(&["check", "rules", &path("prometheus-rules.yaml")]);
    promtool(&["test", "rules", &path("prometheus-rules.test.yaml")]);
}

/// Each alert is tried, and what it is about is written down for who is woken up by it.
#[test]
fn alerts_are_tested_and_documented() {
    let tests = text_of("prometheus-rules.test.yaml");
    let manual = text_of("../docs/OPERATING.md");
    for rule in queries::rules() {
        assert!(tests.contains(&rule.name), "{} is not tested", rule.name);
        if rule.is_alert {
            assert!(
                manual.contains(&rule.name),
                "{} is not explained",
                rule.name
            );
        }
    }
    for metric in METRICS {
        assert!(manual.contains(metric), "{metric} is not explained");
    }
}
