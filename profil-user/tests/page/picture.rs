//! `docs/serve.png`, when somebody asks for it.

use std::{
    env, fs,
    path::Path,
    time::{Duration, UNIX_EPOCH},
};

use profil_user::serve::{
    Row, Window,
    history::{History, MINUTE},
};

use crate::{
    data::{self, BEGAN},
    page::Page,
    server::serve,
};

/// Bytes of a picture in the documentation.
const MOST_BYTES: u64 = 150_000;

/// Draws the page of the daemon at `$PROFIL_SERVE_URL`, else one with made-up numbers.
#[test]
#[ignore = "draws a picture for the documentation"]
fn picture() {
    let mut page = match env::var("PROFIL_SERVE_URL") {
        Ok(address) => Page::at(address, ""),
        Err(_) => Page::at(serve(made_up()), ""),
    };
    page.browser.prefer("light");
    let end = format!("(+document.getElementById('map').ariaValueMax + {MINUTE})");
    page.browser.evaluate(&format!(
        "location.hash = `span=${{{end} - 3600}}-${{{end}}}&by=function`"
    ));
    page.browser
        .wait_for("document.getElementById('download').href.includes('from=')");
    page.ready();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/serve.png");
    page.browser.picture(&path);
    assert!(fs::metadata(&path).unwrap().len() < MOST_BYTES);
}

/// Six hours of a small server, in which somebody installs something slower after four.
fn made_up() -> History {
    const FUNCTIONS: [(&str, &str, &str, f64, f64); 16] = [
        ("postgres", "postgres", "ExecInterpExpr", 70.0, 4.0),
        (
            "postgres",
            "postgres",
            "hash_search_with_hash_value",
            40.0,
            1.0,
        ),
        ("postgres", "postgres", "heapgettup_pagemode", 31.0, 2.0),
        (
            "postgres",
            "libc.so.6",
            "__memmove_avx_unaligned_erms",
            22.0,
            6.0,
        ),
        (
            "postgres",
            "[kernel]",
            "copy_user_enhanced_fast_string",
            0.0,
            28.0,
        ),
        ("nginx", "nginx", "ngx_http_parse_header_line", 21.0, 0.0),
        (
            "nginx",
            "libcrypto.so.3",
            "aesni_ctr32_encrypt_blocks",
            17.0,
            0.0,
        ),
        ("nginx", "[kernel]", "tcp_sendmsg_locked", 0.0, 19.0),
        ("nginx", "nginx", "ngx_epoll_process_events", 2.0, 9.0),
        (
            "api-server",
            "api-server",
            "serde_json::de::from_slice<Order>",
            12.0,
            0.0,
        ),
        (
            "api-server",
            "api-server",
            "core::str::validations::run_utf8_validation",
            9.0,
            0.0,
        ),
        (
            "api-server",
            "api-server",
            "<api::routes::Orders as Handler>::call",
            6.0,
            1.0,
        ),
        ("api-server", "libc.so.6", "malloc", 8.0, 0.0),
        ("redis-server", "redis-server", "dictFind", 5.0, 0.0),
        ("redis-server", "[kernel]", "ep_poll", 0.0, 4.0),
        ("backup", "libz.so.1", "deflate_slow", 160.0, 3.0),
    ];
    let mut history = History::default();
    let mut state = 1_u64;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    for minute in 0..360_u64 {
        let day = 1.0 + 0.5 * (minute as f64 / 57.0).sin();
        let mut row = |(place, &(process, object, function, user, system)): (
            u64,
            &(&str, &str, &str, f64, f64),
        )| {
            let load = match process {
                "backup" if minute % 120 < 14 => 10.0,
                "backup" => 0.0,
                "api-server" if minute >= 240 && place == 9 => 60.0 * day,
                _ => 9.0 * day,
            };
            let mut ticks = |mean: f64| (mean * load * (0.7 + 0.6 * draw())) as u64;
            let ticks = [ticks(user), ticks(system)];
            data::row(process, object, function, 0x1000 * (1 + place), ticks)
        };
        let rows: Vec<Row> = (0..).zip(&FUNCTIONS).map(&mut row).collect();
        let rows = (1..)
            .zip(rows)
            .map(|(tgid, row)| data::of_process(tgid, row));
        history.enter(&Window {
            began: UNIX_EPOCH + Duration::from_secs(BEGAN + minute * MINUTE),
            elapsed: Duration::from_secs(MINUTE),
            period_ns: 10_309_278,
            rows: rows.collect(),
        });
    }
    history
}
