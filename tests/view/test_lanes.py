"""What lies beside the calls: when threads had a CPU, waits and who ended them, what has gone to totals; and a session that is still being
recorded, or whose reading isn't done."""
import json
import pathlib
import signal
import subprocess
import time

import pytest
from conftest import Begun, opened_page
from harness import Session, changed_manifest
from live import Live
from test_answers import hits_from

HERE = pathlib.Path(__file__).parent
RANDOM = "random:11:3:30000"
PATIENCE, SECOND = 60, 1_000_000_000
WAITS, READY, UNKNOWN, MANY = range(4)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    program = tmp_path_factory.mktemp("shop") / "shop"
    subprocess.run(["cc", "-g", "-O1", "-o", program, HERE / "shop.c", "-pthread"], check=True)
    return program


@pytest.fixture(scope="module")
def recorded(ada, shop, tmp_path_factory):
    output = tmp_path_factory.mktemp("recorded")
    result = ada.trace(output, [shop], "--trigger=latency=function:sell>1ms@post=1ms")
    assert result.status == 0, result.stderr.decode()
    return Session(output).path


@pytest.fixture(scope="module")
def scheduled(recorded):
    said = json.loads((recorded / "session.json").read_text())["sched"]
    if not said["recorded"]:
        pytest.skip(f"this kernel tells nothing of switches: {said['reason']}")
    return recorded


def rows(ada, path, statement):
    result = ada("query", "--format=json", path, statement)
    assert result.status == 0, result.stderr.decode()
    return json.loads(result.stdout)["rows"]


def spells(ada, path, tid, start):
    """(from, to or None, kind) of a thread by the table of switches, from the session's start."""
    found, since = [], None
    for row in rows(ada, path, f"SELECT timestamp_ns, kind FROM switches WHERE tid = {tid} ORDER BY timestamp_ns"):
        at = row["timestamp_ns"] - start
        if row["kind"] == "on" and since:
            found.append((*since[:1], at, since[1]))
            since = None
        elif row["kind"] in ("off", "preempted") and not since:
            since = (at, WAITS if row["kind"] == "off" else READY)
    return found + ([(since[0], None, since[1])] if since else [])


@pytest.mark.traces
@pytest.mark.parametrize("columns", [30, 8000])
def test_the_strip_is_what_the_switches_say(ada, serve, scheduled, columns):
    server = serve(scheduled)
    start = json.loads((scheduled / "session.json").read_text())["startNs"]
    if rows(ada, scheduled, "SELECT COUNT(*) AS n FROM switches WHERE kind = 'lost'")[0]["n"]:
        pytest.skip("records are missing on this machine")
    for number, thread in enumerate(server.facts["threads"]):
        begin, end = thread["from"], thread["to"] + 1
        told = server.ask("timeline", threads=number, columns=columns, **{"from": begin, "to": end})["threads"][0]["sched"]
        wanted = [(first, min(last or thread["to"], thread["to"]), kind) for first, last, kind in spells(ada, scheduled, thread["tid"], start)
                  if (last is None or last > begin) and first < thread["to"]]
        drawn = [tuple(told["off"][at:at + 4]) for at in range(0, len(told["off"]), 4)]
        width = (end - begin) / columns
        wide = [(first, last, kind) for first, last, kind in wanted if last - first > width + 1]
        assert wanted and set(wide) <= {each[:3] for each in drawn}
        assert sum(each[3] if each[2] == MANY else each[1] - each[0] for each in drawn) == sum(last - first for first, last, _ in wanted)
        assert all(first[1] <= second[0] for first, second in zip(drawn, drawn[1:]))


@pytest.mark.traces
def test_waits_have_those_who_ended_them(ada, serve, recorded):
    server = serve(recorded)
    start = json.loads((recorded / "session.json").read_text())["startNs"]
    told = server.ask("command", run="waits", **{"from": 0, "to": server.facts["end"]})["rows"]
    wanted = rows(ada, recorded, "SELECT * FROM waits ORDER BY end_ns - start_ns DESC LIMIT 400")
    assert sorted((row["thread"], row["seq"], row["start"] + start, row["stop"] + start, row["kind"], row["ended_by_thread"], row["ended_by_seq"])
                  for row in told) == sorted(
        (row["thread"], row["index_seq"], row["start_ns"], row["end_ns"], row["kind"], row["ended_by_thread"], row["ended_by_index_seq"])
        for row in wanted)
    ended = [row for row in told if row["ended_by_thread"] is not None]
    assert ended
    for row in ended:
        event, = rows(ada, recorded, f"SELECT * FROM events WHERE thread = {row['ended_by_thread']} AND index_seq = {row['ended_by_seq']}")
        assert (event["timestamp_ns"] - start, event["depth"], event["function"]) == (row["ended_at"], row["ended_depth"], row["ended_function"])
        assert row["start"] <= row["ended_at"] <= row["stop"]


