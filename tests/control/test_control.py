"""ada status, stop and trigger on a live session, and clients of its socket that mean no good."""
import contextlib
import json
import os
import pathlib
import select
import socket
import subprocess
import tempfile
import threading
import time

import pytest
from harness import check_recording

NOBODY = 65534


def test_status_knows_the_session(live):
    session = live()
    status = session.wait_for(lambda s: s["events"] > 0, "events come")
    assert status["session"] == str(session.session) and status["recording"] is True
    assert status["lost"] == 0 and status["processes"] == 1
    provider, = status["providers"]
    assert provider["recording"] is True and (session.session / provider["directory"]).is_dir()
    assert [rule["rule"] for rule in status["policy"]["rules"]] == ["crash", "manual"]
    assert session.end() == 3


def test_status_counts_on(live):
    session = live()
    first = session.wait_for(lambda s: s["events"] > 0, "events come")["events"]
    session.wait_for(lambda s: s["events"] > first and s["eventsPerSecond"] > 0, "more events come")


def test_a_pid_directory_is_its_session(live, ada):
    session = live()
    session.wait_for(lambda s: s["providers"], "the process is there")
    place = next(session.session.glob("pid_*"))
    assert json.loads(ada("status", "--json", place).stdout)["session"] == str(session.session)


def test_latest_is_the_default(live, ada, tmp_path):
    session = live(output=tmp_path / "ada_traces")
    assert json.loads(ada("status", "--json", cwd=tmp_path).stdout)["session"] == str(session.session)


def test_watch_prints_a_line_a_second_until_the_end(live, ada):
    session, begin = live(), time.monotonic()
    watch = subprocess.Popen([ada.path, "status", "--watch", session.session], stdout=subprocess.PIPE)
    lines = [watch.stdout.readline().decode() for _ in range(2)]
    assert all("events" in line for line in lines)
    assert session.end() == 3
    rest = watch.stdout.read().decode()
    assert watch.wait(60) == 0
    assert len(lines) + len(rest.splitlines()) <= 1 + time.monotonic() - begin


def test_stop_ends_the_recording_and_not_the_program(live, ada):
    session = live()
    session.call()
    session.control("stop")
    document = json.loads((session.session / "session.json").read_text())
    assert document["finalized"] is True and document["control"] is None     # when `ada stop` comes back
    assert session.process.wait(60) == 0
    session.call("aaa")                                                       # the program is still there
    check_recording(ada, session.output, states=("stopped",))


@pytest.mark.parametrize("command", ["status", "mark", "stop", "trigger list", "trigger add", "trigger remove"])
def test_ended_session(live, ada, command):
    session = live()
    assert session.end() == 3
    arguments = {"trigger add": ["crash"], "trigger remove": ["1"]}.get(command, [])
    text = session.control(command, *arguments, status=125)
    assert text == f"ada {command.split()[0]}: session {session.session} has ended: `ada info` says what it holds\n"


def test_killed_recorder(live):
    session = live()
    session.wait_for(lambda s: s["events"] > 0, "events come")
    place = pathlib.Path(session.address()).parent
    session.process.kill()
    session.process.wait()
    assert "has ended" in session.control("status", status=125)
    assert session.ada("recover", session.session, timeout=30).status == 0      # by now, or by the keeper
    assert not place.exists() and "has ended: `ada info`" in session.control("status", status=125)


# --- live policy ----------------------------------------------------------------------------------------------------------

def rules(session):
    return {row["id"]: row["rule"] for row in json.loads(session.control("trigger list --format=json"))["rows"]}


def test_rules_come_and_go(live):
    session = live("--trigger=crash")
    assert rules(session) == {1: "crash"}
    assert session.control("trigger add", "symbol=asked") == "rule 2, policy version 2\n"
    assert session.control("trigger remove", "1") == "policy version 3\n"
    assert rules(session) == {2: "symbol=asked"}
    assert session.status()["policy"]["version"] == 3
    assert session.control("trigger add", "crash") == "rule 3, policy version 4\n"


def test_a_bad_rule_changes_nothing(live):
    session = live()
    text = session.control("trigger add", "latency=work>5parsecs", status=125)
    assert text.startswith("ada trigger: 'latency=work>5parsecs': at character ") and text.count("\n") == 1
    assert "no rule" in session.control("trigger remove", "99", status=125)
    assert "'x' is no rule's number" in session.control("trigger remove", "x", status=125)
    assert session.status()["policy"]["version"] == 1


def test_the_65th_rule_is_refused(live):
    session = live("--trigger=crash")
    for number in range(63):
        session.control("trigger add", f"symbol=f{number}")
    assert "64 rules" in session.control("trigger add", "symbol=one_too_many", status=125)
    session.control("trigger remove", "5")
    session.control("trigger add", "symbol=now_there_is_room")


# --- the socket -----------------------------------------------------------------------------------------------------------

