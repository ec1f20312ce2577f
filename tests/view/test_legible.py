"""The page for who sees little, or uses no mouse: each control has a name and is reached by keyboard, all text has a contrast of 4.5 or more."""
import pytest
from conftest import opened_page
from legible import CONTROLS, FOCUSED, PALETTE, STRUCTURE, TEXT, WRITTEN, unnamed

RANDOM = "random:11:3:30000"
TAB, ESCAPE = "\ue004", "\ue00c"
THEMES = pytest.mark.parametrize("theme", ["light", "dark"])


def themed(browser, theme):
    if browser.run("return document.documentElement.dataset.theme") != theme:
        browser.click("#theme")


def all_is_well(browser):
    texts, hard = browser.run(TEXT)
    assert texts > 20 and hard == []
    assert unnamed(browser) == []
    assert browser.run(STRUCTURE) == []


def reach_all(browser):
    """Presses Tab until nothing new gets the focus."""
    wanted, reached = browser.run(CONTROLS), set()
    browser.run("document.activeElement.blur()")
    for _ in range(len(wanted) + 2):
        browser.keys(TAB)
        reached.add(browser.run(FOCUSED))
    assert [name for number, name in enumerate(wanted) if number not in reached] == []


@THEMES
@pytest.mark.parametrize("tab", ["call", "found", "flame", "report", "narrative"])
def test_every_control_is_named_reachable_and_legible(browser, view, theme, tab):
    call = "&thread=0&seq=3" if tab == "call" else ""
    with opened_page(browser, view("story").url, f"#tab={tab}{call}" + ("&find=a" if tab == "found" else "")) as page:
        themed(page, theme)
        page.until("return document.getElementById(arguments[0]).dataset.of", tab)
        all_is_well(page)
        page.click("#theme")            # what is shown changes with it
        all_is_well(page)
        reach_all(page)


@THEMES
def test_what_is_not_usual_is_legible(browser, view, theme):
    """What has failed, what there is none of, what isn't known."""
    with opened_page(browser, view("lossy").url) as page:
        themed(page, theme)
        page.run("window.fetch = () => Promise.reject(new TypeError('Failed to fetch'))")
        for tab in ("report", "flame", "narrative"):
            page.click(f"#tab-{tab}")
            page.until("return document.querySelector(`#${arguments[0]} .wrong`)", tab)
            all_is_well(page)
        page.run("(await import('./state.js')).change({ find: 'nowhere', tab: 'found' })")
        page.until("return document.querySelector('#found .wrong')")
        all_is_well(page)


@THEMES
def test_the_keys_are_legible_and_left_by_keyboard(browser, view, theme):
    with opened_page(browser, view("story").url) as page:
        themed(page, theme)
        page.run("document.getElementById('canvas').focus()")
        page.keys("?")
        page.until("return document.getElementById('keys').open")
        all_is_well(page)
        reach_all(page)
        page.keys(ESCAPE)
        page.until("return !document.getElementById('keys').open")
        assert page.run("return document.activeElement.id") == "canvas"


def test_any_name_is_legible_on_any_slice(browser, view):
    with opened_page(browser, view("plain").url) as page:
        looked, hard = page.run(PALETTE)
        assert looked == 2 * 360 * 8 and hard == []


# Windows and losses all over, also one over another, and events that have gone.
CROWDED = """
const { state } = await import("./state.js"), { pictures } = await import("./timeline.js"), { from, to } = state;
state.session.windows = state.session.processes.flatMap(({ directory }) => [0, 1, 2].map(() => ({ process: directory, from, to, marks: [], kinds: "" })));
for (const picture of pictures.values()) Object.assign(picture, { losses: [from, to, 5], aged: arguments[0] ? [from, to, 5, false] : undefined });
"""


@THEMES
@pytest.mark.parametrize("crowded", ["plain", "lossy", "aged"])
def test_what_is_written_on_the_timeline_is_legible(browser, view, theme, crowded):
    """Also in windows, over losses and hatching, and on the call that is picked."""
    with opened_page(browser, view(RANDOM).url, "#thread=0&seq=100&from=0&to=100000000") as page:
        themed(page, theme)
        page.until("return document.getElementById('call').dataset.of")
        page.until("const { pictures } = await import('./timeline.js'); return pictures.size && Number(document.body.dataset.frames) > 0")
        if crowded != "plain":
            page.run(CROWDED, crowded == "aged")
        written = page.run(WRITTEN)
        assert len(written) > 20 and [each for each in written if each[1] < 4.5] == []


def test_what_is_written_stays_in_its_slice(browser, view):
    with opened_page(browser, view(RANDOM).url, "#from=0&to=100000000") as page:
        page.until("const { pictures } = await import('./timeline.js'); return pictures.size && Number(document.body.dataset.frames) > 0")
        beyond = page.run("""
const { layout, pictures, HEAD, ROW } = await import("./timeline.js"), { xOf, redraw } = await import("./draw.js");
const paint = document.getElementById("canvas").getContext("2d"), { fillText } = paint, beyond = [];
let looked = 0;
paint.fillText = function (text, x, y) {
  const lane = layout.threads.find((each) => y > each.top && y < each.top + each.height), depth = Math.floor((y - 4 - lane.top - HEAD) / ROW);
  const { slices } = pictures.get(lane.index), ends = [];
  for (let at = 0; at < slices.length; at += 8)
    if (slices[at] === depth && xOf(slices[at + 2]) <= x + 0.01) ends.push(xOf(slices[at + 2] + slices[at + 3]));
  looked++;
  if (x + this.measureText(text).width > Math.max(...ends)) beyond.push(text);
};
const frames = document.body.dataset.frames;
redraw();
await new Promise((resolve) => { const look = () => (document.body.dataset.frames !== frames ? resolve() : requestAnimationFrame(look)); look(); });
delete paint.fillText;
return [looked, beyond];""")
        assert beyond[0] > 20 and beyond[1] == []


def test_calls_of_all_threads_are_reached_by_keyboard(browser, view):
    """J and K lead to what the next and the previous thread was in meanwhile, or next to it."""
    threads = [number for number, thread in enumerate(view(RANDOM).facts["threads"]) if thread["events"]]
    with opened_page(browser, view(RANDOM).url) as page:
        page.until("const { pictures } = await import('./timeline.js'); return pictures.size > 0")
        page.run("document.getElementById('canvas').focus()")
        for key, thread in [("j", threads[0]), *(("j", each) for each in threads[1:]), ("j", threads[-1]), ("k", threads[-2])]:
            page.keys(key)
            page.until("return document.getElementById('call').dataset.of?.startsWith(arguments[0])", f"{thread} ")
