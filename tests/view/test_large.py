"""The page of a long session: it paints before all is read, what was found is kept for the next time, and the memory has a bound. Prints what
each step took: `make soak` asks it of 100 million events."""
import random
import re
import subprocess
import time

import pytest
from conftest import View, opened_page

MEMORY_KB = 512 * 1024


@pytest.fixture(scope="module")
def long_session(build_dir, pytestconfig, tmp_path_factory):
    events = 100_000_000 if pytestconfig.getoption("--all-variants") else 5_000_000
    path = tmp_path_factory.mktemp("long") / "session"
    subprocess.run([build_dir / "tests" / "query" / "synth", f"random:4:1:{events}", path, "/dev/null"], check=True)
    yield path
    subprocess.run(["rm", "-rf", path.parent], check=True)


def most_memory_kb(process):
    with open(f"/proc/{process.pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1])


class Begun(View):
    """A server that has only just begun."""

    def __init__(self, ada, path):
        self.process = subprocess.Popen([ada.path, "view", "--no-browser", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.url = self.process.stdout.readline().decode().strip()


def first_picture(browser, ada, path):
    """The server, once all is read and counted; what was painted first, and after how long."""
    begun = time.monotonic()
    server = Begun(ada, path)
    with opened_page(browser, server.url) as page:
        painted = time.monotonic() - begun
        page.until("return (await import('./state.js')).state.session.state === 'ready'")
        whole = time.monotonic() - begun
    while not server.ask("session")["counted"]:
        time.sleep(0.02)
    return server, painted, whole


def test_a_long_session(ada, browser, long_session):
    kept = long_session.glob("pid_*/thread_*/view.zoom")
    server, painted, whole = first_picture(browser, ada, long_session)
    facts, some, took, pictures = server.ask("session"), random.Random(5), [], []
    for _ in range(60):
        first = some.randrange(facts["end"])
        asked = {"from": first, "to": first + 1 + int((facts["end"] - first) * some.random() ** 4), "columns": 1500, "threads": 0}
        server.ask("timeline", **asked)
        begun = time.monotonic()
        pictures.append((asked, server.get("timeline", **asked)[1]))
        took.append(time.monotonic() - begun)
    memory = most_memory_kb(server.process)
    assert server.end() == 0
    file, = kept
    print(f"\n{facts['events']} events: first picture after {painted:.2f} s, all read after {whole:.2f} s; a zoom {sorted(took)[30] * 1000:.0f} ms, "
          f"{max(took) * 1000:.0f} at most; {memory // 1024} MB; view.zoom {file.stat().st_size >> 20} MB")
    assert memory < MEMORY_KB
    server, painted, whole = first_picture(browser, ada, long_session)
    try:
        assert all(server.get("timeline", **asked)[1] == picture for asked, picture in pictures)
        memory = most_memory_kb(server.process)
    finally:
        server.end()
    print(f"again: first picture after {painted:.2f} s, all there after {whole:.2f} s; {memory // 1024} MB")
    assert memory < MEMORY_KB
