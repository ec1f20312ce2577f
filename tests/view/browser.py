"""A browser without a window, driven by WebDriver: Debian's chromium and chromium-driver, and nothing beside them."""
import base64
import contextlib
import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"         # the name that the WebDriver standard gives a reference
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
             "--disable-component-update", "--disable-extensions", "--no-first-run", "--force-device-scale-factor=1", "--window-size=1500,900"]
PATIENCE = 60           # seconds: a loaded machine


class Browser:
    """One chromium. What its page logs and asks for is kept."""

    def __init__(self, profile):
        # Started here: chromedriver would look for its own at "localhost", a name that a bare system doesn't know.
        self.chromium = subprocess.Popen(["chromium", *ARGUMENTS, "--remote-debugging-port=0", f"--user-data-dir={profile}/profile", "about:blank"],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                         env={**os.environ, "HOME": str(profile)})
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                                       env={**os.environ, "HOME": str(profile)})
        for line in self.driver.stdout:
            if port := re.search(rb"started successfully on port (\d+)", line):
                break
        else:
            raise RuntimeError("chromedriver did not start")
        self.root = f"http://127.0.0.1:{int(port[1])}/session"
        self.root += "/" + self.call("POST", "", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"debuggerAddress": f"127.0.0.1:{self.debugging_port(profile)}"},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})["sessionId"]
        self.requests, self.complaints = [], []
        self.call("POST", "/url", {"url": "about:blank"})       # what chromium begins with asks for its own pages
        self.logged()
        self.requests.clear()

    def debugging_port(self, profile):
        """Chromium writes it into its profile."""
        end = time.monotonic() + PATIENCE
        place = profile / "profile" / "DevToolsActivePort"
        while not place.exists() or len(place.read_text().split()) < 2:
            assert self.chromium.poll() is None and time.monotonic() < end, "chromium did not start"
            time.sleep(0.02)
        return int(place.read_text().split()[0])

    def call(self, method, path, body=None):
        data = None if method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.root + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE * 2) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path} {body}: {error.read().decode()[:2000]}") from error

    @contextlib.contextmanager
    def beforehand(self, script):
        """Pages that are opened meanwhile run this before their own scripts."""
        name = self.call("POST", "/goog/cdp/execute", {"cmd": "Page.addScriptToEvaluateOnNewDocument", "params": {"source": script}})["identifier"]
        try:
            yield
        finally:
            self.call("POST", "/goog/cdp/execute", {"cmd": "Page.removeScriptToEvaluateOnNewDocument", "params": {"identifier": name}})

    def open(self, url):
        self.call("POST", "/url", {"url": "about:blank"})
        self.call("POST", "/goog/cdp/execute", {"cmd": "Page.resetNavigationHistory", "params": {}})    # it holds 50 pages at most
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """The value that a function's body returns."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def until(self, script, *arguments):
        """Waits until the body returns something true, and returns that."""
        end = time.monotonic() + PATIENCE
        while not (value := self.run(script, *arguments)):
            assert time.monotonic() < end, f"never true: {script}: {self.logged()}"
            time.sleep(0.02)
        return value

    def find(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.call("POST", f"/element/{self.find(selector)}/click")

    def type(self, selector, text):
        self.call("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def keys(self, *keys):
        """Presses keys one after another, in what has the focus."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def pointer(self, *actions):
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": list(actions)}]})

    def wheel(self, x, y, by):
        self.call("POST", "/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": by, "duration": 0}]}]})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def logged(self):
        """What the page complained of so far; and notes what it asked for."""
        self.complaints += [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})
                            if entry["level"] in ("SEVERE", "WARNING")]
        for entry in self.call("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
        return self.complaints

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            for process in (self.driver, self.chromium):
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
