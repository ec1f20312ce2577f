"""Exports of a real recording: threads, exceptions, arguments."""
import subprocess

import pytest

from calls import from_chrome, from_csv, from_dump, from_speedscope, reported, shapes, shifted, sums
from harness import check_recording
from svg import check_against_folded

pytestmark = pytest.mark.traces
PROGRAM = """
#include <stdexcept>
#include <thread>
enum Colour { RED = 2, GREEN = 5 };
#define TRACED extern "C" __attribute__((noinline))
TRACED int leaf(int n) { asm volatile("" ::: "memory"); return n + 1; }
TRACED int paint(Colour colour, const char *what, unsigned long size)
{
	asm volatile("" :: "r"(what), "r"(size) : "memory");
	return leaf(colour);
}
TRACED int thrower(int depth)
{
	if (!depth)
		throw std::runtime_error("no");
	int below = thrower(depth - 1);
	asm volatile("" ::: "memory");
	return below;
}
TRACED int catcher(int rounds)
{
	int caught = 0;
	for (int i = 0; i < rounds; i++)
		try { thrower(3); } catch (const std::exception &) { caught += leaf(0); }
	return caught;
}
TRACED void work() { for (int i = 0; i < 50; i++) leaf(i); catcher(5); }
int main()
{
	std::thread first(work), second(work);
	int caught = catcher(10);
	first.join();
	second.join();
	return paint(GREEN, "the fence", 1ul << 40) + caught != 16;
}
"""
EXPECTED = {"leaf": 2 * (50 + 5) + 10 + 1, "thrower": 20 * 4, "catcher": 3, "work": 2, "paint": 1, "main": 1}


@pytest.fixture(scope="module")
def recording(ada, tmp_path_factory):
    directory = tmp_path_factory.mktemp("traced")
    (directory / "program.cc").write_text(PROGRAM)
    subprocess.run(["g++", "-O1", "-g", "-pthread", "-o", directory / "program", directory / "program.cc"], check=True)
    result = ada.trace(directory / "out", [directory / "program"], "--no-libcalls", "--trigger=symbol=paint@pre=0ns,post=10s")
    assert result.status == 0, result.stderr.decode()
    yield check_recording(ada, directory / "out").path
    subprocess.run(["rm", "-r", directory])


def test_all_formats_agree(ada, recording, export, export_perfetto):
    want, report = from_dump(ada, recording), reported(ada, recording)
    assert {name: report[name][0] for name in EXPECTED} == EXPECTED and sums(want) == report
    assert shapes(from_csv(export("csv", recording))) == shapes(want)
    trace = export_perfetto(recording)
    assert shapes(trace.threads()) == shapes(want)
    profiles, frames, _ = from_speedscope(export("speedscope", recording))
    assert sums(profiles) == report
    text = export("chrome", recording)
    base = int(text.partition(b'"startNs":"')[2].partition(b'"')[0])
    chrome = from_chrome(text, base)
    assert shapes(shifted(chrome.threads, base)) == shapes(want) and sums(chrome.threads) == report
    files = {f["name"]: (f["file"].rpartition("/")[2], f.get("line")) for f in frames}
    lines = PROGRAM.split("\n")
    for name, head in (("leaf", "int leaf("), ("catcher", "int catcher(")):
        assert files[name] == ("program.cc", next(n for n, line in enumerate(lines, 1) if head in line))


def test_exceptions(recording, export_perfetto):
    todo, found = [c for roots in export_perfetto(recording).threads().values() for c in roots], {}
    while todo:
        call = todo.pop()
        found.setdefault(call.name, set()).add(call.outcome)
        todo += call.children
    assert (found["thrower"], found["catcher"], found["leaf"]) == ({"exception"}, {"return"}, {"return"})


def test_arguments_in_windows(recording, export_perfetto):
    def find(calls):
        for call in calls:
            yield from [call] if call.name == "paint" else find(call.children)
    trace = export_perfetto(recording, "--window=0")
    (paint,) = [c for roots in trace.threads().values() for c in find(roots)]
    notes = paint.notes
    assert notes["size"] == 2**40 and notes["result"] == 6 and "GREEN" in str(notes["colour"]) and "what" in notes
    assert paint.location[0].endswith("program.cc") and paint.location[1:] == ("paint", PROGRAM.split("int paint(")[0].count("\n") + 1)
    (mark,) = [i for instants in trace.instants.values() for i in instants if i.category == "mark"]
    assert (mark.name, mark.notes["rule"], mark.notes["index_seq"], mark.ns) == (
        "symbol:paint", "symbol=paint@pre=0ns,post=10s", notes["index_seq"], paint.start)


def test_a_flame_graph_of_names_with_angle_brackets(recording, export):
    drawn = check_against_folded(export("svg", recording), export("folded", recording), False)
    assert any("<" in name for path in drawn for name in path)
    assert {path[-1] for path in drawn if path} >= {"main", "work", "catcher", "thrower"}
