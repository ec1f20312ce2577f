"""The page of `ada view` in a browser: it loads, zooms, searches, picks, tells; by mouse and by keyboard; and asks nobody but its server."""
import contextlib

import pytest
from conftest import opened_page, painted_page

RANDOM = "random:11:3:30000"
ENTER, HOME, TAB, UP, DOWN, LEFT, RIGHT = "\ue007", "\ue011", "\ue004", "\ue013", "\ue015", "\ue012", "\ue014"


@pytest.fixture
def page(browser, view):
    """page(SCENARIO, HASH): the page of a session, painted."""
    with contextlib.ExitStack() as pages:
        yield lambda scenario, place="": pages.enter_context(opened_page(browser, view(scenario).url, place))


def span(browser):
    """What is shown, as the address has it."""
    browser.until("return location.hash.includes('from=')")
    return browser.run("const fields = new URLSearchParams(location.hash.slice(1)); return [Number(fields.get('from')), Number(fields.get('to'))]")


def changed(browser, action):
    """Does something that changes what is shown, and waits until the address and the picture have it."""
    before = span(browser)
    drawn = browser.run("return document.body.dataset.pictures")
    action()
    browser.until("const fields = new URLSearchParams(location.hash.slice(1)); return Number(fields.get('from')) !== arguments[0] || "
                  "Number(fields.get('to')) !== arguments[1]", *before)
    browser.until("return document.body.dataset.pictures !== arguments[0]", drawn)
    return before, span(browser)


def painted_share(browser):
    """Of the canvas' pixels: how many are not its background."""
    return browser.run("""
const canvas = document.getElementById("canvas"), data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
let other = 0;
for (let at = 0; at < data.length; at += 4) other += data[at] !== data[0] || data[at + 1] !== data[1] || data[at + 2] !== data[2];
return other / (data.length / 4);""")


def test_it_loads_and_paints(page, view):
    browser = page(RANDOM)
    assert browser.text("#title").startswith("session") and "nothing lost" in browser.text("#losses")
    assert browser.run("return document.querySelectorAll('#labels > div').length") == 3
    browser.until("return Number(document.body.dataset.frames) > 0")
    assert painted_share(browser) > 0.05
    print("first paint after", browser.run("return document.body.dataset.painted"), "ms")


# No question is answered until the test says so.
HELD = """
{
  const { fetch } = window, released = new Promise((resolve) => { window.release = resolve; });
  window.fetch = async (...asked) => { await released; return fetch(...asked); };
}
"""


def test_clicks_before_the_first_answer_leave_the_whole_session_in_view(browser, view):
    with browser.beforehand(HELD):
        browser.open(view(RANDOM).url)
    browser.until("return document.readyState === 'complete'")
    for button in ("#tab-report", "#in", "#whole", "#right"):
        browser.click(button)
    # The address is written 150 ms after a change: this timer runs behind that one.
    browser.run("await new Promise((resolve) => { setTimeout(resolve, 200); })")
    assert browser.run("return location.hash") == ""
    browser.run("window.release()")
    with painted_page(browser, view(RANDOM).url):
        assert browser.until("return document.getElementById('report').dataset.of")
        first, last = span(browser)
        assert first < 0 and last > view(RANDOM).facts["end"]
        assert browser.run("return (await import('./format.js')).time(-12345678, 1000)") == "-0.012346 s"
        assert browser.run("return (await import('./format.js')).time(-1, 1e9)") == "+0 s"


def test_it_zooms_and_moves_by_wheel_drag_buttons_and_keys(page):
    browser = page(RANDOM)
    first, second = changed(browser, lambda: browser.wheel(600, 300, -300))
    assert second[1] - second[0] < 0.9 * (first[1] - first[0])
    first, second = changed(browser, lambda: browser.pointer(
        {"type": "pointerMove", "x": 700, "y": 300}, {"type": "pointerDown", "button": 0}, {"type": "pointerMove", "x": 500, "y": 300, "duration": 50},
        {"type": "pointerUp", "button": 0}))
    assert second[0] > first[0] and abs((second[1] - second[0]) - (first[1] - first[0])) < 10
    for button, key, expected in (("#in", "w", lambda a, b: b[1] - b[0] < a[1] - a[0]), ("#out", "s", lambda a, b: b[1] - b[0] > a[1] - a[0]),
                                  ("#left", "a", lambda a, b: b[0] < a[0]), ("#right", "d", lambda a, b: b[0] > a[0])):
        assert expected(*changed(browser, lambda: browser.click(button)))
        browser.run("document.getElementById('canvas').focus()")
        assert expected(*changed(browser, lambda: browser.keys(key)))
    _, whole = changed(browser, lambda: browser.keys(HOME))
    assert whole[0] < 0


