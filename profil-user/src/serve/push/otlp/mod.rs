//! Profiles as OpenTelemetry has them, over HTTP: `POST …/v1development/profiles`, protobuf, compressed.
//!
//! The signal is in development, and its messages have changed in ways that older receivers do not
//! understand: these are those of opentelemetry-proto 1.10.0. There is a `ResourceProfiles` for each container
//! and one for what is in none, as that schema advises profilers of whole machines. Each sample has one address
//! (link-time, so mappings begin at 0), CPU time in nanoseconds, and attributes by
//! <https://opentelemetry.io/docs/specs/semconv/registry/attributes/>: `process.pid`, `process.title`
//! (the kernel's name of it), `process.linux.cgroup`, and `cpu.mode` (`user` or `system`).

mod dictionary;
mod schema;

use std::{collections::BTreeMap, io::Write as _, sync::Arc};

use flate2::{Compression, write::GzEncoder};
use prost::Message as _;

use self::{dictionary::Dictionary, schema::Value};
use super::{
    Pushed,
    backoff::random,
    nanoseconds,
    parcel::{Content, Parcel},
};
use crate::serve::Row;

/// A request for a profile.
pub(super) fn parcel(
    application: &str,
    labels: &[(String, String)],
    pushed: &Pushed,
) -> Result<Parcel, &'static str> {
    let request = request(application, labels, pushed).encode_to_vec();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    let written = packed.write_all(&request).and_then(|()| packed.finish());
    Ok(Parcel {
        content: Content::Otlp,
        began_ns: nanoseconds(pushed.began),
        until_ns: nanoseconds(pushed.until),
        sample_rate_hz: pushed.sample_rate_hz,
        body: written.map_err(|_| "it cannot be compressed")?,
    })
}

fn request(application: &str, labels: &[(String, String)], pushed: &Pushed) -> schema::Request {
    let mut dictionary = Dictionary::default();
    let mut by_container: BTreeMap<Option<Arc<str>>, Vec<schema::Sample>> = BTreeMap::new();
    for row in pushed.rows.iter() {
        let samples = by_container
            .entry(row.process.container.clone())
            .or_default();
        samples.extend(samples_of(row, pushed.period_ns, &mut dictionary));
    }
    let value_type = schema::ValueType {
        type_strindex: dictionary.text("cpu"),
        unit_strindex: dictionary.text("nanoseconds"),
    };
    let (began, until) = (nanoseconds(pushed.began), nanoseconds(pushed.until));
    let resource_profiles = by_container.into_iter().map(|(container, samples)| {
        let mut attributes = vec![key_value("service.name", application)];
        attributes.extend(labels.iter().map(|(name, value)| key_value(name, value)));
        attributes.extend(container.map(|id| key_value("container.id", &id)));
        let profile = schema::Profile {
            sample_type: Some(value_type),
            samples,
            time_unix_nano: began,
            duration_nano: until.saturating_sub(began),
            period_type: Some(value_type),
            period: i64::try_from(pushed.period_ns).unwrap_or(i64::MAX),
            profile_id: [random(), random()].map(u64::to_le_bytes).concat(),
        };
        let scope = schema::InstrumentationScope {
            name: "profil-bpf".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        schema::ResourceProfiles {
            resource: Some(schema::Resource { attributes }),
            scope_profiles: vec![schema::ScopeProfiles {
                scope: Some(scope),
                profiles: vec![profile],
            }],
        }
    });
    schema::Request {
        resource_profiles: resource_profiles.collect(),
        dictionary: Some(dictionary.into_message()),
    }
}

/// One for each mode that has ticks.
fn samples_of(row: &Row, period_ns: u64, dictionary: &mut Dictionary) -> Vec<schema::Sample> {
    let stack_index = dictionary.stack(row);
    let text = |text: &str| Value::Text(text.to_owned());
    let mut common = vec![
        dictionary.attribute("process.pid", Value::Number(i64::from(row.process.tgid))),
        dictionary.attribute("process.title", text(&row.process.name)),
    ];
    if !row.process.cgroup.is_empty() {
        common.push(dictionary.attribute("process.linux.cgroup", text(&row.process.cgroup)));
    }
    let modes = [("user", row.user), ("system", row.system)];
    let ticked = modes.into_iter().filter(|(_, ticks)| *ticks > 0);
    let samples = ticked.map(|(mode, ticks)| {
        let mut attribute_indices = common.clone();
        attribute_indices.push(dictionary.attribute("cpu.mode", text(mode)));
        let nanoseconds = ticks.saturating_mul(period_ns);
        schema::Sample {
            stack_index,
            attribute_indices,
            values: vec![i64::try_from(nanoseconds).unwrap_or(i64::MAX)],
        }
    });
    samples.collect()
}

fn key_value(key: &str, value: &str) -> schema::KeyValue {
    schema::KeyValue {
        key: key.to_owned(),
        value: Some(schema::AnyValue {
            value: Some(Value::Text(value.to_owned())),
        }),
    }
}

/// Why a receiver that answered "success" took only some of it, if so; such is not sent again
/// (<https://opentelemetry.io/docs/specs/otlp/#partial-success-1>).
pub(super) fn rejection(answer: &[u8]) -> Option<String> {
    let partial = schema::Response::decode(answer).ok()?.partial_success?;
    (partial.rejected_profiles > 0).then_some(partial.error_message)
}
