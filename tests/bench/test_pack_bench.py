"""The bench of what is packed: a small run comes to its end and tells of each question."""
import pathlib
import re
import subprocess

import pytest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
TOLD = re.compile(r"^(report.*?) +plain +([0-9,]+) ms, packed +([0-9,]+) ms: ([0-9.]+) times", re.M)


@pytest.mark.traces
def test_a_small_run_asks_both(build_dir, tmp_path, monkeypatch, need):
    need(pathlib.Path("/usr/include/lua5.4/lua.h").exists(), "liblua5.4-dev")
    monkeypatch.setenv("BENCH_PLACE", str(tmp_path))
    done = subprocess.run([BENCH / "pack_bench", build_dir / "ada", "0.1"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    plain, packed = map(float, re.search(r"bytes an event: plain ([0-9.]+), packed ([0-9.]+);", done.stdout).groups())
    assert 32 <= plain < 40 and packed < plain / 4
    assert [row[0] for row in TOLD.findall(done.stdout)] == [
        "report", "report of the middle 1 %", "report, nothing in the page cache", "report without sums", "report without sums, nothing cached"]
    assert not list(tmp_path.iterdir())
