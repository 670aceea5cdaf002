//! The page of the daemon in a real browser, with clicks and keys: what is shown is what was entered.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant, UNIX_EPOCH},
};

use profil_tests::{
    Browser,
    browser::{CHROMIUM, Held},
    require_programs,
};
use profil_user::serve::{
    ObjectLabel, ProcessLabel, Query, Request, Row, Spot, Window,
    history::{History, Limits, MINUTE},
    page::{self, Now},
};

/// The first minute.
const BEGAN: u64 = 1_700_000_040;

/// How many there are. The last one is also what is "now".
const MINUTES: u64 = 30;

/// Minutes in which one process has a hundred functions, and another ten thousand.
const HUNDRED: u64 = 24;
const TEN_THOUSAND: u64 = 25;

/// What the server sends along: nothing but what is the page's own.
const POLICY: &str =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'";

/// Names that would do something, if anybody let them.
const HOSTILE: [&str; 4] = [
    "<script>document.title='broken'</script>",
    "<img src=x onerror=\"document.title='broken'\">",
    "\u{202e}gpj.exe\u{200b}",
    "\u{1b}[31mred\"'&amp;",
];

fn row(process: &str, object: &str, function: &str, address: u64, ticks: [u64; 2]) -> Row {
    Row {
        process: Arc::new(ProcessLabel {
            tgid: 1,
            name: process.into(),
            cgroup: format!("/system.slice/{process}.service").into(),
            container: None,
        }),
        spot: Arc::new(Spot {
            object: Arc::new(ObjectLabel {
                name: object.into(),
                path: "".into(),
                build_id: None,
            }),
            function: function.into(),
            start: Some(address),
        }),
        address,
        user: ticks[0],
        system: ticks[1],
    }
}

fn rows_of(minute: u64) -> Vec<Row> {
    let eval = if minute < 15 { 100 } else { 490 };
    let mut rows = vec![
        row("nginx", "nginx", "parse", 0x1000, [600, 200]),
        row("nginx", "libc.so.6", "memcpy", 0x2000, [200, 0]),
        row("bash", "bash", "eval", 0x1000, [eval, 0]),
        row(HOSTILE[0], HOSTILE[1], HOSTILE[2], 0x1000, [7, 0]),
        row(HOSTILE[0], HOSTILE[1], HOSTILE[3], 0x2000, [3, 0]),
    ];
    let functions = match minute {
        HUNDRED => 100,
        TEN_THOUSAND => 10_000,
        _ => 0,
    };
    rows.extend((0..functions).map(|number| {
        let ticks = [10_001 - number, 0];
        row(
            "many",
            "many",
            &format!("function_{number}"),
            0x100 * number,
            ticks,
        )
    }));
    rows
}

fn history() -> History {
    let mut history = History::new(Limits {
        cells: 25_000,
        ..Limits::default()
    });
    // Names of the process that has too many of them, which must not have the others' cells.
    for minute in 0..MINUTES {
        let mut rows = rows_of(minute);
        for (tgid, row) in (1..).zip(&mut rows) {
            let known = ["nginx", "bash", "many"]
                .iter()
                .position(|name| **name == *row.process.name);
            let tgid = known.map_or(100 + tgid, |place| place as u32);
            row.process = Arc::new(ProcessLabel {
                tgid,
                ..(*row.process).clone()
            });
        }
        history.enter(&Window {
            began: UNIX_EPOCH + Duration::from_secs(BEGAN + minute * MINUTE),
            elapsed: Duration::from_secs(MINUTE - 1),
            period_ns: 10_000_000,
            rows,
        });
    }
    history
}

/// Serves the page as long as the test runs, and returns where.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let history = Arc::new(Mutex::new(history()));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let history = Arc::clone(&history);
            thread::spawn(move || {
                // A browser may open a connection and never use it.
                let _ = respond(stream, &history);
            });
        }
    });
    address
}

