"""The EXAMPLES of the manual pages are no mere pictures: each command runs as it stands there, in a directory that has what the page speaks of,
ends as it says, and prints what the page shows but for figures: the first line (of a table, its columns), what the other lines begin with, and
the sentence about what was lost."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import examples
from examples import PATIENCE, Scene
from harness import Session

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGES = {path.name: path.read_text() for path in sorted((ROOT / "docs" / "man").iterdir())}
STEPS = {page: examples.of_page(text)[0] for page, text in PAGES.items()}
WINDOW = "--trigger=arg=insert:3>12@pre=3ev,post=2ev"

sys.path.insert(0, str(ROOT / "tests" / "recover"))
import dead  # noqa: E402  (a session as a recorder leaves it that was killed)

# Where a page's commands run: the name of a scene below. Of a page's key and those with a command's beginning the longest counts.
SCENES = {
    "ada-anchor.1": "film",
    "ada-dump.1": "words", "ada-dump.1 ada dump --detail --source": "fetch",
    "ada-export.1": "words",
    "ada-functions.1": "words",
    "ada-graph.1": "words",
    "ada-info.1": "words",
    "ada-mark.1": "server",
    "ada-mcp.1": "words",
    "ada-narrate.1": "story",
    "ada-pack.1": "pack",
    "ada-query.1": "words",
    "ada-recover.1": "dead",
    "ada-report.1": "words",
    "ada-status.1": "server",
    "ada-stop.1": "server",
    "ada-top.1": "server", "ada-top.1 ada top --at": "words",
    "ada-trace.1": "trace", "ada-trace.1 ada trace --trigger 'latency=handle>1ms'": "server",
    "ada-trigger.1": "server",
    "ada-tune.1": "ticks",
    "ada-unpack.1": "packed",
    "ada-verify.1": "damaged",
    "ada-view.1": "words",
    "ada-windows.1": "words",
}
NOT_RUN = {
    "ada.1": "tests/tutorial runs it, with the pages of docs/tutorial",
    "ada-export.1 ada export -f clickhouse": "needs a server: tests/export_store has two",
    "ada-export.1 clickhouse-client": "needs a server: tests/export_store has two",
    "ada-tui.1": "needs a terminal: tests/tui has one",
    "ada-view.1 ssh": "needs another machine",
}
# What the pages' recordings had, and these haven't.
SUBSTITUTES = {
    "ada-anchor.1": [("--media-time=12.5s", "--media-time=12.5s --host-time=+0.100000s"), ("13.600022s", "12.700022s"), ("+2.000640007s", "+0.300000000s")],
    "ada-export.1 ada export -f folded": [("head -3", "grep -A 2 '^words;main '")],      # threads have no order here
    # The process's first and last functions take long where its pages aren't there.
    "ada-export.1 sqlite3": [("order by 3", r"order by function = '\''main'\'' desc, calls")],
    "ada-top.1 ada top --at": [("--at=+12.5s", "--once --at=+10ms")],
    "ada-tune.1": [("2000000", "200000")],
    "ada-view.1": [("--window=3", "--window=0")],
}
# Whose rows are others in each run: beyond the first line nothing is compared.
OTHER_ROWS = {"ada-report.1 ada report --diff": True, "ada-export.1 ada export -f folded": True, "ada-export.1 sqlite3": True}
STATUS = {"ada-query.1 ada query \"SELECT funktion": 125, "ada-verify.1": 1}


def of(table, page, command, default=None):
    """A table's entry for a command of a page."""
    keys = [key for key in table if f"{page} {command} ".startswith(key + " ") or f"{page} {command}".startswith(key) and " " in key]
    return table[max(keys, key=len)] if keys else default


@pytest.fixture(scope="module")
def scene(ada, session, tmp_path_factory):
    """scene(NAME): it is made once; those that a page's commands change are copies."""
    made = {}

    def words(scene):
        """Two recordings, the later one with a window; the earlier one has the name that ada-report(1) has."""
        shutil.copy(ROOT / "docs" / "demo" / "words.c", scene.place)
        scene.run("gcc -O2 -g -pthread -o words words.c")
        scene.run("ada trace -q ./words <words.c")
        Session(scene.place / "ada_traces").path.rename(scene.place / "ada_traces" / re.search(r"--diff=ada_traces/(\w+)", PAGES["ada-report.1"].replace("\\", ""))[1])
        scene.run(f"ada trace -q --stack-bytes=32 '{WINDOW}' ./words <words.c")

    def of_words(scene):
        shutil.copytree(make("words").place / "ada_traces", scene.place / "ada_traces", symlinks=True)

    def trace(scene):
        shutil.copy(make("words").place / "words", scene.place)
        shutil.copy(ROOT / "docs" / "demo" / "words.c", scene.place)
        scene.compile(HERE / "programs" / "slow.c")

    def packed(scene):
        of_words(scene)
        scene.run("ada pack")

    def damaged(scene):
        of_words(scene)
        index = next(scene.place.glob("ada_traces/latest/pid_*/thread_0/index.atf"))
        data = bytearray(index.read_bytes())
        data[64 + 32 * 4 + 8:64 + 32 * 4 + 11] = b"zzz"
        index.write_bytes(data)

    def film(scene):
        scene.compile(HERE / "programs" / "film.c")
        scene.run("ada trace -q ./film")
        middle = "SELECT (start_ns + duration_ns / 2 - at('+0s')) / 1e9 AS s FROM calls WHERE function = 'read' ORDER BY duration_ns DESC LIMIT 1"
        host_s = json.loads(scene.run(f'ada query --format=json "{middle}"'))["rows"][0]["s"]
        scene.substitutes = [("13.4s", f"{12.5 + (host_s - .1) * .200022 / .2:.9f}s")]      # by the two anchors of SUBSTITUTES

    def fetch(scene):
        (scene.place / "src").mkdir()
        shutil.copy(HERE / "programs" / "fetch.c", scene.place / "src")
        scene.run("gcc -O1 -g -o fetch src/fetch.c")
        scene.run("ada trace -q --trigger=symbol=fetch ./fetch")

    def story(scene):
        scene.compile(ROOT / "tests" / "narrate" / "story.c")
        scene.run("ada trace -q '--trigger=latency=function:process_image>20ms@pre=50ms,post=10ms' ./story crash", status=139)

    def ticks(scene):
        scene.compile(HERE / "programs" / "ticks.c")

    def left(scene):
        (scene.place / "ada_traces").mkdir()
        shutil.copytree(session("plain"), scene.place / "ada_traces" / "session_20261122_140926")
        (scene.place / "ada_traces" / "latest").symlink_to("session_20261122_140926")
        dead.unfinish(scene.place / "ada_traces" / "session_20261122_140926")

    makers = {"words": words, "trace": trace, "pack": of_words, "packed": packed, "damaged": damaged, "film": film, "fetch": fetch, "story": story,
              "ticks": ticks, "dead": left, "server": lambda scene: scene.compile(HERE / "programs" / "server.c")}

    def make(name):
        if name not in made:
            made[name] = Scene(ada, tmp_path_factory.mktemp(name))
            makers[name](made[name])
        return made[name]
    yield make
    for each in made.values():
        shutil.rmtree(each.place)


