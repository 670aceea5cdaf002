use std::collections::BTreeMap;

use profil_tests::queries::text_of;
use yaml_rust2::{Yaml, YamlLoader};

/// What the unit and the pod may, without the prefix.
const CAPABILITIES: [&str; 5] = ["BPF", "PERFMON", "SYS_PTRACE", "DAC_READ_SEARCH", "SYSLOG"];

/// The objects of the manifest by their kinds.
fn objects() -> BTreeMap<String, Yaml> {
    let documents = YamlLoader::load_from_str(&text_of("kubernetes.yaml")).expect("YAML");
    let by_kind = documents.into_iter().map(|object| {
        assert_eq!(object["metadata"]["name"].as_str(), Some("profil-bpf"));
        (object["kind"].as_str().expect("a kind").to_owned(), object)
    });
    by_kind.collect()
}

fn list<'a>(of: &'a Yaml, name: &str) -> Vec<&'a str> {
    let values = of[name]
        .as_vec()
        .unwrap_or_else(|| panic!("no list {name}"));
    values
        .iter()
        .map(|value| value.as_str().expect("a text"))
        .collect()
}

fn named<'a>(of: &'a Yaml, list: &str, name: &str) -> &'a Yaml {
    let found = of[list].as_vec().into_iter().flatten();
    let mut found = found.filter(|one| one["name"].as_str() == Some(name));
    found
        .next()
        .unwrap_or_else(|| panic!("{list} has no {name}"))
}

#[test]
fn the_manifest_has_what_belongs_together() {
    let objects = objects();
    for (kind, version) in [
        ("ConfigMap", "v1"),
        ("DaemonSet", "apps/v1"),
        ("PodMonitor", "monitoring.coreos.com/v1"),
        ("Service", "v1"),
        ("ServiceAccount", "v1"),
    ] {
        let object = objects.get(kind).unwrap_or_else(|| panic!("no {kind}"));
        assert_eq!(object["apiVersion"].as_str(), Some(version), "{kind}");
    }
    let set = &objects["DaemonSet"]["spec"];
    let labels = &set["template"]["metadata"]["labels"];
    for selector in [
        &set["selector"]["matchLabels"],
        &objects["Service"]["spec"]["selector"],
        &objects["PodMonitor"]["spec"]["selector"]["matchLabels"],
    ] {
        assert_eq!(selector, labels);
    }
    let pod = &set["template"]["spec"];
    assert_eq!(pod["serviceAccountName"].as_str(), Some("profil-bpf"));
    let container = &pod["containers"][0];
    let port = named(container, "ports", "http");
    assert_eq!(port["containerPort"].as_i64(), Some(9097));
    assert_eq!(
        objects["Service"]["spec"]["ports"][0]["targetPort"].as_str(),
        Some("http")
    );
    let endpoint = &objects["PodMonitor"]["spec"]["podMetricsEndpoints"][0];
    assert_eq!(endpoint["port"].as_str(), Some("http"));
    assert_eq!(endpoint["path"].as_str(), Some("/metrics"));
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        assert_eq!(
            container[probe]["httpGet"]["path"].as_str(),
            Some("/healthz"),
            "{probe}"
        );
        assert_eq!(
            container[probe]["httpGet"]["port"].as_str(),
            Some("http"),
            "{probe}"
        );
    }
    for mount in container["volumeMounts"].as_vec().expect("mounts") {
        named(pod, "volumes", mount["name"].as_str().expect("a name"));
    }
    for volume in pod["volumes"].as_vec().expect("volumes") {
        named(
            container,
            "volumeMounts",
            volume["name"].as_str().expect("a name"),
        );
    }
}

#[test]
fn the_pod_may_what_it_needs_and_no_more() {
    let objects = objects();
    let pod = &objects["DaemonSet"]["spec"]["template"]["spec"];
    assert_eq!(pod["hostPID"].as_bool(), Some(true));
    assert!(pod["hostNetwork"].is_badvalue() && pod["hostIPC"].is_badvalue());
    let context = &pod["containers"][0]["securityContext"];
    assert_eq!(list(&context["capabilities"], "drop"), ["ALL"]);
    assert_eq!(list(&context["capabilities"], "add"), CAPABILITIES);
    assert_eq!(context["privileged"].as_bool(), Some(false));
    assert_eq!(context["allowPrivilegeEscalation"].as_bool(), Some(false));
    assert_eq!(context["readOnlyRootFilesystem"].as_bool(), Some(true));
    // Added capabilities reach root alone.
    assert_eq!(context["runAsUser"].as_i64(), Some(0));
    assert!(text_of("Containerfile").contains(&format!("--cap-add={} ", CAPABILITIES.join(","))));
}

/// Who listens to others than the machine itself wants a token, and all who ask have it.
#[test]
fn the_pod_has_a_token() {
    let objects = objects();
    let config = objects["ConfigMap"]["data"]["profil-bpf.toml"].as_str();
    let config = config.expect("a configuration");
    let file = config
        .lines()
        .find_map(|line| line.strip_prefix("token_file = "));
    let pod = &objects["DaemonSet"]["spec"]["template"]["spec"];
    let secret = named(pod, "volumes", "token")["secret"]["secretName"].as_str();
    assert_eq!(secret, Some("profil-bpf"));
    let mount = named(&pod["containers"][0], "volumeMounts", "token")["mountPath"].as_str();
    assert_eq!(
        file,
        Some(&*format!("\"{}/token\"", mount.expect("a path")))
    );
    let endpoint = &objects["PodMonitor"]["spec"]["podMetricsEndpoints"][0];
    let shown = &endpoint["authorization"]["credentials"];
    assert_eq!(
        (shown["name"].as_str(), shown["key"].as_str()),
        (secret, Some("token"))
    );
    for path in ["/sys/fs/bpf", "/run/profil-bpf"] {
        assert!(config.contains(path), "{path}");
    }
}