fn respond(stream: TcpStream, history: &Mutex<History>) -> std::io::Result<()> {
    let mut lines = BufReader::new(&stream).lines();
    let Some(line) = lines.next() else {
        return Ok(());
    };
    let line = line?;
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let mut words = line.split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
    let request = Request {
        method,
        path: decoded(path),
        query: Query(pairs.collect()),
        ..Request::default()
    };
    let now = Now {
        time: UNIX_EPOCH + Duration::from_secs(BEGAN + MINUTES * MINUTE),
        host: "machine".to_owned(),
        cpus: 4,
        hz: 97,
    };
    let history = history.lock().unwrap_or_else(PoisonError::into_inner);
    let response = page::answer(&history, &now, &request);
    drop(history);
    let mut stream = &stream;
    let Some(response) = response else {
        return stream.write_all(
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        );
    };
    write!(
        stream,
        "HTTP/1.1 {} -\r\nContent-Type: {}\r\n",
        response.status.code(),
        response.content_type
    )?;
    for (name, value) in &response.headers {
        write!(stream, "{name}: {value}\r\n")?;
    }
    write!(
        stream,
        "Content-Security-Policy: {POLICY}\r\nConnection: close\r\n"
    )?;
    write!(stream, "Content-Length: {}\r\n\r\n", response.body.len())?;
    stream.write_all(&response.body)
}

/// A part of a query as forms write it.
fn decoded(text: &str) -> String {
    let mut bytes = text.bytes();
    let mut plain = Vec::new();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                let digits = std::str::from_utf8(&digits).unwrap();
                plain.push(u8::from_str_radix(digits, 16).unwrap());
            }
            b'+' => plain.push(b' '),
            other => plain.push(other),
        }
    }
    String::from_utf8(plain).unwrap()
}

/// The page in a browser.
struct Page {
    browser: Browser,
    address: String,
}

const READY: &str = "document.getElementById('table').getAttribute('aria-busy') === 'false'";

impl Page {
    fn open(hash: &str) -> Self {
        let mut page = Self {
            browser: Browser::start(1100, 700),
            address: serve(),
        };
        page.go(hash);
        page
    }

    fn go(&mut self, hash: &str) {
        // Another page first: the same one with another hash would not be loaded again.
        self.browser.open("data:text/html,");
        self.browser.open(&format!("{}{hash}", self.address));
        self.ready();
        self.browser
            .wait_for("timeline.minutes.length > 0 && daemon.host");
    }

    fn ready(&mut self) {
        self.browser.wait_for(READY);
    }

    /// The cells of a row that is shown.
    fn cells(&mut self, row: usize) -> Vec<String> {
        let expression = format!(
            "[...document.querySelectorAll('#rows .row')].find((row) => row.getAttribute('aria-rowindex') == {}).innerText",
            row + 2
        );
        let text = self.browser.text(&expression);
        text.split('\n')
            .map(|cell| cell.trim().to_owned())
            .filter(|cell| !cell.is_empty())
            .collect()
    }

    /// Waits until a row has these among its cells.
    #[track_caller]
    fn assert_row(&mut self, row: usize, wanted: &[&str]) {
        self.ready();
        let cells = self.cells(row);
        for one in wanted {
            assert!(
                cells.iter().any(|cell| cell == one),
                "no {one:?} in {cells:?}"
            );
        }
    }

    fn click_row(&mut self, row: usize) {
        let index = row + 2;
        self.browser.click(&format!(
            "document.querySelector('#rows .row[aria-rowindex=\"{index}\"]')"
        ));
        self.ready();
    }

    fn text_of(&mut self, id: &str) -> String {
        self.browser
            .text(&format!("document.getElementById('{id}').innerText"))
    }

    fn press(&mut self, key: &str) {
        self.browser.press(key, Held::Nothing);
        self.ready();
    }

    /// Drags over minutes of the map, both included.
    fn drag(&mut self, first: u64, last: u64) {
        let mut point = |minute: u64| {
            let expression = format!(
                "(() => {{ const box = document.getElementById('map').getBoundingClientRect(); const span = axis(); \
                 const step = (box.width - LABELS) / span.count; \
                 return [box.x + LABELS + (({} - span.start) / 60 + 0.5) * step, box.y + 30]; }})()",
                BEGAN + minute * MINUTE
            );
            let point = self.browser.evaluate(&expression);
            (point[0].as_f64().unwrap(), point[1].as_f64().unwrap())
        };
        let points = [point(first), point((first + last) / 2), point(last)];
        self.browser.drag(&points);
        self.ready();
    }

