"""What recording costs a program: the ledger of its manifest, `ada report --cost`, and the line behind a run that cost much."""
import json
import subprocess

import pytest
from harness import changed_manifest

TICKS, PAIRS = 150_000, 40_000
SOURCE = r"""#include <stdlib.h>
__attribute__((noinline)) long tick(long n) { __asm__ volatile("" ::: "memory"); return n + 1; }
__attribute__((noinline)) long pair(long n) { __asm__ volatile("" ::: "memory"); return tick(n) - tick(n); }
int main(int argc, char **argv)
{
	long sum = 0;
	for (long i = atol(argv[1]); i; i--)
		sum += tick(i);
	for (long i = atol(argv[2]); i; i--)
		sum += pair(i);
	return sum == 42;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("cost") / "ticks"
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", path], input=SOURCE.encode(), check=True)
    return path


def as_json(ada, *arguments):
    return json.loads(ada("report", "--cost", "--format=json", *arguments).stdout)


def test_functions_and_what_they_cost(ada, program, tmp_path):
    assert ada.trace(tmp_path / "traces", [program, str(TICKS), str(PAIRS)], "--on-full=block").status == 0
    session = tmp_path / "traces" / "latest"
    answer = as_json(ada, session)
    rows = {row["function"]: row for row in answer["rows"]}
    ticks, pairs = 2 * (TICKS + 2 * PAIRS), 2 * PAIRS
    assert (rows["tick"]["events"], rows["pair"]["events"]) == (ticks, pairs)
    assert rows["tick"]["leaf_share"] == pytest.approx(1, abs=0.01)   # of calls cut by a batch nothing is known
    assert rows["pair"]["leaf_share"] == 0
    process, = answer["processes"]
    assert process["events"] == answer["completeness"]["events"] + answer["completeness"]["lost"]
    assert rows["tick"]["share"] == pytest.approx(ticks / process["events"], abs=0.001)
    assert 0 < process["eventNs"] < 256
    assert process["costNs"] == pytest.approx(process["events"] * process["eventNs"], rel=0.01)
    assert process["cpuNs"] > 0
    assert [row["function"] for row in as_json(ada, "--limit=1", session)["rows"]] == ["tick"]
    assert [row["function"] for row in as_json(ada, "--function=pa*", session)["rows"]] == ["pair"]
    text = ada("report", "--cost", session).stdout.decode()
    assert f"{process['process']}: recording took about " in text and "% " in text


def test_a_program_that_costs_much_is_told_so(ada, program, tmp_path):
    words = ["trace", f"--output={tmp_path / 'traces'}", "--index-mode=circular", "--detail=off", program]
    dear = ada(*words, "20000000", "0").stderr.decode()
    assert "recording took " in dear and "; 1 function made 95 % of the events; --budget=5% would leave it out, `ada tune` says which" in dear
    assert "recording took" not in ada(*words, "1000", "0").stderr.decode()


@pytest.mark.parametrize("option", ["--diff=x", "--thread=1", "--from=+1s", "--to=+1s", "--source"])
def test_options_that_have_no_meaning_there(ada, option, tmp_path):
    refused = ada("report", "--cost", option, tmp_path)
    assert (refused.status, refused.stdout, refused.stderr.count(b"\n")) == (125, b"", 1)


def test_what_to_leave_out_for_a_given_cost(ada, program, tmp_path):
    words = [program, str(TICKS), str(PAIRS)]
    assert ada.trace(tmp_path / "traces", words, "--on-full=block").status == 0
    session = tmp_path / "traces" / "latest"
    told = ada("tune", "--cost=0.01", session)      # of whatever CPU time this machine took to start it
    patterns = [line for line in told.stdout.decode().splitlines() if line and not line.startswith("#")]
    assert told.status == 0 and sorted(patterns) == ["pair", "tick"]
    rows = {row["function"]: row for row in ada.rows("tune", session, "--cost=0.01")}
    assert [name for name, row in rows.items() if row["leave_out"]] == patterns
    assert rows["main"]["blurred_ns"] == rows["tick"]["self_ns"] + rows["pair"]["self_ns"]
    changed_manifest(session, tmp_path / "dear", lambda document: document["ledger"].update(costNs=2 * document["ledger"]["cpuNs"]))
    assert not any(row["leave_out"] for row in ada.rows("tune", tmp_path / "dear", "--cost=99"))    # an estimate, of more than there can be

    (tmp_path / "left-out").write_bytes(told.stdout)
    assert ada.trace(tmp_path / "traces", words, f"--exclude-from={tmp_path / 'left-out'}").status == 0
    functions = {row["function"] for row in ada.rows("report", session)}
    assert "main" in functions and not functions & {"tick", "pair"}


def test_a_cost_estimated_as_more_than_all(ada, program, tmp_path):
    """Prices are estimates: a program that does nothing but calls may seem to have cost more than its CPU time."""
    assert ada.trace(tmp_path / "traces", [program, str(TICKS), str(PAIRS)], "--on-full=block").status == 0
    session = tmp_path / "traces" / "latest"
    path, = session.glob("pid_*/manifest.json")
    manifest = json.loads(path.read_text())
    manifest["ledger"]["cpuNs"] = manifest["ledger"]["costNs"] - 1
    path.write_text(json.dumps(manifest))
    told = ada("tune", "--cost=0.01", session)
    assert told.status == 0 and {"pair", "tick"} <= set(told.stdout.decode().splitlines())


@pytest.mark.parametrize("percent", ["0", "100", "-1", "many", "5x"])
def test_costs_that_are_none(ada, percent, tmp_path):
    refused = ada("tune", f"--cost={percent}", tmp_path)
    assert refused.status == 125 and f"'{percent}' is no percentage".encode() in refused.stderr


def test_a_recording_that_cost_nothing_worth_telling(ada, program, tmp_path):
    """What an event costs is measured before a program begins, however few it makes."""
    assert ada.trace(tmp_path / "traces", [program, "1", "1"]).status == 0
    session = tmp_path / "traces" / "latest"
    told = ada("tune", session)
    assert told.status == 0 and all(line.startswith(b"#") for line in told.stdout.splitlines())
    ledger, = (json.loads(path.read_text())["ledger"] for path in session.glob("pid_*/manifest.json"))
    assert 0 < ledger["eventNs"] < ledger["objectNs"]


def test_a_recording_of_which_nothing_is_known(ada, program, tmp_path, monkeypatch):
    """Without restartable sequences each event takes the slow path, and no short call is short."""
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
    assert ada.trace(tmp_path / "traces", [program, "1", "1"]).status == 0
    told = ada("tune", tmp_path / "traces" / "latest")
    assert (told.status, told.stdout, told.stderr.count(b"\n")) == (125, b"", 1)


def test_a_file_of_patterns_that_is_not_there(ada, tmp_path):
    refused = ada("trace", f"--exclude-from={tmp_path / 'missing'}", "--", "/bin/true")
    assert refused.status == 125 and b"missing" in refused.stderr