@pytest.mark.traces
def test_arrows_lead_to_who_ended_a_wait(browser, serve, recorded):
    server = serve(recorded)
    with opened_page(browser, server.url) as page:
        page.until("return Number(document.body.dataset.arrows) > 0")
        row = max((row for row in server.ask("command", run="waits")["rows"] if row["ended_function"] == "pthread_cond_broadcast"),
                  key=lambda row: row["stop"] - row["start"])
        page.run("const { pick } = await import('./pick.js'); await pick(arguments[0], arguments[1])", row["thread"], row["seq"])
        page.until("return document.getElementById('ender')")
        assert row["ended_function"] in page.text("#waiting")
        page.until("return document.getElementById('call').dataset.of === arguments[0]", f"{row['thread']} {row['seq']}")
        page.run("document.getElementById('canvas').focus()")
        page.keys("e")
        page.until("return document.getElementById('call').dataset.of === arguments[0]", f"{row['ended_by_thread']} {row['ended_by_seq']}")
        assert page.text("#call h2") == row["ended_function"]


# What is drawn in one frame: a letter for each name on a slice, for each arrow's line and head.
STROKES = """
const { redraw } = await import("./draw.js"), wait = getComputedStyle(document.documentElement).getPropertyValue("--wait").trim();
const paint = CanvasRenderingContext2D.prototype, { fillText, stroke } = paint, done = [], frames = document.body.dataset.frames;
const probe = document.createElement("canvas").getContext("2d");
probe.strokeStyle = wait;
paint.fillText = function (...what) { done.push("n"); return fillText.apply(this, what); };
paint.stroke = function (...what) { if (this.strokeStyle === probe.strokeStyle) done.push("a"); return stroke.apply(this, what); };
redraw();
await new Promise((resolve) => { const look = () => (document.body.dataset.frames !== frames ? resolve() : requestAnimationFrame(look)); look(); });
Object.assign(paint, { fillText, stroke });
return done.join("");"""


@pytest.mark.traces
def test_no_arrow_crosses_a_name(browser, serve, recorded):
    with opened_page(browser, serve(recorded).url) as page:
        page.until("return Number(document.body.dataset.arrows) > 0")
        done = page.run(STROKES)
        assert "a" in done and "n" in done and "n" not in done[:done.rindex("a")]


@pytest.mark.traces
def test_threads_of_one_name_have_their_numbers(browser, serve, recorded):
    server = serve(recorded)
    threads = server.facts["threads"]
    assert len(threads) > 3 and len({thread["name"] for thread in threads}) == 1
    with opened_page(browser, server.url, "#thread=1&seq=0") as page:
        wanted = [f"thread {thread['number']}: {thread['name']}" for thread in threads]
        assert page.run("return [...document.querySelectorAll('#labels strong')].map((label) => label.textContent)") == wanted
        page.until("return document.getElementById('call').dataset.of")
        assert wanted[1] in page.text("#call")


def test_threads_of_their_own_names_have_those_and_of_several_processes_their_tids(browser, view):
    server = view(RANDOM)
    threads = server.facts["threads"]
    names = [thread["name"] for thread in threads]
    assert len({thread["process"] for thread in threads if names.count(thread["name"]) > 1}) > 1 and min(map(names.count, names)) == 1
    with opened_page(browser, server.url) as page:
        assert page.run("return [...document.querySelectorAll('#labels strong')].map((label) => label.textContent)") == [
            name if names.count(name) == 1 else f"tid {thread['tid']}: {name}" for name, thread in zip(names, threads)]


def test_what_has_gone_is_told(ada, browser, serve, build_dir, tmp_path):
    path = tmp_path / "session"
    subprocess.run([build_dir / "tests" / "query" / "synth", "random:8:3:60000", path], check=True)
    assert ada("pack", path).status == 0
    assert ada("pack", "--disk-limit=4K", path).status == 0
    server = serve(path)
    told = server.ask("timeline", threads="0,1,2", columns=100, **{"from": 0, "to": server.facts["end"]})["threads"]
    gone = [thread["aged"] for thread in told if "aged" in thread]
    assert gone and all(first <= last for first, last, _ in gone)
    assert sum(events for _, _, events in gone) == server.facts["aged"] > 0 and not server.facts["complete"]
    for thread in told:
        if "aged" in thread and server.facts["threads"][thread["thread"]]["events"]:
            assert thread["aged"][1] <= server.facts["threads"][thread["thread"]]["from"]
    with opened_page(browser, server.url) as page:
        assert "have gone" in page.text("#losses")


def test_what_newer_events_replaced_is_no_loss(ada, browser, serve, session, tmp_path):
    server = serve(changed_manifest(session("lossy"), tmp_path / "session", lambda told: told["threads"][0].update(overwritten=12)))
    thread, = server.ask("timeline", threads="0", columns=100, **{"from": 0, "to": server.facts["end"]})["threads"]
    assert thread["losses"] == [] and thread["aged"][0] == 0 < thread["aged"][1] and thread["aged"][2:] == [12, 1]
    with opened_page(browser, server.url) as page:
        assert "12 older ones overwritten" in page.text("#losses") and "lost" not in page.text("#losses")