def test_socket_is_private(live):
    session = live()
    path = pathlib.Path(session.address())
    assert path.stat().st_mode & 0o777 == 0o600 and path.is_socket()
    assert path.parent.stat().st_mode & 0o777 == 0o700 and path.stat().st_uid == os.getuid()
    assert session.end() == 3
    assert not path.exists() and not path.parent.exists()


@pytest.fixture
def open_place():
    """A directory that all may enter. Whatever pytest begins closes its own to others, those of tests that run beside this one, too."""
    with tempfile.TemporaryDirectory(prefix="ada-open-", dir="/tmp") as place:
        os.chmod(place, 0o755)
        yield pathlib.Path(place)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_another_user_is_refused(open_place, live, ada_of_all):
    session = live(output=open_place / "out")
    for place in [session.session, session.session.parent]:      # the session may be read: the socket still may not
        place.chmod(0o755)
    document = session.session / "session.json"
    while not json.loads(document.read_text())["processes"]:       # it is written anew, and private, when the process has begun
        assert session.process.poll() is None
    document.chmod(0o644)
    result = ada_of_all("stop", session.session, user=NOBODY, group=NOBODY, extra_groups=[])
    assert result.status == 125
    assert "belongs to another user" in result.stderr.decode() and result.stderr.count(b"\n") == 1
    assert session.status()["recording"] is True


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_another_user_is_refused_though_the_mode_lets_him(live):
    session = live()
    path = pathlib.Path(session.address())
    path.parent.chmod(0o755)
    path.chmod(0o666)
    code = ("import socket,sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
            "s.sendall(b'{\"request\": \"stop\"}\\n'); print(s.recv(100))")
    result = subprocess.run(["/usr/bin/python3", "-c", code, str(path)], capture_output=True, user=NOBODY, group=NOBODY,
                            extra_groups=[])
    assert result.stdout == b"b''\n" or b"reset" in result.stderr or b"Broken pipe" in result.stderr, result
    assert session.status()["recording"] is True


HOSTILE = {
    "no JSON": b"hello\n", "nothing": b"\n", "zero bytes": b"\0" * 100 + b"\n", "an array": b"[]\n", "a number": b"7\n",
    "no request": b"{}\n", "unknown": b'{"request": "reboot"}\n', "of another type": b'{"request": ["stop"]}\n',
    "deep": b"[" * 8000 + b"\n", "cut": b'{"request": "sto\n', "no text": b"\xff\xfe\xfd\n",
    "add without rule": b'{"request": "trigger-add"}\n', "rule of another type": b'{"request": "trigger-add", "rule": 5}\n',
    "remove without id": b'{"request": "trigger-remove"}\n', "negative id": b'{"request": "trigger-remove", "id": -1}\n',
    "huge id": b'{"request": "trigger-remove", "id": 99999999999999999999}\n',
    "long rule": b'{"request": "trigger-add", "rule": "symbol=' + b"x" * 16000 + b'"}\n',
    "too long": b"x" * 20000, "too long a line": b"x" * 20000 + b"\n",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_requests(live, kind):
    """Each is answered by a line that says no, or by nothing; none does any harm."""
    session = live()
    try:
        answer = session.ask(HOSTILE[kind])
    except (ConnectionResetError, BrokenPipeError):
        answer = b""
    assert answer == b"" or (json.loads(answer)["ok"] is False and answer.count(b"\n") == 1)
    assert session.status()["policy"]["version"] == 1
    assert session.end() == 3


def test_clients_that_hang_stall_nobody(live):
    """Fifty that say nothing, one that never reads; then twenty that say half, and whoever is let go comes again, so that there is
    no end of them: a status comes all the same."""
    session, over = live(), threading.Event()
    silent, deaf = [session.connect() for _ in range(50)], session.connect()
    deaf.sendall(b'{"request": "status"}\n')
    assert session.status()["recording"] is True

    def hang():
        while not over.is_set():
            with session.connect() as client, contextlib.suppress(OSError):
                client.sendall(b'{"request": ')
                while not over.is_set() and not select.select([client], [], [], 0.1)[0]:
                    pass
    hanging = [threading.Thread(target=hang) for _ in range(20)]
    for thread in hanging:
        thread.start()
    try:
        for _ in range(3):
            assert session.status()["recording"] is True
    finally:
        over.set()
        for thread in hanging:
            thread.join()
    for client in [*silent, deaf]:
        client.close()
    assert session.end() == 3


def test_a_silent_client_is_dropped(live):
    session = live()
    with session.connect() as client:
        assert client.recv(1) == b""        # the recorder hangs up; the time limit of the socket is a failure
    assert session.end() == 3


def test_a_client_that_waits_does_not_keep_the_session_open(live):
    session = live()
    with session.connect():
        assert session.end() == 3


def test_many_at_once(live):
    session = live()
    answers = []

    def ask():
        for _ in range(5):
            answers.append(session.status()["recording"])
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 40
    assert session.end() == 3
