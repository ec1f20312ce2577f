"""Children of forks, as fast as they come: each is recorded from its first call on, with the names of its functions."""
import json
import os
import pathlib
import signal
import subprocess

import pytest
from harness import Session, check_recording, keeper_of, wait_for_end

TRUE = "/bin/true"
SMALL = ("--detail=off", "--index-buffer=1M")       # of each process: there are many


@pytest.fixture(scope="module")
def children(tmp_path_factory):
    path = tmp_path_factory.mktemp("children") / "children"
    subprocess.run(["gcc", "-O1", "-pthread", "-Wall", "-Werror", "-o", path, pathlib.Path(__file__).with_name("children.c")], check=True)
    return path


@pytest.mark.parametrize("how, images, options", [(("turn", 60), 61, ()), (("chain", 30), 31, SMALL), (("crowd", 200), 201, SMALL),
                                                  (("exec", 30, TRUE), 61, SMALL)], ids=["turn", "chain", "crowd", "exec"])
def test_children_of_forks(ada, children, tmp_path, how, images, options):
    if ada is None:
        pytest.skip("tests ada itself")
    result = ada.trace(tmp_path / "out", [children, *how], *options, timeout=300)
    assert result.status == 0, result.stderr.decode()
    recording = check_recording(ada, tmp_path / "out")
    manifests = recording.manifests()
    assert len(manifests) == images and recording.lost() == 0
    assert json.loads((recording.path / "session.json").read_text())["notRecorded"] == []
    calls = [row["calls"] for row in ada.rows("report", recording.path) if row["function"] == "leaf"]
    assert calls == [how[1]]
    for name, manifest in manifests.items():
        traced = [module for module in manifest["modules"] if module["traced"]]
        assert traced and all((recording.path / name / module["symbols"]).exists() for module in traced)


def test_no_child_has_anything_of_another(ada, children, tmp_path):
    """The memory of one that has ended may be the next one's: of each the calls and threads are its own."""
    if ada is None:
        pytest.skip("tests ada itself")
    result = ada.trace(tmp_path / "out", [children, "various", 40], timeout=300)
    assert result.status == 0, result.stderr.decode()
    recording = check_recording(ada, tmp_path / "out")
    assert recording.lost() == 0
    asked = ada("query", "--format=json", recording.path, "SELECT tid, count(*) AS calls FROM calls WHERE function = 'leaf' GROUP BY tid")
    of_tid = {row["tid"]: row["calls"] for row in json.loads(asked.stdout)["rows"]}
    calls = {manifest["exit"]["status"]: [of_tid.pop(thread["tid"]) for thread in manifest["threads"]]
             for manifest in recording.manifests().values() if manifest["exit"]["status"]}
    assert calls == {i: [i + (0 if i % 5 else 3000)] * (1 + i % 3) for i in range(1, 41)} and not of_tid


def recovered_by(keeper, process, output):
    """What the keeper made of a killed recorder's session, once the program is dead, too."""
    process.wait()
    os.killpg(process.pid, signal.SIGKILL)
    wait_for_end(keeper, 60)
    return Session(output)


@pytest.mark.parametrize("finished", [1, 5, 30])
def test_a_recorder_that_dies_amid_short_children(ada, children, tmp_path, finished):
    """Memory of dead ones lies about then, emptied in part: recovered is of each what it did, or less, and nothing of another."""
    if ada is None:
        pytest.skip("tests ada itself")
    count = 200
    process = subprocess.Popen([ada.path, "trace", "--quiet", f"--output={tmp_path / 'out'}", "--", children, "various", str(count)],
                               start_new_session=True)
    while sum('"finalized": true' in path.read_text() for path in tmp_path.glob("out/session_*/pid_*/manifest.json")) < finished:
        assert process.poll() is None
    keeper = keeper_of(process.pid)
    process.kill()
    recording = recovered_by(keeper, process, tmp_path / "out")
    assert ada("verify", recording.path).status == 0
    asked = ada("query", "--format=json", recording.path, "SELECT tid, count(*) AS calls FROM calls WHERE function = 'leaf' GROUP BY tid")
    of_tid = {row["tid"]: row["calls"] for row in json.loads(asked.stdout)["rows"]}
    whole = 0
    for manifest in recording.manifests().values():
        number = manifest["exit"].get("status")
        calls = [of_tid.get(thread["tid"], 0) for thread in manifest["threads"]]
        if number and not manifest.get("recovered"):
            assert calls == [number + (0 if number % 5 else 3000)] * (1 + number % 3)
            whole += 1
        assert len(calls) <= 3 and all(some <= count + 3000 for some in calls)
    assert whole >= finished


@pytest.mark.parametrize("limit", [(), ("prlimit", f"--as={1 << 40}")], ids=["taken", "given"])
def test_a_recorder_that_dies_before_a_child_has_its_names(ada, build_dir, children, tmp_path, limit):
    """Where addresses are limited no memory lies ready: the recorder gives the child some, and a child runs as soon as it has it."""
    if ada is None:
        pytest.skip("tests ada itself")
    if ada.sanitized:
        pytest.skip("a sanitizer wants to be loaded first")
    made, now = tmp_path / "made", tmp_path / "now"
    process = subprocess.Popen([*limit, ada.path, "trace", "--quiet", f"--output={tmp_path / 'out'}", "--", children, "stay", made],
                               env={**os.environ, "LD_PRELOAD": str(build_dir / "tests" / "images" / "libat_link.so"), "AT_LINK": str(now)},
                               start_new_session=True)
    while not made.exists():
        assert process.poll() is None
    keeper = keeper_of(process.pid)
    now.touch()
    recording = recovered_by(keeper, process, tmp_path / "out")
    assert process.returncode == -signal.SIGKILL
    assert ada("verify", recording.path).status == 0
    assert [row["calls"] for row in ada.rows("report", recording.path) if row["function"] == "leaf"] == [1]


def test_a_program_has_the_name_that_it_was_started_by(ada, tmp_path):
    """A link, as busybox has many; from where it lies, by PATH, and of a script the interpreter."""
    if ada is None:
        pytest.skip("tests ada itself")
    (tmp_path / "applet").symlink_to("/bin/true")
    (tmp_path / "script").write_text(f"#!/bin/sh\n./applet\n{tmp_path}/applet\nPATH={tmp_path} exec applet\n")
    (tmp_path / "script").chmod(0o755)
    result = ada.trace("out", ["./script"], *SMALL, cwd=tmp_path)
    assert result.status == 0, result.stderr.decode()
    programs = [manifest["program"] for manifest in check_recording(ada, tmp_path / "out").manifests().values()
                if manifest["exit"]["kind"] != "exec" and "sh" not in pathlib.Path(manifest["program"]).name]
    assert programs == [str(tmp_path / "applet")] * 3, programs
