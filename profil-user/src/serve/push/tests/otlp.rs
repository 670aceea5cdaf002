//! OTLP, read by a reader of protobuf's wire that knows no schema but the numbers looked for.

use std::{io::Read as _, sync::Arc};

use flate2::read::GzDecoder;

use super::{
    config, pushed,
    receiver::{Answer, Receiver},
    start, wait,
};
use crate::serve::{
    ObjectLabel, ProcessLabel, Row, Spot,
    push::{Kind, Pushed},
};

/// A message: numbers of fields, and what is in them.
struct Message(Vec<(u64, Value)>);

enum Value {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Message {
    fn of(mut bytes: &[u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let value = match tag & 7 {
                0 => Value::Number(varint(&mut bytes)),
                1 => {
                    let (first, rest) = bytes.split_first_chunk::<8>().unwrap();
                    bytes = rest;
                    Value::Number(u64::from_le_bytes(*first))
                }
                2 => {
                    let length = varint(&mut bytes) as usize;
                    let (first, rest) = bytes.split_at(length);
                    bytes = rest;
                    Value::Bytes(first.to_vec())
                }
                other => panic!("wire type {other}"),
            };
            fields.push((tag >> 3, value));
        }
        Self(fields)
    }

    fn bytes(&self, number: u64) -> Vec<&[u8]> {
        let found = self.0.iter().filter(|(known, _)| *known == number);
        let bytes = found.map(|(_, value)| match value {
            Value::Bytes(bytes) => &bytes[..],
            Value::Number(number) => panic!("{number} is no bytes"),
        });
        bytes.collect()
    }

    fn all(&self, number: u64) -> Vec<Message> {
        self.bytes(number).into_iter().map(Self::of).collect()
    }

    fn only(&self, number: u64) -> Message {
        let mut all = self.all(number);
        assert_eq!(all.len(), 1, "field {number}");
        all.remove(0)
    }

    fn texts(&self, number: u64) -> Vec<String> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        self.bytes(number).into_iter().map(text).collect()
    }

    /// 0 where it is not there.
    fn number(&self, number: u64) -> u64 {
        let mut found = self.0.iter().filter(|(known, _)| *known == number);
        match found.next() {
            Some((_, Value::Number(number))) => *number,
            Some(_) => panic!("field {number} is no number"),
            None => 0,
        }
    }

    /// Numbers that are packed.
    fn numbers(&self, number: u64) -> Vec<u64> {
        let mut numbers = Vec::new();
        for mut bytes in self.bytes(number) {
            while !bytes.is_empty() {
                numbers.push(varint(&mut bytes));
            }
        }
        numbers
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return number;
        }
    }
    panic!("a number without an end");
}

fn rows() -> Vec<Row> {
    let process = |tgid, name: &str, container: Option<&str>| {
        Arc::new(ProcessLabel {
            tgid,
            name: name.into(),
            cgroup: "/system.slice/a.service".into(),
            container: container.map(Into::into),
        })
    };
    let object = |name: &str, path: &str, id: &str| {
        Arc::new(ObjectLabel {
            name: name.into(),
            path: path.into(),
            build_id: id.parse().ok(),
        })
    };
    let libc = object("libc.so.6", "/lib/libc.so.6", "aabbcc");
    let kernel = object("[kernel]", "", "");
    let spot = |object: &Arc<ObjectLabel>, function: &str| {
        Arc::new(Spot {
            object: Arc::clone(object),
            function: function.into(),
            start: Some(0x1000),
        })
    };
    let row = |process: &Arc<ProcessLabel>, spot: &Arc<Spot>, address, user, system| Row {
        process: Arc::clone(process),
        spot: Arc::clone(spot),
        address,
        user,
        system,
    };
    let (first, second) = (
        process(7, "first", None),
        process(8, "zweiter ö", Some("c0ffee")),
    );
    let (qsort, idle) = (spot(&libc, "qsort"), spot(&kernel, "do_idle"));
    vec![
        row(&first, &qsort, 0x1010, 3, 1),
        row(&first, &qsort, 0x1020, 5, 0),
        row(&second, &qsort, 0x1010, 7, 0),
        row(&second, &idle, 0xffff_ffff_8100_0000, 0, 2),
        row(&second, &idle, 0xffff_ffff_8100_0010, 0, 0),
    ]
}

fn with_rows() -> Pushed {
    let mut pushed = pushed(1);
    pushed.pprof.clear();
    pushed.rows = Arc::new(rows());
    pushed.period_ns = 10;
    pushed
}

