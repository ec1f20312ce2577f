"""Each part of the page in a browser: what is painted vanishes where its data does, and what can be clicked leads where it says."""
import json
import os
import pathlib
import subprocess
import time

import pytest
from conftest import opened_page
from harness import Session

HERE = pathlib.Path(__file__).parent
RANDOM = "random:11:3:30000"
PATIENCE = 60
ESCAPE = "\ue00c"

# How many pixels of the canvas change where some of what it is painted from is taken away.
WITHOUT = """
const { state } = await import("./state.js"), { redraw, hits } = await import("./draw.js"), { pictures } = await import("./timeline.js");
const canvas = document.getElementById("canvas");
async function painted() {
  const frames = document.body.dataset.frames;
  redraw();
  await new Promise((resolve) => { const look = () => (document.body.dataset.frames !== frames ? resolve() : requestAnimationFrame(look)); look(); });
  const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
  const paint = copy.getContext("2d", { willReadFrequently: true });
  paint.drawImage(canvas, 0, 0);
  return paint.getImageData(0, 0, canvas.width, canvas.height).data;
}
const clear = {
  windows: () => { state.session.windows = []; },
  marks: () => { for (const window of state.session.windows) window.marks = []; },
  picked: () => { state.picked = null; },
  hits: () => hits.threads.clear(),
};
const before = await painted();
if (clear[arguments[0]]) clear[arguments[0]]();
else for (const picture of pictures.values()) picture[arguments[0]] = arguments[0] === "order" ? [] : undefined;
const after = await painted();
let changed = 0;
for (let at = 0; at < before.length; at += 4) changed += before[at] !== after[at] || before[at + 1] !== after[at + 1] || before[at + 2] !== after[at + 2];
return changed;
"""


@pytest.fixture(scope="module")
def shop(ada, tmp_path_factory):
    """shop(TIMES): a recording of the shop that opens so often."""
    place, made = tmp_path_factory.mktemp("parts"), {}
    subprocess.run(["cc", "-g", "-O1", "-o", place / "shop", HERE / "shop.c", "-pthread"], check=True)

    def record(times):
        if times not in made:
            output = place / str(times)
            (place / "input").write_text("open\n" * times)
            with open(place / "input") as lines:
                result = ada.trace(output, [place / "shop", "often"], "--trigger=latency=function:sell>1ms@post=1ms", stdin=lines)
            assert result.status == 0, result.stderr.decode()
            made[times] = Session(output).path
        return made[times]
    return record


def aged(ada, build_dir, path):
    subprocess.run([build_dir / "tests" / "query" / "synth", "random:8:3:60000", path], check=True)
    for options in ([], ["--disk-limit=4K"]):
        assert ada("pack", *options, path).status == 0
    return path


@pytest.mark.parametrize("scenario, part", [
    ("story", "order"), ("story", "windows"), ("story", "marks"), ("story", "picked"), ("lossy", "losses"), (RANDOM, "hits"),
])
def test_what_is_known_is_painted(browser, view, scenario, part):
    with opened_page(browser, view(scenario).url, "#thread=0&seq=0" if part == "picked" else "#find=malloc" if part == "hits" else "") as page:
        if part == "picked":
            page.until("return document.getElementById('call').dataset.of")
        if part == "hits":
            page.until("return document.getElementById('found').dataset.of === 'malloc'")
        page.until("return Number(document.body.dataset.frames) > 0")
        assert page.run(WITHOUT, part) > 10


def test_what_has_gone_is_painted(ada, browser, serve, build_dir, tmp_path):
    with opened_page(browser, serve(aged(ada, build_dir, tmp_path / "session")).url) as page:
        assert page.run(WITHOUT, "aged") > 10


@pytest.mark.traces
def test_the_cpu_of_a_thread_is_painted(browser, serve, shop):
    said = json.loads((shop(1) / "session.json").read_text())["sched"]
    if not said["recorded"]:
        pytest.skip(f"this kernel tells nothing of switches: {said['reason']}")
    with opened_page(browser, serve(shop(1)).url) as page:
        assert page.run(WITHOUT, "sched") > 100


