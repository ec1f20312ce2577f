"""The drain's bench: its program makes the calls that it says, and a small run comes to its end with all of them told of."""
import pathlib
import re
import subprocess

import pytest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
TOLD = re.compile(r"^(default mode|--detail=off): ([0-9,]+) events made.*\n +([0-9,]+) kept.*; ([0-9,]+) lost, ([0-9,]+) of them", re.M)


@pytest.fixture
def paced(tmp_path):
    subprocess.run(["gcc", "-O2", "-pthread", BENCH / "paced.c", "-o", tmp_path / "paced"], check=True)
    return tmp_path / "paced"


@pytest.mark.parametrize("threads, calls", [(1, 8192), (2, 8192), (3, 12288)])
def test_each_thread_makes_its_share_in_whole_batches(paced, threads, calls):
    done = subprocess.run([paced, "80000", str(threads), "0.1"], capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[0]) == calls


@pytest.mark.parametrize("words", [[], ["0", "1", "1"], ["1000", "0", "1"], ["1000", "65", "1"], ["1000", "1", "-1"]])
def test_paces_that_make_no_sense_are_refused(paced, words):
    done = subprocess.run([paced, *words], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "paced CALLS_A_SECOND THREADS SECONDS\n")


@pytest.mark.traces
def test_a_small_run_tells_what_was_made_kept_and_lost(build_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_PLACE", str(tmp_path))
    done = subprocess.run([BENCH / "drain_bench", build_dir / "ada", "0.2", "0.5"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = TOLD.findall(done.stdout)
    assert [row[0] for row in rows] == ["default mode", "--detail=off"]
    for _, *figures in rows:
        made, kept, lost, first = (int(figure.replace(",", "")) for figure in figures)
        assert made == 2 * 2 * 28672                # two threads, each 25,000 calls in whole batches of 4,096
        assert first <= lost
        assert made <= kept + lost <= made + 10000          # main, and the naps' library calls
    assert not list(tmp_path.iterdir())
