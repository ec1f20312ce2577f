"""Sessions of several processes, whose threads have the same numbers: what the page calls them, and where that leads."""
import json
import pathlib
import re
import shlex
import subprocess

import pytest
from conftest import opened_page
from harness import Session

HERE = pathlib.Path(__file__).parent
RANDOM = "random:11:3:30000"
CITED = "return [...document.querySelectorAll('#narrative .link')].map((link) => link.innerText)"


@pytest.fixture(scope="module")
def twins(ada, tmp_path_factory):
    place = tmp_path_factory.mktemp("twins")
    subprocess.run(["cc", "-g", "-O1", "-o", place / "twins", HERE / "twins.c"], check=True)
    result = ada.trace(place / "an output", [place / "twins"], "--trigger=symbol=serve@pre=1ev,post=20ev")
    assert result.status == 0, result.stderr.decode()
    session = Session(place / "an output")
    assert len(session.processes()) == 2
    return session.path


def printed(ada, page):
    """What the command that the panel of the picked call has prints, from a shell in another directory."""
    line = page.run("return [...document.querySelectorAll('#call code')].map((code) => code.innerText).find((text) => text.startsWith('ada dump '))")
    words = shlex.split(line)
    return [json.loads(row) for row in ada(*words[1:], "--format=json").stdout.splitlines()[:-1]]


def number_of(facts, process, thread):
    number, = (i for i, each in enumerate(facts["threads"]) if (each["process"], each["number"]) == (process, thread))
    return number


def picked(page, number, seq, module="./pick.js"):
    page.run(f"document.getElementById('call').dataset.of = ''; const {{ pick }} = await import('{module}'); await pick(arguments[0], arguments[1])", number, seq)
    page.until("return document.getElementById('call').dataset.of?.startsWith(arguments[0])", f"{number} ")


def test_citations_name_their_process_and_lead_there(ada, browser, view):
    server = view(RANDOM)
    wanted = [(each["process"], each["thread"], each["first"]) for row in server.ask("command", run="narrate")["rows"]
              for each in row["evidence"][:6] if "thread" in each]
    with opened_page(browser, server.url, "#tab=narrative") as page:
        page.until("return document.getElementById('narrative').dataset.of")
        shown = [re.fullmatch(r"\[(pid_\d+) thread (\d+) #(\d+)(?:-\d+)?\]", text) for text in page.run(CITED)]
        assert all(shown) and [(each[1], int(each[2]), int(each[3])) for each in shown] == wanted
        firsts = {(process, thread): place for place, (process, thread, _) in reversed(list(enumerate(wanted)))}
        assert len(firsts) == 3 and len({thread for _, thread in firsts}) == 2
        for (process, thread), place in firsts.items():
            number, seq = number_of(server.facts, process, thread), wanted[place][2]
            page.run("document.getElementById('call').dataset.of = ''; document.querySelectorAll('#narrative .link')[arguments[0]].click()", place)
            page.until("return document.getElementById('call').dataset.of === arguments[0]", f"{number} {server.ask('call', thread=number, seq=seq)['seq']}")
            assert f"({process} thread {thread}, tid {server.facts['threads'][number]['tid']})" in page.text("#call")


def test_the_command_of_a_call_prints_that_call(ada, browser, view):
    server = view(RANDOM)
    with opened_page(browser, server.url) as page:
        for number, thread in enumerate(server.facts["threads"]):
            call = server.ask("call", thread=number, seq=5)
            picked(page, number, 5)
            row, = printed(ada, page)
            assert (row["tid"], row["index_seq"], row["function"]) == (thread["tid"], call["seq"], call["function"][0])


def test_labels_name_the_process(browser, view):
    labels = "return [...document.querySelectorAll('#labels > div')].map((label) => label.innerText)"
    with opened_page(browser, view(RANDOM).url) as page:
        for thread, label in zip(view(RANDOM).facts["threads"], page.run(labels), strict=True):
            assert f"{thread['process']} thread {thread['number']}" in label and f"tid {thread['tid']}" in label
    with opened_page(browser, view("story").url) as page:
        assert not any("pid_" in label for label in page.run(labels))


@pytest.mark.traces
def test_twins_are_told_apart(ada, browser, serve, twins, tmp_path):
    """The served page, and the one in a file: each process's call has that process's argument."""
    server, path = serve(twins), tmp_path / "page.html"
    assert ada("view", f"--export={path}", twins).status == 0
    marked = {row["process"]: row for row in map(json.loads, ada("dump", "--format=json", "--function=serve", "--detail", twins).stdout.splitlines()[:-1])
              if row["kind"] == "call"}
    grams = {process: row["detail"]["args"][0]["text"] for process, row in marked.items()}
    assert sorted(grams.values()) == ["1000", "2000"] and {row["thread"] for row in marked.values()} == {0}
    for url, module in ((server.url, "./pick.js"), (f"file://{path}", "ada/pick.js")):
        with opened_page(browser, url) as page:
            for process, row in marked.items():
                picked(page, number_of(server.facts, process, 0), row["index_seq"], module)
                assert f"grams = {grams[process]}" in page.text("#call")
                again, = printed(ada, page)
                assert again["detail"] == row["detail"] and again["tid"] == row["tid"]