    #[track_caller]
    fn assert_no_troubles(&mut self) {
        let troubles = self.browser.troubles();
        assert!(troubles.is_empty(), "{troubles:?}");
    }
}

#[test]
fn clicks_lead_from_the_machine_to_instructions() {
    require_programs!(CHROMIUM);
    let mut page = Page::open("");
    // 1000, 490 and 10 of 1500 ticks.
    page.assert_row(
        0,
        &[
            "nginx", "66.7 %", "±1.2", "53.3 %", "13.3 %", "10.00", "1,000",
        ],
    );
    page.assert_row(1, &["bash", "32.7 %"]);
    assert_eq!(page.text_of("host"), "machine");
    page.click_row(0);
    page.assert_row(0, &["parse", "nginx", "80.0 %", "±1.3", "60.0 %", "20.0 %"]);
    page.assert_row(1, &["memcpy", "libc.so.6", "20.0 %"]);
    assert_eq!(page.text_of("crumbs").replace('\n', " "), "machine › nginx");
    page.click_row(0);
    page.assert_row(0, &["0x1000", "100.0 %"]);
    assert_eq!(
        page.text_of("message"),
        "Addresses alone: its object has no file."
    );
    // The address bar holds all of it.
    let link = page.browser.text("location.hash");
    page.browser
        .click("document.querySelector('#crumbs button')");
    page.assert_row(0, &["nginx", "66.7 %"]);
    page.go(&link);
    page.assert_row(0, &["0x1000", "100.0 %"]);
    page.browser.evaluate("history.back()");
    page.assert_no_troubles();
}

#[test]
fn spans_are_chosen_and_compared() {
    require_programs!(CHROMIUM);
    let mut page = Page::open("");
    page.drag(0, 4);
    let chosen = format!("span={BEGAN}-{}", BEGAN + 5 * MINUTE);
    assert_eq!(page.browser.text("location.hash"), format!("#{chosen}"));
    // 1000, 100 and 10 of 1110 ticks, five times.
    page.assert_row(0, &["nginx", "90.1 %", "5,000"]);
    page.assert_row(1, &["bash", "9.0 %", "500"]);
    page.press("c");
    page.drag(26, 29);
    page.assert_row(0, &["nginx", "90.1 %", "66.7 %", "−23.4 %", "real"]);
    page.assert_row(
        1,
        &["bash", "9.0 %", "32.7 %", "+23.7 %", "real"]
            .map(|cell| if cell == "+23.7 %" { "+23.7 %" } else { cell }),
    );
    page.assert_no_troubles();
}

#[test]
fn keys_are_enough() {
    require_programs!(CHROMIUM);
    let mut page = Page::open("");
    page.press("ArrowDown");
    page.press("Enter");
    page.assert_row(0, &["eval", "bash", "100.0 %"]);
    page.press("Backspace");
    page.assert_row(0, &["nginx", "66.7 %"]);
    // Functions of everybody, of which one is looked for.
    page.press("3");
    page.assert_row(0, &["parse", "53.3 %"]);
    page.press("/");
    page.browser.write("MEM");
    page.assert_row(0, &["memcpy", "13.3 %"]);
    let rows = "document.getElementById('table').getAttribute('aria-rowcount')";
    assert_eq!(page.browser.text(rows), "2");
    page.press("Escape");
    assert_eq!(page.browser.text(rows), "6");
    // Back over the minutes: five of them.
    page.press("m");
    page.browser.press("Home", Held::Nothing);
    page.browser.wait_for("/span=/.test(location.hash)");
    let first = page
        .browser
        .evaluate("+location.hash.match(/span=(\\d+)/)[1]");
    page.browser.press("End", Held::Nothing);
    for _ in 0..4 {
        page.browser.press("ArrowLeft", Held::Shift);
    }
    let end = BEGAN + MINUTES * MINUTE;
    page.browser.wait_for(&format!(
        "location.hash.includes('span={}-{end}')",
        end - 5 * MINUTE
    ));
    assert!(first.as_u64().unwrap() < BEGAN);
    page.ready();
    page.assert_row(
        0,
        &["parse", "4,000"].map(|cell| if cell == "4,000" { "4,000" } else { cell }),
    );
    page.press("Escape");
    let focus = "document.activeElement.id";
    assert_eq!(page.browser.text(focus), "table");
    page.press("n");
    page.assert_row(0, &["parse", "53.3 %"]);
    page.press("?");
    assert_eq!(
        page.browser
            .evaluate("document.getElementById('help').open"),
        true
    );
    page.press("Escape");
    page.browser
        .wait_for("!document.getElementById('help').open");
    page.assert_no_troubles();
}