def test_both_strips_are_painted_and_follow_the_view(browser, view):
    image = "return document.querySelector(arguments[0] + ' canvas').toDataURL()"
    blank = ("const canvas = document.querySelector(arguments[0] + ' canvas'), empty = document.createElement('canvas');"
             "Object.assign(empty, { width: canvas.width, height: canvas.height }); return empty.toDataURL()")
    with opened_page(browser, view(RANDOM).url) as page:
        for strip in ("#density", "#latency"):
            before = page.run(image, strip)
            assert before != page.run(blank, strip)
            drawn = page.run("return document.body.dataset.pictures")
            page.run("document.getElementById('canvas').focus()")
            page.keys("w")
            page.until("return document.body.dataset.pictures !== arguments[0]", drawn)
            page.until("return document.querySelector(arguments[0] + ' canvas').toDataURL() !== arguments[1]", strip, before)


def test_both_strips_lie_over_the_timeline(browser, view):
    """Also where a bar to scroll by takes some of its width."""
    place = ("const of = (one) => { const { left, right } = one.getBoundingClientRect(); return [Math.round(left), Math.round(right)]; };"
             "const canvas = document.getElementById('canvas');"
             "return [[canvas.clientWidth], of(canvas), ...[...document.querySelectorAll('.strip .u-over')].map(of)]")
    with opened_page(browser, view(RANDOM).url) as page:
        page.until("return document.body.dataset.pictures")
        (wide,), canvas, *strips = page.run(place)
        assert len(strips) == 2 and all(strip == canvas for strip in strips), (canvas, strips)
        page.run("document.getElementById('canvas').parentElement.style.paddingRight = '15px'")
        page.until(f"return document.getElementById('canvas').clientWidth < {wide}")
        page.until("const right = (one) => Math.round(one.getBoundingClientRect().right), canvas = document.getElementById('canvas');"
                   "return [...document.querySelectorAll('.strip .u-over')].every((one) => right(one) === right(canvas))")


def test_the_longest_calls_are_labelled_with_their_times(browser, view):
    """uPlot asks for the label of null where a logarithmic scale has no room for one."""
    said = """
const paint = CanvasRenderingContext2D.prototype, { fillText } = paint, said = [];
paint.fillText = function (text, ...rest) { if (this.canvas.closest("#latency")) said.push(String(text)); return fillText.call(this, text, ...rest); };
const { stripsMake } = await import("./strips.js");
stripsMake();
await new Promise((resolve) => setTimeout(resolve));
paint.fillText = fillText;
return said.filter((text) => text !== "longest");"""
    with opened_page(browser, view(RANDOM).url) as page:
        page.until("return document.body.dataset.pictures")
        labels = [text for text in page.run(said) if text]
    assert labels
    assert set(labels) <= {"1 ns", "1.00 us", "1.00 ms", "1.00 s", "1000 s"}