/// Container, pid, mode, function, object, build id, address, nanoseconds: what a sample says, all
/// references followed.
fn follow(request: &Message) -> Vec<String> {
    let dictionary = request.only(2);
    let strings = dictionary.texts(5);
    let text = |place: u64| &strings[place as usize][..];
    let (mappings, locations) = (dictionary.all(1), dictionary.all(2));
    let (functions, attributes) = (dictionary.all(3), dictionary.all(6));
    let (stacks, links) = (dictionary.all(7), dictionary.all(4));
    for (name, table) in [
        ("mappings", &mappings),
        ("locations", &locations),
        ("functions", &functions),
        ("links", &links),
        ("attributes", &attributes),
        ("stacks", &stacks),
    ] {
        assert!(
            table[0].0.is_empty(),
            "the first of the {name} is not empty"
        );
    }
    assert_eq!(strings[0], "");
    let value = |any: &Message| match any.0.first() {
        Some((1, Value::Bytes(bytes))) => String::from_utf8(bytes.clone()).unwrap(),
        Some((3, Value::Number(number))) => number.to_string(),
        _ => panic!("neither a text nor a number"),
    };
    let attribute = |place: &u64| {
        let attribute = &attributes[*place as usize];
        (
            text(attribute.number(1)).to_owned(),
            value(&attribute.only(2)),
        )
    };
    let mut said = Vec::new();
    for resource in request.all(1) {
        let of_resource = resource.only(1).all(1);
        let of_resource = of_resource.iter().map(|pair| {
            assert_eq!(pair.texts(1).len(), 1);
            format!("{}={}", pair.texts(1)[0], value(&pair.only(2)))
        });
        let of_resource = of_resource.collect::<Vec<_>>().join(" ");
        let scope = resource.only(2);
        assert_eq!(scope.only(1).texts(1), ["profil-bpf"]);
        let profile = scope.only(2);
        for kind in [1, 5] {
            let kind = profile.only(kind);
            assert_eq!(
                (text(kind.number(1)), text(kind.number(2))),
                ("cpu", "nanoseconds")
            );
        }
        assert_eq!(profile.number(3), 1_800_000_000_123_456_789);
        assert_eq!((profile.number(4), profile.number(6)), (15_000_000_000, 10));
        assert_eq!(profile.bytes(7)[0].len(), 16);
        for sample in profile.all(2) {
            let stack = &stacks[sample.number(1) as usize];
            let [place] = stack.numbers(1)[..] else {
                panic!("one address")
            };
            let location = &locations[place as usize];
            let mapping = &mappings[location.number(1) as usize];
            let address = location.number(2);
            assert!((mapping.number(1)..mapping.number(2)).contains(&address));
            let function = &functions[location.only(3).number(1) as usize];
            let build: Vec<_> = mapping.numbers(5).iter().map(attribute).collect();
            let attributes: Vec<_> = sample.numbers(2).iter().map(attribute).collect();
            said.push(format!(
                "{of_resource} {attributes:?} {} {} {build:?} {address:x} {:?}",
                text(function.number(1)),
                text(mapping.number(4)),
                sample.numbers(4),
            ));
        }
    }
    said
}

#[test]
fn a_request_says_all_that_the_rows_do() {
    let receiver = Receiver::new([]);
    let mut config = config(&receiver.url(), None);
    config.kind = Kind::Otlp;
    config.labels = vec![("env".to_owned(), "prod".to_owned())];
    let (pusher, _) = start(config);
    pusher.offer(with_rows());
    let asked = &receiver.wait_for(1)[0];
    assert_eq!(asked.line, "POST /v1development/profiles HTTP/1.1");
    assert_eq!(asked.header("content-type"), Some("application/x-protobuf"));
    assert_eq!(asked.header("content-encoding"), Some("gzip"));
    let mut request = Vec::new();
    GzDecoder::new(&asked.body[..])
        .read_to_end(&mut request)
        .unwrap();
    let of = |pid: u32, name: &str, mode: &str| {
        format!(
            "[(\"process.pid\", \"{pid}\"), (\"process.title\", \"{name}\"), \
             (\"process.linux.cgroup\", \"/system.slice/a.service\"), (\"cpu.mode\", \"{mode}\")]"
        )
    };
    let libc = "qsort /lib/libc.so.6 [(\"process.executable.build_id.gnu\", \"aabbcc\")]";
    let machine = "service.name=profil-bpf env=prod";
    let inside = "service.name=profil-bpf env=prod container.id=c0ffee";
    let expected = [
        format!("{machine} {} {libc} 1010 [30]", of(7, "first", "user")),
        format!("{machine} {} {libc} 1010 [10]", of(7, "first", "system")),
        format!("{machine} {} {libc} 1020 [50]", of(7, "first", "user")),
        format!("{inside} {} {libc} 1010 [70]", of(8, "zweiter ö", "user")),
        format!(
            "{inside} {} do_idle [kernel] [] ffffffff81000000 [20]",
            of(8, "zweiter ö", "system")
        ),
    ];
    assert_eq!(follow(&Message::of(&request)), expected);
}

#[test]
fn a_profile_that_is_taken_in_part_is_not_sent_again() {
    // partial_success { rejected_profiles: 2, error_message: "no" }
    let partly = vec![0x0a, 6, 0x08, 2, 0x12, 2, b'n', b'o'];
    // partial_success { error_message: "no" }, which is a success.
    let warning = vec![0x0a, 4, 0x12, 2, b'n', b'o'];
    let receiver = Receiver::new([
        Answer::Says("200 OK", "", partly),
        Answer::Says("200 OK", "", warning),
        // Nothing that comes back, as OTLP has it.
        Answer::Says("500 Internal Server Error", "", Vec::new()),
        Answer::Says("503 Service Unavailable", "", Vec::new()),
    ]);
    let mut config = config(&receiver.url(), None);
    config.kind = Kind::Otlp;
    let (pusher, lines) = start(config);
    for _ in 0..4 {
        pusher.offer(with_rows());
    }
    let figures = wait(&pusher, |figures| figures.sent == 2);
    assert_eq!((figures.refused, figures.failed), (2, 1));
    assert_eq!(receiver.asked().len(), 5);
    assert!(
        lines.all()[0].ends_with("it took none: no"),
        "{:?}",
        lines.all()
    );
}
