"""A browser without a window, driven by Selenium: Debian's chromium, chromium-driver and python3-selenium."""
import contextlib
import json
import os
import re
import signal
import subprocess
import time

from selenium.webdriver import ChromeOptions, Remote
from selenium.webdriver.chromium.remote_connection import ChromiumRemoteConnection
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.command import Command

ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
             "--disable-component-update", "--disable-extensions", "--no-first-run", "--force-device-scale-factor=1", "--window-size=1500,900"]
PATIENCE = 60           # seconds: a loaded machine


class Browser:
    """One chromium. What its page logs and asks for is kept."""

    def __init__(self, profile):
        # Both are started here: each would look for the other at "localhost", a name that a bare system doesn't know.
        self.chromium = subprocess.Popen(["chromium", *ARGUMENTS, "--remote-debugging-port=0", f"--user-data-dir={profile}/profile", "about:blank"],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                         env={**os.environ, "HOME": str(profile)})
        self.server = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                                       env={**os.environ, "HOME": str(profile)})
        for line in self.server.stdout:
            if port := re.search(rb"started successfully on port (\d+)", line):
                break
        else:
            raise RuntimeError("chromedriver did not start")
        options = ChromeOptions()
        options.debugger_address = f"127.0.0.1:{self.debugging_port(profile)}"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        connection = ChromiumRemoteConnection(f"http://127.0.0.1:{int(port[1])}", "goog", "chrome", ignore_proxy=True)
        connection.set_timeout(PATIENCE * 2)
        self.driver = Remote(connection, options=options)
        self.requests, self.complaints = [], []
        self.leave()            # what chromium begins with asks for its own pages
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

    def tools(self, command, **parameters):
        """A command of the protocol of chromium's developer tools."""
        return self.driver.execute("executeCdpCommand", {"cmd": command, "params": parameters})["value"]

    @contextlib.contextmanager
    def beforehand(self, script):
        """Pages that are opened meanwhile run this before their own scripts."""
        name = self.tools("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]
        try:
            yield
        finally:
            self.tools("Page.removeScriptToEvaluateOnNewDocument", identifier=name)

    def leave(self):
        """The page that is open ends."""
        self.driver.get("about:blank")

    def open(self, url):
        self.leave()
        self.tools("Page.resetNavigationHistory")       # it holds 50 pages at most
        self.driver.get(url)

    def size(self, width, height):
        self.driver.set_window_size(width, height)

    def run(self, script, *arguments):
        """The value that a function's body returns."""
        return self.driver.execute_script(script, *arguments)

    def until(self, script, *arguments):
        """Waits until the body returns something true, and returns that."""
        end = time.monotonic() + PATIENCE
        while not (value := self.run(script, *arguments)):
            assert time.monotonic() < end, f"never true: {script}: {self.logged()}"
            time.sleep(0.02)
        return value

    def click(self, selector):
        self.driver.find_element(By.CSS_SELECTOR, selector).click()

    def type(self, selector, text):
        self.driver.find_element(By.CSS_SELECTOR, selector).send_keys(text)

    def act(self, kind, name, actions):
        """WebDriver's actions as they stand: Selenium's chains of them move the pointer first, and take their time."""
        self.driver.execute(Command.W3C_ACTIONS, {"actions": [{"type": kind, "id": name, "actions": list(actions)}]})

    def keys(self, *keys):
        """Presses keys one after another, in what has the focus."""
        self.act("key", "keyboard", ({"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")))

    def chord(self, *keys):
        """Presses keys together."""
        self.act("key", "keyboard", [{"type": "keyDown", "value": key} for key in keys] + [{"type": "keyUp", "value": key} for key in reversed(keys)])

    def pointer(self, *actions):
        self.act("pointer", "mouse", actions)

    def wheel(self, x, y, by):
        self.act("wheel", "wheel", [{"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": by, "duration": 0}])

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def logged(self):
        """What the page complained of so far; and notes what it asked for."""
        self.complaints += [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
        return self.complaints

    def screenshot(self, path):
        path.write_bytes(self.driver.get_screenshot_as_png())

    def close(self):
        try:
            self.driver.quit()
        finally:
            for process in (self.server, self.chromium):
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
