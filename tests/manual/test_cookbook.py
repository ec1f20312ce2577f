"""docs/cookbook.md: the commands of each recipe run as they stand there, and do what it promises. Those for systemd and containers are
in tests/control/test_recipes.py, as far as that goes without either; gdb's is in tests/real/test_gdb.py, the terminal's in tests/top and tests/tui."""
import json
import pathlib
import re
import shutil
import subprocess

import pytest

from examples import PATIENCE, Scene

HERE = pathlib.Path(__file__).resolve().parent
BOOK = (HERE.parents[1] / "docs" / "cookbook.md").read_text()
ELSEWHERE = {"With nothing but a terminal", "Under systemd", "In a container", "In gdb"}
SLOW = "300000\n"                   # a request of so many microseconds


def recipe(title):
    """Its commands in their order. The program's slow function has another name here."""
    section = BOOK.split(f"\n## {title}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return "".join(blocks).replace("handle_request", "handle").splitlines()


@pytest.fixture
def scene(ada, tmp_path):
    """A server, and two programs that do nothing but call."""
    made = Scene(ada, tmp_path)
    made.compile(HERE / "programs" / "server.c", HERE / "programs" / "ticks.c")
    for name in ("program", "test-suite"):
        shutil.copy(tmp_path / "ticks", tmp_path / name)
    return made


def counted(scene, session="ada_traces/latest"):
    """Calls by function; and what the answer says of what was lost."""
    answer = json.loads(scene.run(f"ada report --format=json {session}"))
    return {row["function"]: row["calls"] for row in answer["rows"]}, answer["completeness"]


def test_each_recipe_is_tried():
    assert set(re.findall(r"^## (.*)$", BOOK, re.MULTILINE)) == ELSEWHERE | {"A server for days", "Less loss", "Less cost", "From CI"}


@pytest.mark.traces
def test_a_server_for_days(scene):
    """What it says while the server runs, and of a slow request at the end."""
    trace, status, narrate, limited, told = recipe("A server for days")
    with subprocess.Popen(["bash", "-c", "exec " + trace], cwd=scene.place, env=scene.environment, text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True) as server:
        try:
            assert server.stdout.readline() == "ready\n"
            assert status == "ada status --watch" and ", 1 process, 0 windows of 0 marks" in scene.serve(status, 1)
            print(SLOW, end="", file=server.stdin, flush=True)
            assert server.stdout.readline() == "done\n"
        finally:
            server.stdin.close()
            assert server.wait(timeout=PATIENCE) == 0
    assert re.search(r"A call of handle took (\d{3} ms|\d[\d.]* s)", scene.run(narrate))

    scene.run(limited, said=SLOW)
    calls, completeness = counted(scene)
    assert calls["handle"] == 1 and completeness["complete"]
    assert list((scene.place / "ada_traces" / "latest").glob("pid_*/thread_*/index*.atp"))       # it is packed, as the recipe says

    for _ in range(5):
        said = scene.run(told, said=SLOW)
        if " LOST " not in said:        # the call's end may be among them, and what was lost is not judged
            break
    assert "1 window of 1 mark" in said, said
    assert (scene.place / "slow.log").read_text().startswith("A call of handle took ")


@pytest.mark.traces
def test_less_loss(scene):
    for command in recipe("Less loss"):
        scene.run(command)
        calls, completeness = counted(scene)
        assert calls["pair"] == 1000 and completeness["complete"], command
    larger, packed, fewer, waits = recipe("Less loss")
    assert "--on-full=block" in waits and "--exclude='hash_*'" in fewer
    scene.run(fewer.replace("hash_*", "tic*"))
    assert counted(scene)[0].keys() & {"tick", "pair"} == {"pair"}


@pytest.mark.traces
def test_less_cost(scene):
    trace, cost, tune, again, budget = recipe("Less cost")
    assert "1 thread" in scene.run(trace.replace("./program", "./program 200000"))
    assert re.search(r"^ *800000 .* tick +program$", scene.run(cost), re.MULTILINE)
    scene.run(tune)
    left_out = (scene.place / "leave-out").read_text()
    assert re.search(r"^tick$", left_out, re.MULTILINE), left_out
    scene.run(again)
    assert "tick" not in counted(scene)[0]
    scene.run(budget)
    assert "main" in counted(scene)[0]


@pytest.mark.traces
def test_from_ci(scene):
    """The status is the tests'; where they fail, why is told, and the recording is small."""
    record, compare, flame = recipe("From CI")
    assert scene.run(record) == ""
    (scene.place / "test-suite").write_text("#!/bin/sh\n./program\nexit 3\n")
    said = scene.run(record, status=1)
    assert "ended with exit status 3" in said and " bytes an event" in said
    for version in ("before", "after"):
        scene.run(f"ada trace -q --output={version} -- ./program {2000 if version == 'after' else 1000}")
    assert re.search(r"^ *4000 +2000 .* tick ", scene.run(compare), re.MULTILINE)
    scene.run(flame)
    assert (scene.place / "flame.svg").read_text().lstrip().startswith("<")
