//! A headless Chromium, spoken to over its debugging pipe: JSON messages, each ended by a zero byte.
//!
//! <https://chromedevtools.github.io/devtools-protocol/>. No crate and no driver: the shell moves the two pipes to the
//! descriptors 3 and 4 that Chromium reads and writes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The names under which distributions install it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
const PATIENCE: Duration = Duration::from_secs(60);

/// One browser with one open page.
pub(crate) struct Chromium {
    process: Child,
    requests: ChildStdin,
    messages: Receiver<Value>,
    session: String,
    last_id: u64,
    /// What the page complained about, and what it asked the network for.
    pub(crate) complaints: Vec<String>,
    pub(crate) requested: Vec<String>,
}

impl Chromium {
    /// Starts one with its profile below `folder`.
    pub(crate) fn start(folder: &Path) -> Chromium {
        let name = NAMES.iter().find(|name| Command::new(name).arg("--version").output().is_ok());
        let name = name.expect("Chromium is missing: `scripts/setup test` installs it");
        std::fs::create_dir_all(folder).expect("a folder");
        let mut process = Command::new("sh")
            .args(["-c", r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#, "sh", name])
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .args(["--disable-background-networking", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", folder.display()))
            // What it leaves when it is killed goes with the folder.
            .env("TMPDIR", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Chromium starts");
        let requests = process.stdin.take().expect("its input");
        let mut output = BufReader::new(process.stdout.take().expect("its output"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            while output.read_until(0, &mut bytes).is_ok_and(|read| read > 0) {
                let message = serde_json::from_slice(&bytes[..bytes.len() - 1]).unwrap_or(Value::Null);
                bytes.clear();
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let (complaints, requested) = (Vec::new(), Vec::new());
        let session = String::new();
        let mut browser =
            Chromium { process, requests, messages, session, last_id: 0, complaints, requested };
        browser.attach();
        browser
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = self.call("Target.attachToTarget", &attach);
        session["sessionId"].as_str().expect("a session").clone_into(&mut self.session);
        for domain in ["Runtime.enable", "Log.enable", "Page.enable", "Network.enable"] {
            self.call(domain, &json!({}));
        }
        let size = json!({"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Opens `page` in a theme, `light` or `dark`, and waits until it is loaded and drawn.
    pub(crate) fn open(&mut self, page: &Path, theme: &str) {
        let feature = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
        self.call("Emulation.setEmulatedMedia", &feature);
        self.call("Page.navigate", &json!({"url": format!("file://{}", page.display())}));
        self.until("document.readyState === 'complete' && location.protocol === 'file:'");
        self.settle();
    }

    /// Waits for what the page draws in its next frames.
    pub(crate) fn settle(&mut self) {
        self.value(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))",
        );
    }

    /// Waits until `condition` holds.
    pub(crate) fn until(&mut self, condition: &str) {
        let begin = Instant::now();
        while self.value(condition) != json!(true) {
            assert!(begin.elapsed() < PATIENCE, "{condition} does not come to hold");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What `expression` evaluates to, awaited.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let evaluate = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", &evaluate);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// The same as text.
    pub(crate) fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_default().to_owned()
    }

    /// Presses and releases a key, by its DOM name.
    pub(crate) fn key(&mut self, key: &str) {
        // What the browser itself answers to, such as Enter at a button, it knows by code and text.
        let (typed, code) = match key {
            "Enter" => ("\r", 13),
            "Tab" => ("", 9),
            _ if key.chars().count() == 1 => (key, 0),
            _ => ("", 0),
        };
        let event = |what: &str| json!({"type": what, "key": key, "windowsVirtualKeyCode": code});
        let mut down = event("keyDown");
        down["text"] = json!(typed);
        self.call("Input.dispatchKeyEvent", &down);
        self.call("Input.dispatchKeyEvent", &event("keyUp"));
        self.settle();
    }

    /// A mouse event at a place of the window: `mousePressed`, `mouseMoved`, `mouseReleased`.
    pub(crate) fn mouse(&mut self, what: &str, x: f64, y: f64) {
        self.mouse_while(what, x, y, 0);
    }

    /// The same while keys are held: 8 is Shift.
    pub(crate) fn mouse_while(&mut self, what: &str, x: f64, y: f64, modifiers: i32) {
        let buttons = i32::from(what != "mouseReleased");
        let mut event =
            json!({"type": what, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1});
        event["modifiers"] = json!(modifiers);
        self.call("Input.dispatchMouseEvent", &event);
    }

    /// Moves the mouse with no button held.
    pub(crate) fn hover(&mut self, expression: &str) {
        let (x, y) = self.middle(expression);
        let event = json!({"type": "mouseMoved", "x": x, "y": y, "button": "none", "buttons": 0});
        self.call("Input.dispatchMouseEvent", &event);
        self.settle();
    }

    /// A click in the middle of what `expression` finds.
    pub(crate) fn click(&mut self, expression: &str) {
        let (x, y) = self.middle(expression);
        self.mouse("mousePressed", x, y);
        self.mouse("mouseReleased", x, y);
        self.settle();
    }

    /// Turns the wheel over a place.
    pub(crate) fn wheel(&mut self, x: f64, y: f64, down: i32) {
        let event = json!({"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": down});
        self.call("Input.dispatchMouseEvent", &event);
        self.settle();
    }

    /// The middle of what `expression` finds, after scrolling there.
    pub(crate) fn middle(&mut self, expression: &str) -> (f64, f64) {
        let place = self.value(&format!(
            "(() => {{ const it = {expression}; it.scrollIntoView({{block: 'center', behavior: 'instant'}}); \
             const box = it.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ));
        (place[0].as_f64().expect("x"), place[1].as_f64().expect("y"))
    }

    /// The width and height of the window.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size);
        self.settle();
    }

    /// Lays the page out for `screen` or `print`.
    pub(crate) fn medium(&mut self, medium: &str) {
        self.call("Emulation.setEmulatedMedia", &json!({"media": medium}));
    }

    /// How many sheets of paper the page takes, A4.
    pub(crate) fn sheets(&mut self) -> usize {
        let size = json!({"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": true});
        let printed = self.call("Page.printToPDF", &size);
        let pdf = printed["data"].as_str().expect("a document").to_owned();
        // The page tree counts its leaves; it stands uncompressed in what Chromium prints.
        let found = self.text(&format!(
            "atob('{pdf}').match(/\\/Type \\/Pages[^>]*\\/Count (\\d+)|\\/Count (\\d+)/g).join()"
        ));
        found.split(',').filter_map(|one| one.rsplit(' ').next()?.parse().ok()).max().expect("pages")
    }

    /// A picture of the window, as PNG in base64.
    pub(crate) fn picture(&mut self) -> String {
        let picture = self.call("Page.captureScreenshot", &json!({"format": "png"}));
        picture["data"].as_str().expect("a picture").to_owned()
    }

    /// Sends a request and waits for its answer; remembers what comes in between.
    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.last_id += 1;
        let mut request = json!({"id": self.last_id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            request["sessionId"] = json!(self.session);
        }
        let mut bytes = serde_json::to_vec(&request).expect("a request");
        bytes.push(0);
        self.requests.write_all(&bytes).expect("Chromium listens");
        loop {
            let message = self.messages.recv_timeout(PATIENCE).expect("Chromium answers");
            if message["id"] == json!(self.last_id) {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.remember(&message);
        }
    }

    fn remember(&mut self, message: &Value) {
        let about = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(about["exceptionDetails"].to_string()),
            Some("Runtime.consoleAPICalled") => self.complaints.push(about["args"].to_string()),
            Some("Log.entryAdded") => self.complaints.push(about["entry"]["text"].to_string()),
            Some("Network.requestWillBeSent") => {
                self.requested.push(about["request"]["url"].as_str().unwrap_or_default().to_owned());
            }
            _ => {}
        }
    }
}

impl Drop for Chromium {
    /// Lets it end by itself: the processes that it started write into its folder until then.
    fn drop(&mut self) {
        let _ = self.requests.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let begin = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) && begin.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