#[test]
fn it_is_light_or_dark() {
    require_programs!(CHROMIUM);
    let mut page = Page::open("");
    let paper = "getComputedStyle(document.body).backgroundColor";
    page.browser.prefer("light");
    let light = page.browser.text(paper);
    page.browser.prefer("dark");
    let dark = page.browser.text(paper);
    assert_ne!(light, dark);
    page.press("t");
    assert_eq!(page.browser.text(paper), light);
    page.go("");
    assert_eq!(page.browser.text(paper), light, "it is kept");
    page.press("t");
    assert_eq!(page.browser.text(paper), dark);
    page.assert_no_troubles();
}

#[test]
fn names_are_text() {
    require_programs!(CHROMIUM);
    let mut page = Page::open("");
    page.assert_row(2, &[HOSTILE[0]]);
    page.click_row(2);
    page.assert_row(0, &["\\u{202e}gpj.exe\\u{200b}", HOSTILE[1], "70.0 %"]);
    page.assert_row(1, &["\\u{1b}[31mred\"'&amp;"]);
    page.click_row(0);
    page.assert_row(0, &["0x1000"]);
    assert!(page.text_of("crumbs").contains(HOSTILE[1]));
    let elements = "document.querySelectorAll('script, img').length";
    assert_eq!(page.browser.evaluate(elements), 1);
    assert_eq!(page.browser.text("document.title"), "machine – profil-bpf");
    page.assert_no_troubles();
}

/// How long it takes from a link to its rows.
fn time_to_rows(page: &mut Page, minute: u64) -> Duration {
    let from = BEGAN + minute * MINUTE;
    let hash = format!("#span={from}-{}&by=function&process=many", from + MINUTE);
    let started = Instant::now();
    page.browser.evaluate(&format!("location.hash = '{hash}'"));
    page.browser.wait_for(&format!(
        "location.hash === '{hash}' && data.by === 'function' && {READY}"
    ));
    page.browser
        .wait_for("document.querySelectorAll('#rows .row').length > 5");
    started.elapsed()
}

#[test]
fn ten_thousand_functions_are_no_burden() {
    require_programs!(CHROMIUM);
    let mut page = Page::open("");
    time_to_rows(&mut page, HUNDRED);
    let few = time_to_rows(&mut page, HUNDRED - 1).max(time_to_rows(&mut page, HUNDRED));
    let many = time_to_rows(&mut page, TEN_THOUSAND);
    // A hundred times as many may take twenty times as long, on whatever machine.
    let most = 20 * few.max(Duration::from_millis(50));
    assert!(many < most, "{many:?} after {few:?}");
    let rows = "document.querySelectorAll('#rows .row').length";
    let in_document = |page: &mut Page| page.browser.evaluate(rows).as_u64().unwrap();
    assert!(in_document(&mut page) < 60);
    page.assert_row(0, &["function_0", "10,001"]);
    page.press("End");
    page.browser.wait_for("[...document.querySelectorAll('.row')].some((row) => row.innerText.includes('function_9999'))");
    assert!(in_document(&mut page) < 60);
    page.assert_row(9_999, &["function_9999", "2"]);
    page.assert_no_troubles();
}

/// Draws `docs/serve.png`, when somebody asks for it.
#[test]
#[ignore = "draws a picture for the documentation"]
fn picture() {
    let mut page = Page::open("");
    page.browser.prefer("light");
    page.drag(5, 20);
    page.click_row(0);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/serve.png");
    page.browser.picture(&path);
    assert!(fs::metadata(&path).unwrap().len() < 150_000);
}
