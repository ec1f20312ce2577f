"""`ada view --export`: a range or a window as one file, which a browser opens without a server and without a connection."""
import json
import pathlib
import re
import subprocess

import pytest
from conftest import opened_page
from harness import Session

RANDOM = "random:11:3:30000"


@pytest.fixture
def exported(ada, session, tmp_path):
    """exported(SCENARIO, OPTION...): the file."""
    def make(scenario, *options):
        path = tmp_path / "page.html"
        result = ada("view", f"--export={path}", *options, session(scenario))
        assert result.status == 0, result.stderr.decode()
        assert not result.stdout
        return path
    return make


def baked(path):
    return json.loads(re.search(r'<script type="application/json" id="baked">(.*?)</script>', path.read_text(), re.DOTALL)[1])


def test_the_page_works_from_a_file(ada, browser, exported, session):
    path = exported(RANDOM)
    with opened_page(browser, f"file://{path}") as page:
        assert page.run("return document.querySelectorAll('#labels > div').length") == 3
        rows = ada.rows("report", session(RANDOM))
        page.click("#tab-report")
        page.until("return document.getElementById('report').dataset.of")
        assert page.run("return document.querySelectorAll('#report tbody tr').length") == len(rows)
        page.click("#tab-flame")
        page.until("return document.getElementById('flame').dataset.of")
        assert page.run("return document.querySelectorAll('.frame').length") > 3
        page.click("#tab-narrative")
        page.until("return document.getElementById('narrative').dataset.of")
        page.run("document.getElementById('canvas').focus()")
        page.keys("w", "w", "/", *"malloc")
        page.until("return document.getElementById('found').dataset.of === 'malloc'")
        assert "in the whole range of this file" in page.text("#found")
        page.click("#found p + button")
        page.until("return document.getElementById('call').dataset.of")
        assert page.text("#call h2") == "malloc"
        hits = page.run("const { ask } = await import('ada/api.js'), found = []; let told = {}, at = { time: 0 };"
                        "while ((told = await ask('hit', { function: '=malloc', step: 1, ...at })).hit) { at = { time: told.hit.at, thread: told.hit.thread, seq: told.hit.seq }; found.push(`${told.hit.thread} ${told.hit.seq}`); }"
                        "return found")
        assert len(hits) == len(set(hits)) > 3
        before = page.run("return document.getElementById('call').dataset.of")
        page.click("#hit-next")
        page.until("return document.getElementById('call').dataset.of !== arguments[0]", before)
        page.run("document.getElementById('canvas').focus()")
        page.keys("f", "\ue014")
        page.until("return document.getElementById('call').dataset.of")
        assert page.text("#call h2") == "malloc"