def test_a_frame_needs_no_answer(page):
    """Fifty frames of zooming, each drawn from what is there."""
    browser = page(RANDOM)
    took = browser.run("""
const input = await import("./input.js");
const times = [];
for (let i = 0; i < 50; i++) {
  const begun = performance.now(), frames = document.body.dataset.frames;
  input.zoom(i % 2 ? 1.1 : 0.9);
  await new Promise((resolve) => { const look = () => (document.body.dataset.frames !== frames ? resolve() : requestAnimationFrame(look)); look(); });
  times.push(performance.now() - begun);
}
return times.sort((a, b) => a - b)[25];""")
    print(f"a frame of zooming takes {took:.1f} ms")
    assert took > 0


def test_a_coarse_picture_is_sharpened_when_nobody_zooms(page):
    """What would have taken the server long is drawn with wide pixels, and asked for again, a thread at a time."""
    browser = page(RANDOM)
    browser.run("""
const { fetch } = window;
window.asked = [];
window.fetch = async (url, options) => {
  const response = await fetch(url, options);
  if (!url.startsWith("timeline") || url.includes("exact=1")) {
    if (url.startsWith("timeline")) window.asked.push(Number(new URLSearchParams(url.split("?")[1]).get("threads")));
    return response;
  }
  const told = await response.json();
  for (const thread of told.threads) thread.coarse = 4;
  return new Response(JSON.stringify(told));
};""")
    changed(browser, lambda: browser.keys("w"))
    browser.until("const { pictures } = await import('./timeline.js');"
                  "return window.asked.length >= 3 && [...pictures.values()].every((each) => each.coarse === 1)")
    assert sorted(browser.run("return window.asked.slice(0, 3)")) == [0, 1, 2]
    assert browser.run("const { pictures, answer } = await import('./timeline.js');"
                       "return [...pictures.values()].every(({ slices }) => slices.every((each, at) => at % 8 !== 4 || each < answer.functions.length))")


def test_a_click_tells_the_call(page, view):
    browser = page(RANDOM)
    seq = browser.run("""
const { layout, pictures, HEAD, ROW } = await import("./timeline.js"), { xOf } = await import("./draw.js");
const lane = layout.threads[0], slices = pictures.get(lane.index).slices;
let best = -1;
for (let at = 0; at < slices.length; at += 8) if (slices[at] === 1 && (best < 0 || slices[at + 3] > slices[best + 3])) best = at;
const box = document.getElementById("canvas").getBoundingClientRect();
window.point = [box.left + xOf(slices[best + 2] + slices[best + 3] / 2), box.top + lane.top + HEAD + ROW * 1.5];
return slices[best + 7];""")
    x, y = (int(value) for value in browser.run("return window.point"))
    browser.pointer({"type": "pointerMove", "x": x, "y": y}, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})
    assert browser.until("return document.getElementById('call').dataset.of") == f"0 {seq}"
    told, shown = view(RANDOM).ask("call", thread=0, seq=seq), browser.text("#call")
    assert told["function"][0] in shown and f"--seq={seq}-{seq}" in shown and "Outside every window" in shown and "p99" in shown
    for key, where in ((DOWN, "callee"), (UP, "caller"), (RIGHT, "next"), (LEFT, "previous")):
        if where not in told:
            continue
        browser.run("document.getElementById('canvas').focus()")
        browser.keys(key)
        browser.until("return document.getElementById('call').dataset.of === arguments[0]", f"0 {told[where]['seq']}")
        told = view(RANDOM).ask("call", thread=0, seq=told[where]["seq"])


def test_the_ring_of_the_timeline_is_not_clipped(page):
    browser = page("plain")
    browser.keys(TAB)       # a ring is for who uses the keyboard
    browser.run("document.getElementById('canvas').focus()")
    width, offset = browser.run("const { outlineWidth, outlineOffset } = getComputedStyle(document.activeElement); return [outlineWidth, outlineOffset];")
    assert width == "2px" and offset == "-2px"


def test_a_search_shows_its_marks(page):
    browser = page(RANDOM)
    browser.keys("/")
    assert browser.run("return document.activeElement.id") == "find"
    browser.keys(*"malloc")
    browser.until("return document.getElementById('found').dataset.of === 'malloc'")
    assert "malloc" in browser.text("#found table") and "1 function in the whole session" in browser.text("#found")
    browser.click("#found p + button")
    browser.until("return document.getElementById('call').dataset.of")
    assert browser.text("#call h2") == "malloc"


