"""The page of a session of a hundred million events: it paints before all is read, what was found is kept for the next time, and the memory has
a bound. Prints what each step took.

The session is a recording (many.c), packed, which takes seconds to make and some 30 MB of disk. The plain one has five million events, made
up; `make soak` unpacks the recording for it, which takes 3.2 GB."""
import gzip
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time

import pytest
from conftest import Begun, opened_page
from harness import Session

HERE = pathlib.Path(__file__).parent
MEMORY_KB, PAGE_BYTES = 512 * 1024, 400_000
EVENTS = 100_000_000
COLUMNS, DEPTHS = 1800, 14          # as the page asks: half as much again as a picture of 1200 pixels
STEP = 2 ** 0.75                    # from one width to the next


@pytest.fixture(scope="module")
def recorded(ada, tmp_path_factory):
    place = tmp_path_factory.mktemp("long")
    subprocess.run(["cc", "-O1", "-g", "-o", place / "many", HERE / "many.c"], check=True)
    result = ada.trace(place / "output", [place / "many", str(EVENTS)], "--pack=always", "--on-full=block", "--detail=off")
    assert result.status == 0, result.stderr.decode()
    yield Session(place / "output").path
    shutil.rmtree(place)


@pytest.fixture
def plain(ada, build_dir, pytestconfig, tmp_path, request):
    path = tmp_path / "session"
    if pytestconfig.getoption("--all-variants"):
        shutil.copytree(request.getfixturevalue("recorded"), path)
        assert ada("unpack", path).status == 0
    else:
        subprocess.run([build_dir / "tests" / "query" / "synth", "random:4:1:5000000", path, "/dev/null"], check=True)
    yield path
    shutil.rmtree(path)