def try_example(scene, page, command, shown):
    """Runs it, and compares."""
    used = command
    for old, new in of(SUBSTITUTES, page, command, []) + scene.substitutes:
        used = used.replace(old, new)
    if page == "ada-view.1" and "--no-browser" in command:
        said = scene.serve(used, len(shown.splitlines()))
    else:
        said = scene.run(used, of(STATUS, page, command, 0))
    told = f"{page}: {used}\n{said}\nthe page has:\n{shown}"
    assert not shown or examples.is_alike(said, shown), told
    assert examples.heads(shown) <= examples.heads(said) or of(OTHER_ROWS, page, command), told


PLAIN = sorted({page for page, steps in STEPS.items() for command, _ in steps if not of(NOT_RUN, page, command) and of(SCENES, page, command) != "server"})


@pytest.mark.traces
@pytest.mark.parametrize("page", PLAIN)
def test_the_examples_of(scene, page):
    for command, shown in STEPS[page]:
        if not of(NOT_RUN, page, command) and of(SCENES, page, command) != "server":
            try_example(scene(of(SCENES, page, command)), page, command, shown)


def test_every_example_is_run_or_has_a_reason_not_to_be():
    for page, steps in STEPS.items():
        for command, _ in steps:
            assert of(SCENES, page, command) or of(NOT_RUN, page, command), f"{page}: {command}"
    for key in [*SCENES, *NOT_RUN, *SUBSTITUTES, *OTHER_ROWS, *STATUS]:
        page, _, begin = key.partition(" ")
        assert any(command.startswith(begin) for command, _ in STEPS[page]), key


# In this order the pages' examples tell one story of a server; "NUMBER": a request of so many microseconds.
STORY = ("4000", "6000", "ada-status.1", "ada-top.1", "ada-mark.1", "ada-trigger.1 ada trigger add", "ada-trigger.1 ada trigger list",
         "ada-trigger.1 ada trigger remove", "ada-stop.1")


@pytest.mark.traces
def test_a_server_under_way(scene):
    here = scene("server")
    (command, shown), = [step for step in STEPS["ada-trace.1"] if step[0].endswith("./server")]
    with open(here.place / "said", "w+") as said, subprocess.Popen(["bash", "-c", "exec " + command], cwd=here.place, env=here.environment, text=True,
                                                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, start_new_session=True) as server:
        try:
            assert server.stdout.readline() == "ready\n"
            for step in STORY:
                if step.isdigit():
                    print(step, file=server.stdin, flush=True)
                    assert server.stdout.readline() == "done\n"
                    continue
                page, _, begin = step.partition(" ")
                tried = [example for example in STEPS[page] if of(SCENES, page, example[0]) == "server" and example[0].startswith(begin)]
                assert tried, step
                for example in tried:
                    try_example(here, page, *example)
        finally:
            server.stdin.close()        # the server ends, if not the recording before
            server.wait(timeout=PATIENCE)
        said.seek(0)
        text = said.read()
    assert examples.is_alike(text, shown.splitlines()[0]), text
    assert "was not recorded to its end: the recording was ended by the user" in text and "was not recorded to its end: the recording was ended by the user" in shown
    (test, shown), = [step for step in STEPS["ada-trigger.1"] if step[0].startswith("ada trigger test")]
    try_example(here, "ada-trigger.1", test, shown)


@pytest.mark.traces
def test_the_rules_of_ada_triggers_are_rules(scene):
    """All in one file, as the page says."""
    rules, = examples.of_page(PAGES["ada-triggers.7"])[1]
    here = scene("trace")
    (here.place / "rules").write_text(rules)
    here.run("ada trace -q --output=by_rules --trigger-file=rules ./words <words.c")
