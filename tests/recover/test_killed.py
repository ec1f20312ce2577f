"""Recorders that are killed with their keepers while four threads run at full rate and windows are being written: their memory is gone,
and what `ada recover` makes of the disk is whole."""
import json
import os
import pathlib
import random
import signal
import subprocess
import time

import jsonschema
import pytest
from harness import Session, check_balance, keeper_of

DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs"
SOURCE = pathlib.Path(__file__).resolve().parent.parent / "windows" / "busy.c"
RUN_S = 20


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("recover") / "busy"
    subprocess.run(["gcc", "-O1", "-pthread", "-o", path, SOURCE], check=True)
    return path


def validators():
    manifest, session = (json.loads((DOCS / f"{name}.schema.json").read_text()) for name in ("manifest", "session"))
    resolver = jsonschema.RefResolver("", session, store={"manifest.schema.json": manifest})
    return jsonschema.Draft202012Validator(manifest), jsonschema.Draft202012Validator(session, resolver=resolver)


def kill_recorder(ada, output, program, after_s, with_program):
    """Kills the recorder so long after its session is there, and the program with it or afterwards. The session's directory."""
    process = subprocess.Popen([ada.path, "trace", "--quiet", f"--output={output}", "--trigger=symbol=mark_me@pre=2ms,post=2ms", "--",
                                program, "4", "100000", str(RUN_S)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    while not (output / "latest" / "session.json").exists():
        assert process.poll() is None
        time.sleep(0.001)
    while not (keeper := keeper_of(process.pid)):
        time.sleep(0.001)
    time.sleep(after_s)         # the moment is at random, nothing is waited for
    os.kill(keeper, signal.SIGKILL)
    if with_program:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
    if not with_program:
        os.killpg(process.pid, signal.SIGKILL)
    return Session(output).path


@pytest.mark.traces
def test_what_a_killed_recorder_left_is_a_recording(ada, program, tmp_path, pytestconfig):
    whole, manifests = 100 if pytestconfig.getoption("--all-variants") else 4, validators()[0]
    chance = random.Random(os.urandom(8).hex())
    for number in range(whole):
        after_s = chance.random() * (0.1 if number % 3 == 0 else 1)
        session = kill_recorder(ada, tmp_path / str(number), program, after_s, number % 2 == 0)
        place = pathlib.Path(json.loads((session / "session.json").read_text())["control"]).parent
        told = f"killed after {after_s} s: {session}"
        assert b"never: its recorder is gone, `ada recover` finishes the session" in ada("info", session).stdout, told
        result = ada("recover", "--format=json", session)
        assert result.status == 0, told + result.stderr.decode()
        assert not place.exists(), told
        rows = json.loads(result.stdout)["rows"]
        verify = ada("verify", session)
        assert verify.status == 0, told + verify.stdout.decode()
        for manifest in Session(session.parent).manifests().values():
            manifests.validate(manifest)
        validators()[1].validate(json.loads((session / "session.json").read_text()))
        for thread in Session(session.parent).threads():
            events = list(Session.events(thread))
            assert not any(event[3] == 4 for event in events) or sum(row["lost"] for row in rows), told
            if not any(event[3] == 4 for event in events):
                assert check_balance(events, ends=False) is None, told
        assert b"nothing to do" in ada("recover", session).stdout, told
        subprocess.run(["rm", "-r", tmp_path / str(number)], check=True)