def most_memory_kb(process):
    with open(f"/proc/{process.pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1])


def page_weight(server, page):
    """Of all that the page is made of, gzipped."""
    files = page.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    own = {name.removeprefix(server.url) for name in files if "?" not in name and not name.endswith("/session")}
    assert "main.js" in own and "style.css" in own
    return sum(len(gzip.compress(server.get(name)[1])) for name in {"", *own})


def zooms_in_the_page(page):
    """Milliseconds until the page had what it asked for, and of a frame (median): twelve steps in, and fifty frames."""
    return page.run("""
const { answer, pictures } = await import("./timeline.js"), input = await import("./input.js"), answers = [], frames = [];
const until = (true_) => new Promise((resolve) => { const look = () => (true_() ? resolve() : requestAnimationFrame(look)); look(); });
for (let step = 0; step < 12; step++) {
  const before = document.body.dataset.pictures;
  input.zoom(0.3);
  await until(() => document.body.dataset.pictures !== before);
  answers.push(answer.milliseconds);
}
for (let i = 0; i < 50; i++) {
  const begun = performance.now(), before = document.body.dataset.frames;
  input.zoom(i % 2 ? 1.1 : 0.9);
  await until(() => document.body.dataset.frames !== before);
  frames.push(performance.now() - begun);
}
return [Math.max(...answers), frames.sort((a, b) => a - b)[25]];""")


def first_picture(browser, ada, path):
    """The server, once all is read and counted; what was painted first, and after how long."""
    begun = time.monotonic()
    server = Begun(ada, path)
    try:
        with opened_page(browser, server.url) as page:
            painted = time.monotonic() - begun
            while server.ask("session")["state"] == "reading":      # a minute, where others have the processors
                time.sleep(0.1)
            page.until("return (await import('./state.js')).state.session.state === 'ready'")
            whole, weight = time.monotonic() - begun, page_weight(server, page)
            answered, frame = zooms_in_the_page(page)
    except BaseException:
        server.end(signal.SIGKILL)
        raise
    print(f"\nfirst picture {painted:.2f} s after `ada view`, all read after {whole:.2f} s; the page weighs {weight} bytes; "
          f"it had each zoom within {answered:.0f} ms, a frame takes {frame:.1f} ms")
    assert weight < PAGE_BYTES
    while not server.ask("session")["counted"]:
        time.sleep(0.02)
    return server


def zooms(server):
    """At each width from all to a few events, wherever: what was asked and answered, and how long each answer took, asked a second time."""
    end, some, asked = server.ask("session")["end"], random.Random(5), []
    width = end
    while width > 1000:
        for _ in range(3):
            first = some.randrange(max(1, int(end - width)))
            asked.append({"from": first, "to": first + int(width), "columns": COLUMNS, "depths": DEPTHS, "threads": 0})
        width /= STEP
    pictures, took = [], []
    for question in asked:
        server.ask("timeline", **question)
        begun = time.monotonic()
        pictures.append((question, server.get("timeline", **question)[1]))
        took.append((time.monotonic() - begun, question["to"] - question["from"]))
    worst, width = max(took)
    print(f"{len(took)} zooms at all widths: {sorted(took)[len(took) // 2][0] * 1000:.0f} ms (median), {worst * 1000:.0f} at most, of "
          f"{width / 1e6:.3f} ms of {end / 1e6:.0f}")
    return pictures


def forget(path):
    """What is in the page cache of it goes, so that it is read from the disk as after a reboot."""
    for file in (file for file in path.rglob("*") if file.is_file()):
        with open(file, "rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_ahead(server, facts):
    """Zooms far behind what is read so far, asked until nothing of them is only counted: calls, by width, and whether all was read by then."""
    found = []
    for width in (facts["end"] // 1000, facts["end"] // 100000):
        place = {"from": facts["end"] * 9 // 10, "to": facts["end"] * 9 // 10 + width}
        begun, asked = time.monotonic(), 0
        while not asked or sum(thread.get("unread", {"events": []})["events"]):
            thread, = server.ask("timeline", columns=COLUMNS, depths=DEPTHS, threads=0, **place)["threads"]
            asked += 1
        print(f"zoom to {width / 1e6:.3f} ms: all its calls after {time.monotonic() - begun:.2f} s, {asked} answers")
        found.append((place, sum(thread["slices"][5::8]), "unread" in thread))
    return found


def first_answer(ada, path):
    """Of a session of which nothing is kept: a picture that waits for no reading, and says what of it is only counted so far. What is looked
    at is read first."""
    begun = time.monotonic()
    server = Begun(ada, path)
    try:
        facts = server.ask("session")
        thread, = server.ask("timeline", **{"from": 0, "to": facts["end"], "columns": COLUMNS, "depths": DEPTHS, "threads": 0})["threads"]
        print(f"\nfirst answer {time.monotonic() - begun:.2f} s after `ada view`, cold, {facts['read']} events read")
        assert facts["state"] == "reading" and facts["read"] < facts["events"]
        asked = server.get("search", function="work", columns=COLUMNS, **{"from": 0, "to": facts["end"]})
        assert asked[:2] == (202, b"the session is being read"), asked      # of an error a browser would tell in its console
        assert sum(thread["unread"]["events"]) > EVENTS // 2
        assert thread["slices"] and thread["unread"]["ahead"]       # some calls all over it
        ahead = read_ahead(server, facts)
        assert ahead[0][2]
        while server.ask("session")["state"] == "reading":
            time.sleep(0.1)
        for place, calls, _ in ahead:
            thread, = server.ask("timeline", columns=COLUMNS, depths=DEPTHS, threads=0, **place)["threads"]
            assert "unread" not in thread and abs(sum(thread["slices"][5::8]) - calls) <= DEPTHS * 2
    finally:
        server.end(signal.SIGKILL)
        for kept in path.glob("pid_*/thread_*/view.zoom"):
            kept.unlink()


def hits_of_a_rare_function(server):
    """Each call of it, forwards and backwards."""
    took, found = [], []
    for step, at in ((1, {"time": 0}), (-1, {"time": server.ask("session")["end"] + 1})):
        found.append([])
        while True:
            begun = time.monotonic()
            told = server.ask("hit", function="=rare", step=step, **at)
            took.append(time.monotonic() - begun)
            if hit := told["hit"]:
                found[-1].append(hit["seq"])
                at = {"time": hit["at"], "thread": hit["thread"], "seq": hit["seq"]}
            elif "looked" in told:
                at = {"time": told["looked"]}
            else:
                break
    print(f"{len(found[0])} hits of a rare function: {sorted(took)[len(took) // 2] * 1000:.0f} ms (median), {max(took) * 1000:.0f} at most")
    assert found[0] == found[1][::-1]
    return len(found[0])


def check_long_session(ada, browser, path):
    kept = path.glob("pid_*/thread_*/view.zoom")
    assert not list(path.glob("pid_*/thread_*/view.zoom"))
    forget(path)
    server = first_picture(browser, ada, path)
    pictures, memory = zooms(server), most_memory_kb(server.process)
    events = server.ask("session")["events"]
    assert server.end() == 0
    file, = kept
    print(f"{events} events: {memory // 1024} MB at most; view.zoom {file.stat().st_size >> 20} MB; again:")
    limit = MEMORY_KB * (2 if ada.sanitized else 1)     # a sanitizer keeps what was freed
    assert memory < limit
    server = first_picture(browser, ada, path)
    try:
        assert all(server.get("timeline", **asked)[1] == picture for asked, picture in pictures)
        memory = most_memory_kb(server.process)
        rare = server.ask("search", function="=rare")["functions"]
        assert hits_of_a_rare_function(server) == (rare[0]["calls"] if rare else 0)
    finally:
        server.end()
    print(f"{memory // 1024} MB at most")
    assert memory < limit
    return events


@pytest.mark.traces
def test_a_hundred_million_events(ada, browser, recorded):
    forget(recorded)
    first_answer(ada, recorded)
    assert check_long_session(ada, browser, recorded) >= EVENTS


def test_a_long_session(ada, browser, plain):
    check_long_session(ada, browser, plain)
