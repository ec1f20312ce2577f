"""A server of `ada view`, asked as its page asks it; and a browser with its page."""
import contextlib
import importlib.util
import json
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

WAITS_S = 60        # src/cli/view/command.c: what a query of waits may take


class View:
    """A running `ada view`."""

    def __init__(self, ada, path, *options):
        self.process = subprocess.Popen([ada.path, "view", "--no-browser", *options, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.url = self.process.stdout.readline().decode().strip()
        assert self.url, self.process.stderr.read().decode()
        while not (facts := self.ask("session"))["counted"] and facts["state"] != "failed":
            time.sleep(0.01)
        assert facts["state"] == "ready", facts
        self.facts = facts

    def get(self, path="", url=None, method="GET", headers=None, **parameters):
        """Status and body, whatever the status."""
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        request = urllib.request.Request((url or self.url) + path + query, headers=headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read(), error.headers

    def ask(self, path, **parameters):
        """As the page does: while the session is being read, again."""
        end = time.monotonic() + 60
        while (answer := self.get(path, **parameters))[0] == 202 and time.monotonic() < end:
            time.sleep(0.02)
        status, body, _ = answer
        assert status == 200, (status, body)
        return json.loads(body)

    def end(self, number=signal.SIGINT):
        """The exit status, after a signal."""
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode


class Begun(View):
    """A server that has only just begun."""

    def __init__(self, ada, path):
        self.process = subprocess.Popen([ada.path, "view", "--no-browser", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.url = self.process.stdout.readline().decode().strip()


@pytest.fixture(scope="session")
def view(ada, session):
    """view(SCENARIO): a server of its session, shared by all tests."""
    made = {}

    def serve(scenario):
        if scenario not in made:
            made[scenario] = View(ada, session(scenario))
        return made[scenario]
    yield serve
    for server in made.values():
        assert server.end() == 0


@pytest.fixture
def serve(ada):
    """serve(PATH, OPTION...): a server of the test's own."""
    made = []

    def start(path, *options):
        made.append(View(ada, path, *options))
        return made[-1]
    yield start
    for server in made:
        server.process.kill()
        server.process.communicate()


def needs_browser():
    if not shutil.which("chromedriver") or not shutil.which("chromium") or not importlib.util.find_spec("selenium"):
        pytest.skip("needs chromium, chromium-driver and python3-selenium")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    needs_browser()
    from browser import Browser
    started = Browser(tmp_path_factory.mktemp("browser"))
    yield started
    started.close()


@contextlib.contextmanager
def opened_page(browser, url, place=""):
    """The page, painted. At the end it may have complained of nothing, and have asked its server alone."""
    browser.open(url + place)
    with painted_page(browser, url) as page:
        yield page


@contextlib.contextmanager
def painted_page(browser, url):
    """As opened_page, of a page that has been opened. On a full machine waits may take longer than the server lets them: it says so, and the
    page has no arrows then."""
    begun = time.monotonic()
    browser.until("return document.body.dataset.ready && document.body.dataset.pictures")
    try:
        yield browser
    except BaseException:
        browser.leave()
        browser.logged()
        browser.requests.clear()
        browser.complaints.clear()
        raise
    browser.leave()        # what it asks until it is left is its own, not the next page's
    complaints = [said for said in browser.logged() if "command?run=waits&" not in said or time.monotonic() - begun < WAITS_S]
    browser.complaints.clear()
    assert complaints == []
    strangers = [asked for asked in browser.requests if not asked.startswith(url) and not asked.startswith(("about:", "data:"))]
    browser.requests.clear()
    assert strangers == []
