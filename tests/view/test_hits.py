"""Next and previous hit of a search, wherever they are; what a call that is picked leads to; and what a click leaves where it is."""
import contextlib

import pytest
from conftest import opened_page
from test_answers import hits_from

RANDOM = "random:11:3:30000"
ESCAPE = "\ue00c"
SHIFT = "\ue008"

PICKED = "const { picked } = (await import('./state.js')).state; return picked?.call ? [picked.at, picked.thread, picked.seq] : null"
IN_VIEW = ("const { state } = await import('./state.js'); const { at, duration_ns: lasted = 0 } = state.picked;"
           "return at <= state.to && at + lasted >= state.from")

# Answers for hits, and what was asked for, are the test's.
ANSWERED = """
const { fetch } = window;
window.hits = [];
window.fetch = async (url, options) => {
  if (!url.startsWith("hit?")) return fetch(url, options);
  const asked = Object.fromEntries(new URLSearchParams(url.split("?")[1]));
  window.hits.push(asked);
  if (window.really) return fetch(url, options);
  await new Promise((resolve) => { setTimeout(resolve, 5); });
  return new Response(JSON.stringify({ hit: null, looked: Number(asked.time) + 1000 }));
};"""


@contextlib.contextmanager
def answered_page(browser, view):
    """A search for malloc, of which each answer says that it has come 1 us further."""
    with opened_page(browser, view(RANDOM).url, "#find==malloc&from=0&to=1000000") as page:
        page.until("return document.getElementById('found').dataset.of")
        page.run(ANSWERED)
        yield page


def busiest(server):
    return max(enumerate(server.facts["threads"]), key=lambda each: each[1]["events"])[0]


def test_next_and_previous_hit_lead_out_of_the_view(browser, view):
    """From a view without any: by keys and by buttons, and it is told where each is."""
    server = view(RANDOM)
    every = [hit[:3] for hit in hits_from(server, {"function": "=malloc"}, 1, {"time": 0})[0]]
    middle = len(every) // 2
    first, last = next((one[0] + 1, other[0] - 1) for one, other in zip(every[middle:], every[middle + 1:]) if other[0] - one[0] > 1000)
    at = next(i for i, hit in enumerate(every) if hit[0] > first)
    with opened_page(browser, server.url, f"#from={first}&to={last}&find==malloc") as page:
        page.until("return document.getElementById('found').dataset.of === '=malloc'")
        assert "0 marks" in page.text("#found")
        page.run("document.getElementById('canvas').focus()")
        for step, press in ((0, lambda: page.keys("n")), (1, lambda: page.keys("n")), (2, lambda: page.click("#hit-next")), (1, lambda: page.chord(SHIFT, "N")),
                            (0, lambda: page.click("#hit-previous")), (-1, lambda: page.click("#hit-previous"))):
            press()
            page.until(f"return JSON.stringify(await (async () => {{ {PICKED} }})()) === JSON.stringify(arguments[0])", list(every[at + step]))
            said = page.until("const said = document.getElementById('status').innerText; return said.startsWith('malloc at ') && said")
            assert server.facts["threads"][every[at + step][1]]["name"] in said and f"one of {len(every):,} calls" in said
            assert page.run(IN_VIEW)
        # What is picked and out of view is no place to go on from: the view is.
        page.run("const { showAll } = await import('./state.js'); showAll(); const { show } = await import('./state.js'); show(arguments[0], arguments[1])", first, last)
        page.keys("n")
        page.until(f"return JSON.stringify(await (async () => {{ {PICKED} }})()) === JSON.stringify(arguments[0])", list(every[at]))


def test_the_last_hit_is_told(browser, view):
    server = view(RANDOM)
    at, thread, seq, _ = hits_from(server, {"function": "=malloc"}, -1, {"time": server.facts["end"] + 1})[0][0]
    with opened_page(browser, server.url, f"#find==malloc&thread={thread}&seq={seq}") as page:
        page.until("return document.getElementById('call').dataset.of")
        page.click("#hit-next")
        page.until("return document.getElementById('status').innerText.startsWith(\"No call of 'malloc' after +\")")
        assert page.run(PICKED) == [at, thread, seq]


def test_without_a_search_there_is_no_hit_to_go_to(browser, view):
    with opened_page(browser, view(RANDOM).url) as page:
        assert page.run("return ['hit-previous', 'hit-next'].map((id) => document.getElementById(id).disabled)") == [True, True]
        page.run("document.getElementById('canvas').focus()")
        page.keys("n")
        page.until("return document.activeElement.id === 'find'")
        assert "Type the name of a function" in page.text("#status")
        page.keys("m", "a")
        page.until("return !document.getElementById('hit-next').disabled")
        assert page.run("return document.getElementById('find').value") == "ma"     # letters of a name are no keys