def test_a_click_on_a_name_finds_that_function_alone(page):
    browser = page(RANDOM)
    browser.click("#tab-report")
    browser.until("return document.getElementById('report').dataset.of")
    name = browser.run("return document.querySelector('#report td .link').title.replace(/ \\[.*/, '')")
    browser.click("#report td .link")
    browser.until("return document.getElementById('found').dataset.of === '=' + arguments[0]", name)
    assert "1 function in the whole session" in browser.text("#found")


def test_flame_graph_and_report_are_of_what_is_visible(page, view):
    browser = page(RANDOM)
    browser.click("#tab-report")
    of = browser.until("return document.getElementById('report').dataset.of")
    rows = view(RANDOM).ask("command", run="report")["rows"]
    assert browser.run("return document.querySelectorAll('#report tbody tr').length") == len(rows)
    browser.run("document.getElementById('canvas').focus()")
    browser.keys(*"wwwwwwwwwwww")
    browser.until("return document.getElementById('report').dataset.of !== arguments[0]", of)
    browser.click("#tab-flame")
    browser.until("return document.getElementById('flame').dataset.of")
    frames = browser.run("return document.querySelectorAll('.frame').length")
    assert frames > 3
    browser.run("document.querySelectorAll('.frame')[1].click()")
    assert browser.run("return document.querySelectorAll('.frame')[1].style.width") == browser.run("return document.querySelectorAll('.frame')[0].style.width")


def test_a_citation_leads_to_its_event(page, view):
    browser = page("story")
    browser.click("#tab-narrative")
    browser.until("return document.getElementById('narrative').dataset.of")
    rows = view("story").ask("command", run="narrate")["rows"]
    assert all(row["text"] in browser.text("#narrative").replace("\n", " ") for row in rows[:3])
    cited = browser.run("const all = [...document.querySelectorAll('#narrative .link')]; const last = all[all.length - 1]; last.click(); return last.innerText")
    of = browser.until("return document.getElementById('call').dataset.of")
    assert cited.startswith("[thread ") and int(of.split()[0]) in (0, 1)


def test_windows_are_bands_and_a_choice(page):
    browser = page("story")
    assert browser.run("return document.querySelectorAll('#windows option').length") == 2
    _, now = changed(browser, lambda: browser.run("const select = document.getElementById('windows'); select.value = '0'; select.dispatchEvent(new Event('change'))"))
    window = browser.run("return (await import('./state.js')).state.session.windows[0]")
    assert now[0] <= window["from"] and window["to"] <= now[1] and now[1] - now[0] < 2 * (window["to"] - window["from"])
    changed(browser, lambda: browser.keys("a"))
    assert changed(browser, lambda: browser.keys("]"))[1] == now


NAMES = {   # as ada_name_short has them: tests/query/test_module.c
    "main": "main", "void ns::f<int>(int)": "ns::f<..>", "f[abi:cxx11](int)": "f",
    "Handler::process(std::basic_string<char> const&) [clone .isra.0]": "Handler::process",
    "std::once_flag::Prepare<g(int)>(void (base::*&)(h<int>*))::{lambda()#1}::_FUN()": "std::once_flag::Prepare<..>::{lambda()#1}::_FUN",
    "serve(int)::{lambda(int)#2}::operator()(int) const": "serve::{lambda(int)#2}::operator()",
    "(anonymous namespace)::f(int)": "(anonymous namespace)::f", "app::(anonymous namespace)::secret(int)": "app::(anonymous namespace)::secret",
    "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}> > >::_M_run()": "main::{lambda()#1}",
    "std::thread::_State_impl<std::thread::_Invoker<std::tuple<Server::start(int, std::map<int, int>)::{lambda(int, char)#2}, int, char> > >::_M_run()": "Server::start::{lambda(int, char)#2}",
    "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)(int), int> > >::_M_run()": "std::thread::_State_impl<..>::_M_run",
    "std::thread::_State_impl<std::thread::_Invoker<std::tuple<Worker> > >::_M_run()": "std::thread::_State_impl<..>::_M_run",
    "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}> > >::~_State_impl()": "std::thread::_State_impl<..>::~_State_impl",
    "std::ostream& operator<< <char>(std::ostream&, char)": "operator<< <..>", "app::V::operator<(int) const": "app::V::operator<",
    "app::V::operator<<(int)": "app::V::operator<<", "app::V::operator->()": "app::V::operator->",
}