# --- a session that goes on ---------------------------------------------------------------------------------------------------


@pytest.fixture
def live(ada, shop, tmp_path):
    recording = Live(ada, tmp_path, [shop, "live"])
    yield recording
    recording.close()


def until(true):
    end = time.monotonic() + PATIENCE
    while not (value := true()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return value


@pytest.mark.traces
def test_what_is_open_lasts_until_now(serve, live):
    """A program that waits makes no events, and its time goes on all the same."""
    server = serve(live.session)
    first = until(lambda: (told := server.ask("session"))["read"] and told)
    now = until(lambda: (told := server.ask("session"))["end"] > first["end"] + 1000000000 and told)
    assert now["live"]
    picture = server.ask("timeline", threads="0", columns=50, **{"from": 0, "to": now["end"]})
    slices = picture["threads"][0]["slices"]
    main = next(slices[at:at + 8] for at in range(0, len(slices), 8) if picture["functions"][slices[at + 4]][0] == "main")
    assert main[2] + main[3] >= now["end"]
    assert json.loads(server.get("command", run="report")[1])["rows"]


@pytest.mark.traces
def test_a_session_that_is_recorded_comes_in(ada, browser, serve, live):
    live.tell("open\n")
    server = serve(live.session)
    assert server.facts["live"]
    until(lambda: server.ask("session")["read"] > 1000)
    with opened_page(browser, server.url) as page:
        before = page.run("return (await import('./state.js')).state.session.events")
        picked = page.run("const { pick } = await import('./pick.js'), { state } = await import('./state.js'); await pick(0, 0);"
                          "return state.picked.thread")
        assert picked == 0
        page.run("(await import('./state.js')).change({ find: '=sell' })")
        page.until("return document.getElementById('found').dataset.of === '=sell'")
        page.click("#hit-next")
        page.until("return document.querySelector('#call h2')?.innerText === 'sell'")
        live.tell("open\n")
        page.until("const { state } = await import('./state.js'); return state.session.events > arguments[0] + 1000 && "
                   "state.session.threads.filter((each) => each.events).length >= 7", before)
        assert server.ask("session")["live"]
        live.end()
        page.until("const { state } = await import('./state.js'); return !state.session.live && state.session.state === 'ready'")
        assert "nothing lost" in page.text("#losses")
    facts = until(lambda: (told := server.ask("session"))["counted"] and told)
    result = json.loads(ada("report", "--format=json", live.session).stdout)
    assert facts["events"] == facts["read"] == result["completeness"]["events"]
    sells = next(row for row in result["rows"] if row["function"] == "sell")["calls"]
    assert server.ask("search", function="sell", **{"from": 0, "to": facts["end"]})["functions"][0]["calls"] == sells == 480
    assert len(hits_from(server, {"function": "=sell"}, 1, {"time": 0})[0]) == sells
    picture = server.ask("timeline", threads=",".join(map(str, range(len(facts["threads"])))), columns=50, **{"from": 0, "to": facts["end"] + 1})
    assert sum(thread["slices"][at + 5] for thread in picture["threads"] for at in range(0, len(thread["slices"]), 8)) == \
        sum(row["calls"] for row in result["rows"])


@pytest.fixture
def fast(ada, tmp_path):
    subprocess.run(["cc", "-g", "-O1", "-o", tmp_path / "fast", HERE / "fast.c"], check=True)
    recording = Live(ada, tmp_path, [tmp_path / "fast"])
    yield recording
    recording.close()


def newest_call(server, facts):
    """When the newest call of the last second began that a picture has; None: it has none."""
    thread, = server.ask("timeline", threads=0, columns=500, **{"from": max(0, facts["end"] - SECOND), "to": facts["end"] + 1})["threads"]
    return max((thread["slices"][at + 2] for at in range(0, len(thread["slices"]), 8) if thread["slices"][at]), default=None)


@pytest.mark.traces
def test_the_newest_is_shown_while_a_backlog_is_read(ada, fast):
    """Of a program that makes millions of events a second, and has for a while: each time the session has grown its last second has calls."""
    before = Begun(ada, fast.session)
    try:
        until(lambda: before.ask("session")["events"] > 20_000_000)
    finally:
        before.end(signal.SIGKILL)
    server = Begun(ada, fast.session)
    try:
        first = server.ask("session")
        assert first["read"] < first["events"] // 2
        for _ in range(4):
            at = until(lambda: newest_call(server, server.ask("session")))
            facts = until(lambda at=at: (told := server.ask("session"))["live"] and told["end"] > at + SECOND // 2 and told)
        print(f"{facts['events']} events, {facts['read']} of them read: calls until {(facts['end'] - at) / 1e9:.2f} s before")
        assert facts["events"] > first["events"]
        told = until(lambda: (said := server.ask("search", function="leaf", **{"from": 0, "to": facts["end"]}))["functions"] and said)
        assert told["functions"][0]["function"] == "leaf"
    finally:
        server.end(signal.SIGKILL)