def test_a_long_search_says_how_far_it_is_and_is_stopped(browser, view):
    """Where it is asked again it goes on from there."""
    with answered_page(browser, view) as page:
        page.run("document.getElementById('canvas').focus()")
        page.keys("n")
        page.until("return document.getElementById('status').innerText.includes('looked through: looking on. Escape stops.')")
        page.keys(ESCAPE)
        page.until("return document.getElementById('status').innerText.startsWith(\"Stopped. No call of 'malloc' in the \")")
        page.run("await new Promise((resolve) => { setTimeout(resolve, 100); })")
        hits = page.run("const { hits } = window; window.hits = []; window.really = true; return hits")
        assert [int(hit["time"]) for hit in hits] == list(range(0, len(hits) * 1000, 1000)) and all(hit["step"] == "1" for hit in hits)
        page.keys("n")
        page.until("return document.getElementById('call').dataset.of")
        asked, = page.run("return window.hits")
        assert int(asked["time"]) in (int(hits[-1]["time"]), int(hits[-1]["time"]) + 1000)


def test_another_search_stops_the_one_that_goes_on(browser, view):
    with answered_page(browser, view) as page:
        page.click("#hit-next")
        page.until("return window.hits.length > 2")
        page.run("(await import('./state.js')).change({ find: '=read' })")
        page.until("return document.getElementById('found').dataset.of === '=read'")
        asked = page.run("return window.hits.length")
        page.run("await new Promise((resolve) => { setTimeout(resolve, 100); })")
        assert page.run("return window.hits.length") == asked


def test_a_neighbour_that_is_far_is_looked_for_when_it_is_asked_for(browser, view):
    server = view(RANDOM)
    number = busiest(server)
    told = next(told for seq in range(1000, 3000) if "next" in (told := server.ask("call", thread=number, seq=seq)) and "previous" in told)
    far = """
const { fetch } = window;
window.fetch = async (url, options) => {
  const response = await fetch(url, options);
  if (!url.startsWith("call?") || window.really) return response;
  const told = await response.json();
  return new Response(JSON.stringify({ ...told, next: { looked: told.at + 5 }, previous: { looked: told.at - 5 } }));
};"""
    with opened_page(browser, server.url) as page:
        page.run(far)
        for button, where in (("Next call", "next"), ("Previous call", "previous")):
            page.run("window.really = false; const { pick } = await import('./pick.js'); await pick(arguments[0], arguments[1])", number, told["seq"])
            page.until("return document.getElementById('call').dataset.of === arguments[0]", f"{number} {told['seq']}")
            page.run("window.really = true; [...document.querySelectorAll('#call button')].find((each) => each.innerText === arguments[0]).click()", button)
            page.until("return document.getElementById('call').dataset.of === arguments[0]", f"{number} {told[where]['seq']}")
        assert page.run("return document.getElementById('find').value") == ""


def test_all_calls_of_a_function_are_found_from_one(browser, view):
    server = view(RANDOM)
    told = server.ask("call", thread=0, seq=100)
    with opened_page(browser, server.url, f"#thread=0&seq={told['seq']}") as page:
        page.until("return document.getElementById('call').dataset.of")
        page.run("[...document.querySelectorAll('#call button')].find((each) => each.innerText === 'Find all calls of it').click()")
        page.until("return document.getElementById('found').dataset.of === arguments[0]", f"={told['function'][0]}")
        assert page.run("return document.getElementById('found').hidden") is False
        assert "1 function in the whole session" in page.text("#found")
        assert page.run("return document.querySelector('#found td.number').innerText") == f"{told['usual']['calls']:,}"


def test_a_call_that_covers_the_view_leaves_it_where_it_is(browser, view):
    """By a click on it, and on the way to a caller."""
    server = view(RANDOM)
    number = busiest(server)
    outer, inner = next((told["path"][0], told["path"][-1]) for seq in range(2000, 20000) if len((told := server.ask("call", thread=number, seq=seq))["path"]) > 1
                        and told["path"][-1]["duration_ns"] > 1000 and told["path"][0]["duration_ns"] > 20 * told["path"][-1]["duration_ns"])
    first, last = inner["at"], inner["at"] + inner["duration_ns"]
    place = """
const { layout, HEAD, ROW } = await import("./timeline.js"), lane = layout.threads.find((each) => each.index === arguments[0]);
const box = document.getElementById("canvas").getBoundingClientRect();
return [Math.round(box.left + box.width / 2), Math.round(box.top + lane.top + HEAD + ROW / 2)];"""
    shown = "const { state } = await import('./state.js'); return [state.from, state.to]"
    with opened_page(browser, server.url, f"#from={first}&to={last}") as page:
        page.until("const { pictures } = await import('./timeline.js'); return pictures.get(arguments[0])?.slices.length", number)
        before = page.run(shown)
        assert outer["at"] < before[0] and outer["at"] + outer["duration_ns"] > before[1]
        x, y = page.run(place, number)
        page.pointer({"type": "pointerMove", "x": x, "y": y}, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})
        page.until("return document.getElementById('call').dataset.of === arguments[0]", f"{number} {outer['seq']}")
        assert page.run(shown) == before