def test_names_are_as_other_commands_have_them(page):
    browser = page("plain")
    assert browser.run("const { shortName } = await import('./names.js'); return arguments[0].map(shortName)", list(NAMES)) == list(NAMES.values())


def test_losses_are_named(page):
    browser = page("lossy")
    assert "12 events were lost" in browser.text("#losses")


def test_a_link_restores_the_view(page):
    browser = page(RANDOM, "#from=1000000&to=3000000&thread=0&seq=100&tab=report&find=read")
    browser.until("return document.getElementById('report').dataset.of && document.getElementById('found').dataset.of")
    assert span(browser) == [1000000, 3000000]
    assert browser.run("return document.getElementById('find').value") == "read"
    assert browser.until("return document.getElementById('call').dataset.of").startswith("0 ")
    assert browser.run("return document.getElementById('report').hidden") is False


def test_keys_go_on_after_a_click_on_a_button_or_tab(page):
    browser = page(RANDOM)
    for clicked in ("#in", "#tab-report", "#left"):
        browser.click(clicked)
        browser.until("return document.activeElement.id === arguments[0]", clicked[1:])
        first, second = changed(browser, lambda: browser.keys("w"))
        assert second[1] - second[0] < first[1] - first[0]
    browser.click("#tab-call")
    before = span(browser)
    for key, tab in ((RIGHT, "found"), (RIGHT, "flame"), (LEFT, "found"), (HOME, "call"), (LEFT, "narrative"), (RIGHT, "call")):
        browser.keys(key)
        assert browser.run("return [document.activeElement.id, document.getElementById(arguments[0]).hidden]", tab) == [f"tab-{tab}", False]
    assert span(browser) == before


def test_it_is_told_that_the_server_has_ended(page):
    browser = page("plain")
    browser.run("window.fetch = () => Promise.reject(new TypeError('Failed to fetch')); document.getElementById('canvas').focus()")
    browser.keys("w")
    browser.until("return document.getElementById('status').innerText === '`ada view` has ended; run it again.'")
    browser.click("#tab-report")
    browser.until("return document.getElementById('report').innerText === '`ada view` has ended; run it again.'")


def test_the_keys_are_told(page):
    browser = page("story")
    browser.keys("?")
    assert "zoom in, out" in browser.text("#keys")
    browser.click("#keys button")
    assert browser.run("return document.getElementById('keys').open") is False


# --- a flame graph as a file ----------------------------------------------------------------------------------------------

FRAME = "[...document.querySelectorAll('g.f')].filter((g) => g.querySelector('title').textContent.split('\\n')[0] === arguments[0])"


def test_a_flame_graph_as_a_file_zooms_and_searches(ada, browser, session, tmp_path):
    path = tmp_path / "flame.svg"
    assert ada("export", "-q", "--format=svg", f"--output={path}", session(RANDOM)).status == 0
    browser.open(f"file://{path}")
    names = browser.run("return [...document.querySelectorAll('g.f title')].map((title) => title.textContent.split('\\n')[0])")
    narrow = browser.run("return [...document.querySelectorAll('g.f')].findIndex((g) => g.querySelector('rect').getAttribute('width') < 300)")
    assert narrow > 0
    wide = f"return Number(document.querySelectorAll('g.f')[{narrow}].querySelector('rect').getAttribute('width'))"
    assert browser.run(wide) < 300
    browser.run(f"document.querySelectorAll('g.f')[{narrow}].dispatchEvent(new MouseEvent('click'))")
    assert abs(browser.run(wide) - 1180) < 0.01
    assert browser.run("return [...document.querySelectorAll('g.f')].some((g) => g.style.display === 'none')")
    browser.run("document.querySelectorAll('g.f')[0].dispatchEvent(new MouseEvent('click'))")
    assert browser.run(wide) < 300
    assert not browser.run("return [...document.querySelectorAll('g.f')].some((g) => g.style.display === 'none')")
    browser.run("window.prompt = () => '^' + arguments[0] + '$'; document.getElementById('search').dispatchEvent(new MouseEvent('click'))",
                names[narrow])
    assert browser.run("return document.getElementById('said').textContent").endswith(" % of the time")
    assert browser.run(f"return {FRAME}.every((g) => g.querySelector('rect').getAttribute('fill') === 'rgb(230,120,230)')", names[narrow])
    browser.logged()
    assert not browser.complaints and all(url.startswith(("file:", "about:")) for url in browser.requests)
    browser.requests.clear()
