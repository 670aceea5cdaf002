//! The page of the daemon in a real browser, with clicks and keys: what is shown is what was entered.

mod data;
mod page;
mod server;

use std::time::{Duration, Instant};

use profil_tests::{
    browser::{CHROMIUM, Held},
    require_programs,
};
use profil_user::serve::history::MINUTE;

use crate::{
    data::{BEGAN, HOSTILE, HUNDRED, MINUTES, TEN_THOUSAND},
    page::{Page, READY},
};

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
    let download = "fetch(document.getElementById('download').href).then(async (answer) => \
                    [answer.status, new Uint8Array(await answer.arrayBuffer())[0]].join())";
    assert_eq!(page.browser.text(download), "200,31", "a file by gzip");
    page.press("Backspace");
    page.assert_row(0, &["parse"]);
    page.browser.evaluate("history.back()");
    page.browser
        .wait_for("location.hash.includes('by=address')");
    // A link with a token in it, as people send them: a script may not ask with such an address.
    page.address = page.address.replace("//", "//user:token@");
    page.go(&link);
    page.assert_row(0, &["0x1000", "100.0 %"]);
    page.press("Backspace");
    page.assert_row(0, &["parse"]);
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
    page.assert_row(0, &["bash", "9.0 %", "32.7 %", "+23.7 %", "real"]);
    page.assert_row(1, &["nginx", "90.1 %", "66.7 %", "−23.4 %", "real"]);
    // 10 of 1110 and 10 of 1500: of so many ticks that is a change, by little.
    page.assert_row(2, &[HOSTILE[0], "0.9 %", "0.7 %", "−0.2 %", "chance?"]);
    page.press("c");
    page.assert_row(0, &["nginx", "66.7 %", "4,000"]);
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
    page.browser.write("no such name");
    page.browser
        .wait_for("document.getElementById('rows').innerText === 'Nothing has that in its name.'");
    page.press("Escape");
    assert_eq!(page.browser.text(rows), "6");
    // Back over the minutes: the first, and the last four.
    page.press("m");
    page.browser.press("Home", Held::Nothing);
    page.browser.wait_for("/span=/.test(location.hash)");
    let first = page
        .browser
        .evaluate("+location.hash.match(/span=(\\d+)/)[1]");
    page.browser.press("End", Held::Nothing);
    for _ in 0..3 {
        page.browser.press("ArrowLeft", Held::Shift);
    }
    let end = BEGAN + MINUTES * MINUTE;
    page.browser.wait_for(&format!(
        "location.hash.includes('span={}-{end}')",
        end - 4 * MINUTE
    ));
    assert!(first.as_u64().unwrap() < BEGAN);
    page.ready();
    page.assert_row(0, &["parse", "53.3 %", "3,200"]);
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
        "document.getElementById('download').href.includes('from={from}&') && {READY}"
    ));
    page.browser
        .wait_for("document.querySelectorAll('#rows .row').length > 5");
    started.elapsed()
}

#[test]
fn ten_thousand_functions_are_no_burden() {
    require_programs!(CHROMIUM);
    let mut page = Page::open("");
    // The first time, the browser has more to do.
    time_to_rows(&mut page, HUNDRED);
    page.press("n");
    let few = time_to_rows(&mut page, HUNDRED);
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
