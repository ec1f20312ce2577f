"""Direct calls that lead to stubs of their own: what is recorded is what would be recorded without (--debug-unbound), and the program
doesn't notice. The counts are the program's own (program.c)."""
import collections
import subprocess

import pytest

from harness import CALL, RETURN, Session, check_recording
from recording import Process, check_process

LEAF = 100 + 100 + 100 + 2 * 100 + 100 + 50       # plainly, by pointer, from first, from tail, from deep


@pytest.fixture
def record(ada, build_dir, tmp_path):
    program = build_dir / "tests/bound/bound_program"

    def one(*options, run=("plainly",)):
        output = tmp_path / f"recording{len(list(tmp_path.iterdir()))}"
        expected = subprocess.run([program, *run], capture_output=True, timeout=60, check=True).stdout
        result = ada.trace(output, [program, *run], *options)
        assert result.status == 0, result.stderr.decode()
        if run != ("plugins", run[-1]):
            assert result.stdout == expected
        check_recording(ada, output)
        process = Process(Session(output).processes()[0])
        check_process(process)
        process.said = result.stdout.decode()
        return process
    return one


def named(process):
    """(kind, function, depth) of each event of the only thread."""
    thread, = process.threads
    return [(kind, process.names.get(function), depth) for _, function, _, kind, depth, _ in thread.events]


def bound(process, path="bound_program"):
    module, = [m for m in process.manifest["modules"] if m["path"].endswith(path)]
    return module["bound"]


@pytest.mark.parametrize("options", [(), ("--detail=off",), ("--debug-poison",), ("--index-buffer=1M", "--on-full=block")])
def test_streams_agree(record, options):
    with_stubs, without = record(*options), record(*options, "--debug-unbound")
    assert bound(with_stubs) >= 10 and bound(without) == 0
    assert with_stubs.manifest["hooks"]["bound"] == bound(with_stubs) and without.manifest["hooks"]["bound"] == 0
    assert named(with_stubs) == named(without)
    assert sum(kind == CALL and name == "leaf" for kind, name, _ in named(with_stubs)) == LEAF
    assert sum(kind == RETURN and name == "leaf" for kind, name, _ in named(with_stubs)) == LEAF


def test_callers_are_known(record):
    """Each call's return address is its own: by places in the program that call leaf, as often as they do."""
    for options in ((), ("--debug-unbound",)):
        process = record(*options, "--trigger=symbol=main", "--post-roll-sec=5")
        ids, (thread,) = process.ids("leaf"), process.threads
        places = collections.Counter(r.lr for r in thread.details if r.function in ids and r.type == 3)
        # Two sites in plainly, one of the pointer, two in first; tail's is its caller's; deep's
        assert sorted(places.values()) == [50, 100, 100, 100, 100, 100, 100]


def test_pages_that_no_patch_changes_are_left_alone(record):
    """60 callers that aren't hooked, each in a page of its own: few of them are worth a page."""
    process = record("--functions=leaf", run=("far",))
    assert 0 < bound(process) <= 20
    assert sum(kind == CALL for kind, _, _ in named(process)) == 600
    whole = record(run=("far",))
    assert bound(whole) >= 60           # far_* are patched: their pages change anyway


def test_a_library_that_comes_and_goes(record, build_dir):
    plugin = build_dir / "tests/bound/libada-tests-bound-plugin.so"
    process = record("--modules=*plugin*", "--on-full=block", run=("plugins", plugin))
    assert bound(process, "plugin.so") >= 2
    assert len(process.find("plugin_step")) == 60 and len(process.find("plugin_run")) == 20
    assert len(process.find("leaf")) == int(process.said.split()[1])
