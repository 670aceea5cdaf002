//! The page, as somebody has it before them.

use std::sync::OnceLock;

use profil_tests::{Browser, browser::Held};
use profil_user::serve::history::MINUTE;

use crate::{
    data::{self, BEGAN},
    server::serve,
};

/// The page in a browser.
pub(crate) struct Page {
    pub(crate) browser: Browser,
    pub(crate) address: String,
}

/// Pixels that the map has to the left of its minutes.
const LABELS: u32 = 130;

pub(crate) const READY: &str =
    "document.getElementById('table').getAttribute('aria-busy') === 'false'";

impl Page {
    pub(crate) fn open(hash: &str) -> Self {
        // Ten thousand functions are not entered once more for each test.
        static ADDRESS: OnceLock<String> = OnceLock::new();
        let address = ADDRESS.get_or_init(|| serve(data::history()));
        Self::at(address.clone(), hash)
    }

    pub(crate) fn at(address: String, hash: &str) -> Self {
        let mut page = Self {
            browser: Browser::start(1100, 700),
            address,
        };
        page.go(hash);
        page
    }

    pub(crate) fn go(&mut self, hash: &str) {
        // Another page first: the same one with another hash would not be loaded again.
        self.browser.open("data:text/html,");
        self.browser.open(&format!("{}{hash}", self.address));
        self.ready();
        self.browser.wait_for(
            "+document.getElementById('map').ariaValueMax > 0 && document.getElementById('host').textContent",
        );
    }

    pub(crate) fn ready(&mut self) {
        self.browser.wait_for(READY);
    }

    /// The cells of a row that is shown.
    pub(crate) fn cells(&mut self, row: usize) -> Vec<String> {
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
    pub(crate) fn assert_row(&mut self, row: usize, wanted: &[&str]) {
        self.ready();
        let cells = self.cells(row);
        for one in wanted {
            assert!(
                cells.iter().any(|cell| cell == one),
                "no {one:?} in {cells:?}"
            );
        }
    }

    pub(crate) fn click_row(&mut self, row: usize) {
        let index = row + 2;
        self.browser.click(&format!(
            "document.querySelector('#rows .row[aria-rowindex=\"{index}\"]')"
        ));
        self.ready();
    }

    pub(crate) fn text_of(&mut self, id: &str) -> String {
        self.browser
            .text(&format!("document.getElementById('{id}').innerText"))
    }

    pub(crate) fn press(&mut self, key: &str) {
        self.browser.press(key, Held::Nothing);
        self.ready();
    }

    /// Drags over minutes of the map, both included.
    pub(crate) fn drag(&mut self, first: u64, last: u64) {
        let mut point = |minute: u64| {
            let expression = format!(
                "(() => {{ const map = document.getElementById('map'); const box = map.getBoundingClientRect(); \
                 const [first, last] = [+map.ariaValueMin, +map.ariaValueMax]; \
                 const step = (box.width - {LABELS}) / ((last - first) / {MINUTE} + 1); \
                 return [box.x + {LABELS} + (({} - first) / {MINUTE} + 0.5) * step, box.y + 30]; }})()",
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
    pub(crate) fn assert_no_troubles(&mut self) {
        let troubles = self.browser.troubles();
        assert!(troubles.is_empty(), "{troubles:?}");
    }
}