def test_pictures_of_it_are_the_servers(browser, exported, view):
    """Where each call has a slice of its own, any zoom is the same: of both the longest of a pixel, and how many there are."""
    server, path = view("story"), exported("story")
    end = server.facts["end"]
    with opened_page(browser, f"file://{path}") as page:
        for first, last, columns in ((0, end, 700), (0, end // 3 + 1, 50), (end // 4, end // 2, 300)):
            asked = {"from": first, "to": last, "columns": columns, "depths": 64, "threads": "0,1"}
            wanted, told = server.ask("timeline", **asked), page.run("return (await import('ada/api.js')).ask('timeline', arguments[0])", asked)
            for one, other in zip(wanted["threads"], told["threads"]):
                def slices(thread, names):
                    flat = thread["slices"]
                    return sorted((*flat[at:at + 4], names[flat[at + 4]][0], *flat[at + 5:at + 8]) for at in range(0, len(flat), 8))
                assert slices(one, wanted["functions"]) == slices(other, told["functions"])


def test_a_window_has_its_detail(browser, exported):
    path = exported("detail", "--window=0")
    data = baked(path)
    details = [row for row in data["details"][0] if row.get("detail")]
    assert details and len(data["details"]) == 1
    begun = next(row for row in details if row["kind"] == "call")
    with opened_page(browser, f"file://{path}") as page:
        page.run("const { pick } = await import('ada/pick.js'); await pick(arguments[0], arguments[1])", data["threads"][0], begun["index_seq"])
        page.until("return document.getElementById('call').dataset.of")
        assert f"return_address {begun['detail']['return_address']}" in page.text("#call")


@pytest.fixture(scope="module")
def opened(ada, tmp_path_factory):
    """A shop that opens six times: six windows."""
    place = tmp_path_factory.mktemp("opened")
    subprocess.run(["cc", "-g", "-O1", "-o", place / "shop", pathlib.Path(__file__).parent / "shop.c", "-pthread"], check=True)
    (place / "input").write_text("open\n" * 6)
    with open(place / "input") as lines:
        assert ada.trace(place / "output", [place / "shop", "often"], "--trigger=symbol=open_shop@pre=1ev,post=20ev", stdin=lines).status == 0
    return Session(place / "output").path


@pytest.mark.traces
def test_all_windows_have_their_detail(ada, browser, opened, tmp_path):
    windows = ada.rows("windows", opened)
    assert len(windows) == 6
    path = tmp_path / "page.html"
    assert ada("view", f"--export={path}", opened).status == 0
    rows = [json.loads(line) for line in ada("dump", "--detail", "--format=json", opened).stdout.splitlines()[:-1]]
    calls = [row for row in rows if row["kind"] == "call"]
    wanted = {(row["thread"], row["index_seq"]): row["detail"] for row in calls if row["detail"]}
    details = {(row["thread"], row["index_seq"]): row["detail"] for window in baked(path)["details"] for row in window}
    assert details == wanted and len(wanted) > 30
    shown = next(thread for thread in baked(path)["timeline"]["threads"] if thread["thread"] == 0)["slices"][7::8]
    last = max(seq for seq in shown if (0, seq) in wanted)
    without = max(seq for seq in shown if seq >= 0 and (0, seq) not in wanted)
    pick = "const { pick } = await import('ada/pick.js'); await pick(0, arguments[0])"
    with opened_page(browser, f"file://{path}") as page:
        for seq, lost, words in ((last, "", "return_address"), (without, "", "Outside every window"), (last, "baked.details = [];", "than this file can hold")):
            page.run("const { baked } = await import('ada/baked.js'); const panel = document.getElementById('call'); panel.dataset.of = '';" + lost)
            page.run(pick, seq)
            page.until("return document.getElementById('call').dataset.of === arguments[0]", f"0 {seq}")
            assert words in page.text("#call")


def test_names_end_no_script(exported, view):
    """What a stranger's function is called stays text."""
    path = exported("names")
    data = baked(path)
    told = view("names").ask("timeline", threads="0", columns=16384, depths=256, **{"from": data["from"], "to": data["to"]})
    assert data["timeline"]["functions"] == told["functions"]
    text = path.read_text()
    assert text.count("<script") == text.count("</script>") == 4
    assert "default-src 'none'" in text


def test_bad_wishes(ada, session, tmp_path):
    for words in (["--from=+1s"], ["--window=0"], [f"--export={tmp_path}/none/x.html"], [f"--export={tmp_path}/x.html", "--window=7"],
                  [f"--export={tmp_path}/x.html", "--from=yesterday"]):
        result = ada("view", "--no-browser", *words, session("plain"))
        assert result.status == 125 and len(result.stderr.splitlines()) == 1, words
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("events, coarse", [(100000, False), (400000, True)])
def test_a_file_can_be_attached_to_a_report(ada, build_dir, tmp_path, events, coarse):
    """Of 60 depths, where each slice is one of many: what is coarser is told."""
    subprocess.run([build_dir / "tests" / "query" / "synth", f"random:11:3:{events}", tmp_path / "session"], check=True)
    path = tmp_path / "page.html"
    result = ada("view", f"--export={path}", tmp_path / "session")
    assert result.status == 0 and not result.stdout and path.stat().st_size < 6 << 20
    data, words = baked(path), result.stderr.decode()
    assert (data["columns"] < 16384) == coarse
    assert ("draws calls shorter than" in words and str(path) in words and "--from and --to" in words) if coarse else not words


def test_a_file_that_cannot_be_written_is_told_and_leaves_nothing(ada, session, tmp_path):
    (tmp_path / "place").mkdir()
    kept = tmp_path / "kept"
    kept.write_text("as it was")
    for place, limit in (("place", ""), ("kept", "ulimit -f 200; "), ("new", "ulimit -f 200; ")):
        result = subprocess.run(["bash", "-c", f'{limit}exec "$@"', "sh", ada.path, "view", f"--export={tmp_path / place}", session("plain")],
                                capture_output=True, timeout=60)
        assert result.returncode == 125 and b"can't write" in result.stderr and len(result.stderr.splitlines()) == 1, (place, result)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "place"] and kept.read_text() == "as it was"
    assert not list((tmp_path / "place").iterdir())
