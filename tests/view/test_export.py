"""`ada view --export`: a range or a window as one file, which a browser opens without a server and without a connection."""
import json
import re

import pytest
from conftest import opened_page

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
        page.click("#found p + button")
        page.until("return document.getElementById('call').dataset.of")
        assert page.text("#call h2") == "malloc"
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
        page.run("const { pick } = await import('ada/input.js'); await pick(arguments[0], arguments[1])", data["threads"][0], begun["index_seq"])
        page.until("return document.getElementById('call').dataset.of")
        assert f"return_address {begun['detail']['return_address']}" in page.text("#call")


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