def test_a_flag_says_its_rule_and_leads_to_its_event(browser, view):
    server = view("story")
    with opened_page(browser, server.url) as page:
        page.click("#windows option[value='0']")
        page.until("return location.hash.includes('from=')")
        place = """
const { state } = await import("./state.js"), { xOf } = await import("./draw.js"), { layout } = await import("./timeline.js");
const mark = state.session.windows.flatMap((window) => window.marks).find((each) => each.seq !== undefined);
const lane = layout.threads.find((each) => each.index === mark.thread), box = document.getElementById("canvas").getBoundingClientRect();
return { x: Math.round(box.left + xOf(mark.at) + 3), y: Math.round(box.top + lane.top + 6), said: mark.rule || mark.kind, thread: mark.thread, seq: mark.seq };"""
        page.until("const { pictures } = await import('./timeline.js'); return pictures.size > 0")
        mark = page.run(place)
        page.pointer({"type": "pointerMove", "x": mark["x"], "y": mark["y"]})
        page.until("return document.getElementById('status').innerText.includes(arguments[0])", f"by {mark['said']}")
        page.pointer({"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})
        page.until("return document.getElementById('call').dataset.of === arguments[0]",
                   f"{mark['thread']} {server.ask('call', thread=mark['thread'], seq=mark['seq'])['seq']}")


def test_a_window_is_chosen_by_a_click(browser, view):
    """In the head of the page for the timeline, beside it for flame graph, report and narrative."""
    server = view("story")
    window, = server.facts["windows"]
    with opened_page(browser, server.url) as page:
        page.click("#windows option[value='0']")
        page.until("const { state } = await import('./state.js'); return state.to - state.from < 2 * (arguments[1] - arguments[0]) && "
                   "state.from <= arguments[0] && state.to >= arguments[1]", window["from"], window["to"])
        page.click("#windows option[value='']")
        page.until("const { state } = await import('./state.js'); return state.from < 0 && state.to > state.session.end")
        page.click("#tab-report")
        page.click("#of option[value='0']")
        for tab in ("report", "flame", "narrative"):
            page.click(f"#tab-{tab}")
            page.until("return document.getElementById(arguments[0]).dataset.of === 'window 0'", tab)
        rows = server.ask("command", run="report", window=0)["rows"]
        assert page.run("return document.querySelectorAll('#report tbody tr').length") == len(rows)


def test_buttons_lead_from_call_to_call(browser, view):
    server = view(RANDOM)
    number, busiest = max(enumerate(server.facts["threads"]), key=lambda each: each[1]["events"])
    middle = next(told for seq in range(busiest["events"] // 2, busiest["events"])
                  if all(where in (told := server.ask("call", thread=number, seq=seq)) for where in ("caller", "callee", "previous", "next")))
    with opened_page(browser, server.url, f"#thread={number}&seq={middle['seq']}") as page:
        for place, where in enumerate(("caller", "callee", "previous", "next"), 1):
            page.run("const { pick } = await import('./pick.js'); await pick(arguments[0], arguments[1])", number, middle["seq"])
            page.until("return document.getElementById('call').dataset.of === arguments[0]", f"{number} {middle['seq']}")
            page.click(f"#call .buttons button:nth-child({place})")
            page.until("return document.getElementById('call').dataset.of === arguments[0]", f"{number} {middle[where]['seq']}")
            assert page.text("#call h2") == middle[where]["function"][0]


@pytest.mark.traces
def test_a_citation_is_clicked_and_the_call_is_told_whole(ada, browser, serve, shop):
    """Of the call that the headline is of: percentiles, cause, arguments, registers, stack, its place in the source."""
    server = serve(shop(1))
    rows = server.ask("command", run="narrate")["rows"]
    headline = next(row for row in rows if row["kind"] == "headline")
    cited = next(each for each in headline["evidence"] if "thread" in each)
    number = next(i for i, each in enumerate(server.facts["threads"]) if each["number"] == cited["thread"])
    with opened_page(browser, server.url) as page:
        page.click("#tab-narrative")
        page.until("return document.getElementById('narrative').dataset.of")
        page.click("#narrative .headline .link")
        of = page.until("return document.getElementById('call').dataset.of")
        assert of == f"{number} {server.ask('call', thread=number, seq=cited['first'])['seq']}"
        slow = max((row for row in json.loads(ada("query", "--format=json", shop(1), "SELECT thread, index_seq, duration_ns, kind, function_waited "
                                                  "FROM causes WHERE function = 'sell'").stdout)["rows"]), key=lambda row: row["duration_ns"])
        thread = next(i for i, each in enumerate(server.facts["threads"]) if each["number"] == slow["thread"])
        page.run("const { pick } = await import('./pick.js'); await pick(arguments[0], arguments[1])", thread, slow["index_seq"])
        page.until("return document.getElementById('call').dataset.of === arguments[0]", f"{thread} {slow['index_seq']}")
        told = page.text("#call")
        detail = json.loads(server.get("command", run="detail", thread=thread, seq=slow["index_seq"])[1].splitlines()[0])
        assert slow["kind"] in told and slow["function_waited"] in told
        assert "p50" in told and "p99" in told and "longer than" in told and str(slow["index_seq"]) in told
        assert f"{detail['detail']['args'][0]['name']} = {detail['detail']['args'][0]['text']}" in told
        assert f"rdi            {detail['detail']['rdi']}" in told and detail["detail"]["stack"][:16] in told
        assert "shop.c:" in told and "Outside every window" not in told


@pytest.mark.traces
def test_it_is_told_where_waits_have_no_arrows(browser, serve, shop):
    server = serve(shop(60))        # each time the baker sleeps seven times, whatever else waits
    rows = server.ask("command", run="waits")["rows"]
    assert len(rows) == 400 < rows[0]["waits"]
    with opened_page(browser, server.url) as page:
        page.until("return document.getElementById('arrows').innerText.includes(arguments[0])", f"400 longest of {rows[0]['waits']:,} waits")
    with opened_page(browser, serve(shop(1)).url) as page:
        page.until("return Number(document.body.dataset.waits) > 0")
        assert page.text("#arrows") == ""


def test_it_is_told_where_waits_cannot_be_told(browser, view):
    refuse = '''const ask = window.fetch;
window.fetch = (path, options) => String(path).includes("run=waits") ? Promise.resolve(new Response("It took too long.", { status: 500 })) : ask(path, options);'''
    with browser.beforehand(refuse), opened_page(browser, view("story").url) as page:
        page.until("return document.getElementById('arrows').innerText === arguments[0]", "No arrows of waits: It took too long.")


def test_the_help_opens_by_its_button_and_closes_by_escape(browser, view):
    with opened_page(browser, view("story").url) as page:
        page.click("#help")
        assert page.run("return document.getElementById('keys').open") and "previous, next call of the same function" in page.text("#keys")
        page.keys(ESCAPE)
        page.until("return !document.getElementById('keys').open")
        assert page.run("return document.activeElement.id") == "help"


@pytest.mark.parametrize("desktop", [True, False])
def test_a_browser_is_opened_where_there_is_a_desktop(ada, session, tmp_path, desktop):
    opened = tmp_path / "opened"
    (tmp_path / "xdg-open").write_text(f'#!/bin/sh\necho "$1" >{opened}.new\nmv {opened}.new {opened}\n')
    (tmp_path / "xdg-open").chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment |= {"PATH": f"{tmp_path}:{environment['PATH']}", **({"DISPLAY": ":99"} if desktop else {})}
    process = subprocess.Popen([ada.path, "view", session("plain")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    try:
        url, end = process.stdout.readline().decode().strip(), time.monotonic() + PATIENCE
        while desktop and not opened.exists():
            assert time.monotonic() < end and process.poll() is None
            time.sleep(0.02)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert opened.read_text().strip() == url if desktop else not opened.exists()


def test_a_window_chosen_shows_its_flame_graph_and_back_leads_back(browser, view):
    """The list says rule, thread and length. Views that are chosen are in the browser's history, those on the way are not."""
    server = view("story")
    window, = server.facts["windows"]
    marked = next(mark for mark in window["marks"] if mark["rule"] or "thread" in mark)
    whole = "const { state } = await import('./state.js'); return state.from <= 0 && state.to >= state.session.end"
    with opened_page(browser, server.url) as page:
        page.until("return location.hash.includes('from=')")
        said = page.text("#windows option[value='0']")
        assert (marked["rule"] or window["kinds"]) in said
        assert page.run("return (await import('./state.js')).state.session.threads[arguments[0]].called", marked["thread"]) in said
        before = page.run("return history.length")
        assert before < 10
        page.click("#windows option[value='0']")
        page.until("return document.getElementById('flame').dataset.of === 'window 0'")
        page.until("return history.length === arguments[0] + 1", before)
        page.run("const { move } = await import('./input.js'); for (let i = 0; i < 30; i++) move(0.01)")
        page.until("const { state } = await import('./state.js'); return location.hash.includes(`from=${Math.round(state.from)}&`)")
        assert page.run("return history.length") <= before + 2
        page.run("history.go(arguments[0] - history.length)", before)
        page.until("return !location.hash.includes('of=0')")
        page.until(whole)
        page.run("history.forward()")
        page.until("return location.hash.includes('of=0')")
        page.until("const { state } = await import('./state.js'); return state.of === '0' && state.to < state.session.end")
