//! A real browser without a window, driven by its own protocol: what a page does when people click and type.
//!
//! Chromium reads commands from its descriptor 3 and writes answers and events to its descriptor 4, as JSON that ends with a
//! zero byte (`--remote-debugging-pipe`); <https://chromedevtools.github.io/devtools-protocol/> has the commands.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The program, as Debian has it.
pub const CHROMIUM: &str = "chromium";

/// How long anything may take on a machine that has other work.
const PATIENCE: Duration = Duration::from_secs(30);

/// A browser with one page. It ends with the value.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    commands: ChildStdin,
    answers: Receiver<Value>,
    session: Option<String>,
    number: u64,
    troubles: Vec<String>,
    _profile: TempDir,
}

/// Keys that are held.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Held {
    /// None.
    #[default]
    Nothing,
    /// Shift.
    Shift,
}

impl Browser {
    /// Starts it with an empty page of this size.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start(width: u32, height: u32) -> Self {
        let profile = tempfile::tempdir().expect("a directory");
        let mut shell = Command::new("sh");
        // Ours are standard input and output, which are moved to where the browser wants them.
        shell.args([
            "-c",
            "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1",
            "sh",
            CHROMIUM,
        ]);
        shell.args([
            "--headless=new",
            "--remote-debugging-pipe",
            // There is no sandbox for root, and none is needed for our own page.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-default-apps",
            "--disable-extensions",
            "--disable-sync",
            "--metrics-recording-only",
            "--no-proxy-server",
            "--force-device-scale-factor=1",
            "--hide-scrollbars",
        ]);
        shell.arg(format!("--window-size={width},{height}"));
        shell.arg(format!("--user-data-dir={}", profile.path().display()));
        shell.env("HOME", profile.path());
        shell
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        let mut child = shell.spawn().expect("the browser starts");
        let commands = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            for message in output.split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else {
                    break;
                };
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self {
            child,
            commands,
            answers,
            session: None,
            number: 0,
            troubles: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        browser.call("Emulation.setDeviceMetricsOverride", metrics);
        browser
    }

    /// Sends a command and waits for what it gives.
    ///
    /// # Panics
    ///
    /// If it fails or takes too long.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut command = json!({"id": self.number, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            command["sessionId"] = session[..].into();
        }
        let sent = write!(self.commands, "{command}\0").and_then(|()| self.commands.flush());
        sent.unwrap_or_else(|error| panic!("{method} cannot be sent: {error}"));
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.answers.recv_timeout(left);
            let mut message =
                message.unwrap_or_else(|error| panic!("no answer to {method}: {error}"));
            if message["id"] == self.number {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].take();
            }
            self.note(&message);
        }
    }

    /// Keeps what the page complains about.
    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        let is_trouble = match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Log.entryAdded") => parameters["entry"]["level"] == "error",
            Some("Runtime.consoleAPICalled") => {
                matches!(parameters["type"].as_str(), Some("error" | "assert"))
            }
            _ => false,
        };
        if is_trouble {
            self.troubles.push(parameters.to_string());
        }
    }

    /// What the page has complained about so far: exceptions, broken policies, answers that are errors.
    pub fn troubles(&mut self) -> &[String] {
        // Events that were on their way are here before the answer.
        self.evaluate("0");
        &self.troubles
    }

    /// Goes to a page.
    pub fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url}));
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// What an expression is there.
    ///
    /// # Panics
    ///
    /// If it throws.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut result = self.call("Runtime.evaluate", parameters);
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {result}"
        );
        result["result"]["value"].take()
    }

    /// What an expression is there, as a text.
    ///
    /// # Panics
    ///
    /// If it is none.
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.evaluate(expression);
        let text = value.as_str().map(str::to_owned);
        text.unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    /// Waits until an expression is true.
    ///
    /// # Panics
    ///
    /// If it does not become so.
    pub fn wait_for(&mut self, expression: &str) {
        let end = Instant::now() + PATIENCE;
        while self.evaluate(&format!("Boolean({expression})")) != true {
            let body = || "document.body.innerText.slice(0, 3000)";
            if Instant::now() > end {
                let body = self.evaluate(body());
                panic!(
                    "never: {expression}; troubles: {:?}; there is:\n{body}",
                    self.troubles
                );
            }
            thread::sleep(Duration::from_millis(15));
        }
    }

    /// Presses and releases a key, by its name in `KeyboardEvent.key`.
    pub fn press(&mut self, key: &str, held: Held) {
        let modifiers = match held {
            Held::Nothing => 0,
            Held::Shift => 8,
        };
        let code = match key {
            "Enter" => 13,
            "Backspace" => 8,
            "Escape" => 27,
            "Tab" => 9,
            "PageUp" => 33,
            "PageDown" => 34,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let mut event = json!({"type": "keyDown", "key": key, "modifiers": modifiers, "windowsVirtualKeyCode": code});
        if key == "Enter" {
            event["text"] = "\r".into();
        } else if key.chars().count() == 1 {
            event["text"] = key.into();
        }
        self.call("Input.dispatchKeyEvent", event);
        let event = json!({"type": "keyUp", "key": key, "modifiers": modifiers, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", event);
    }

    /// Types a text where the focus is.
    pub fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Presses the mouse at a point of the window, moves it to the last one, and lets go there.
    pub fn drag(&mut self, points: &[(f64, f64)]) {
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return;
        };
        let mut event = |kind: &str, (x, y): (f64, f64)| {
            let event = json!({"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event);
        };
        event("mouseMoved", *first);
        event("mousePressed", *first);
        points
            .iter()
            .skip(1)
            .for_each(|point| event("mouseMoved", *point));
        event("mouseReleased", *last);
    }

    /// Clicks on the middle of the first element that an expression gives.
    pub fn click(&mut self, element: &str) {
        let expression = format!(
            "(() => {{ const box = ({element}).getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        );
        let point = self.evaluate(&expression);
        let place = |index: usize| point[index].as_f64().expect("a number");
        self.drag(&[(place(0), place(1))]);
    }

    /// Says that the person likes it dark, or light.
    pub fn prefer(&mut self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Keeps a picture of the window as PNG.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn picture(&mut self, path: &Path) {
        let parameters = json!({"format": "png", "optimizeForSpeed": false});
        let picture = self.call("Page.captureScreenshot", parameters);
        let bytes = decoded(picture["data"].as_str().unwrap_or_default());
        std::fs::write(path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its helpers are in its group.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Base64 (RFC 4648, section 4) → bytes; what is no digit is skipped.
fn decoded(text: &str) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for digit in text.bytes() {
        let Some(value) = DIGITS.iter().position(|&known| known == digit) else {
            continue;
        };
        bits = bits << 6 | value as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn base64_is_that_of_the_standard() {
        assert_eq!(decoded("Zm9vYmE="), b"fooba");
        assert_eq!(decoded("Zm9vYmFy"), b"foobar");
        assert_eq!(decoded("/+8="), [255, 239]);
    }
}
