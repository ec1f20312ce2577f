"""Who is spoken to: a recorder of the session's user, the program's own user or root, and nobody else."""
import json
import os
import pathlib
import select
import shutil
import socket
import struct
import subprocess
import tempfile

import pytest
from conftest import NOBODY

WIRE = pathlib.Path(__file__).resolve().parents[2] / "src" / "abi" / "wire.h"
COMMANDS = [["status"], ["mark"], ["stop"], ["trigger", "list"]]
LISTEN = """import os, socket, sys
listener = socket.socket(socket.AF_UNIX, getattr(socket, sys.argv[2]))
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
listener.listen()
print("ready", flush=True)
client = listener.accept()[0]
print(len(client.recv(4096)), flush=True)
"""


@pytest.fixture
def place():
    """A directory as a recorder's, of root's."""
    with tempfile.TemporaryDirectory(prefix="ada-", dir="/tmp") as path:
        yield pathlib.Path(path)


@pytest.fixture
def listener():
    """listener(PATH, TYPE, USER): someone who listens there, accepts once, and says how many bytes came."""
    started = []

    def start(path, kind, user):
        process = subprocess.Popen(["/usr/bin/python3", "-c", LISTEN, str(path), kind], stdout=subprocess.PIPE, user=user, group=user,
                                   extra_groups=[])
        started.append(process)
        assert process.stdout.readline() == b"ready\n"
        return process
    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def session_of(tmp_path, control, user):
    session = tmp_path / "session_20260101_000000"
    session.mkdir(exist_ok=True)
    (session / "session.json").write_text(json.dumps({"format": "ada-session", "version": 1, "control": str(control)}))
    os.chown(session / "session.json", user, user)
    return session


def refused(ada, session, command):
    result = ada(*command, session, timeout=30)
    text = result.stderr.decode()
    assert result.status == 125 and text.count("\n") == 1 and "no socket of a recorder of its user" in text, text


def heard_nothing(process):
    """Nobody has come, or whoever came said nothing."""
    return not select.select([process.stdout], [], [], 0)[0] or process.stdout.readline() == b"0\n"


@pytest.mark.parametrize("command", COMMANDS, ids=[words[0] for words in COMMANDS])
def test_a_session_that_names_a_socket_of_roots(ada, place, tmp_path, listener, command):
    """nobody's session.json leads root to a socket that only root may connect to, in a directory of root's."""
    process = listener(place / "control", "SOCK_STREAM", 0)
    refused(ada, session_of(tmp_path, place / "control", NOBODY), command)
    assert heard_nothing(process)


@pytest.mark.parametrize("name", ["control", "docker.sock"])
def test_a_socket_that_is_no_recorders(ada, tmp_path, listener, name):
    """A session that was unpacked from an archive is root's own; still it names what is none of ada's."""
    with tempfile.TemporaryDirectory(prefix="ad-", dir="/tmp") as other:
        process = listener(pathlib.Path(other) / name, "SOCK_STREAM", 0)
        refused(ada, session_of(tmp_path, pathlib.Path(other) / name, 0), ["stop"])
        assert heard_nothing(process)


def test_a_socket_in_a_directory_that_others_may_change(ada, place, tmp_path, listener):
    process = listener(place / "control", "SOCK_STREAM", 0)
    place.chmod(0o777)
    refused(ada, session_of(tmp_path, place / "control", 0), ["stop"])
    assert heard_nothing(process)


def test_a_socket_where_another_user_listens(ada, place, tmp_path, listener):
    place.chmod(0o777)
    process = listener(place / "control", "SOCK_STREAM", NOBODY)
    place.chmod(0o755)
    refused(ada, session_of(tmp_path, place / "control", 0), ["stop"])
    assert process.stdout.readline() == b"0\n"


def test_a_link_to_the_directory(ada, place, tmp_path, listener):
    process = listener(place / "control", "SOCK_STREAM", 0)
    os.symlink(place, tmp_path / "ada-link")
    refused(ada, session_of(tmp_path, tmp_path / "ada-link" / "control", 0), ["stop"])
    assert heard_nothing(process)


def test_root_speaks_to_the_recorder_of_another_user(ada, ada_of_all, program, place):
    """Whose session it is decides, not who asks."""
    place.chmod(0o711)
    os.chown(place, NOBODY, NOBODY)
    own = pathlib.Path(shutil.copy(program, place))     # each pytest that starts closes the directory of all of them to others
    own.chmod(0o755)
    command = [ada_of_all.path, "trace", "--quiet", f"--output={place}/out", "--", own]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/", user=NOBODY, group=NOBODY, extra_groups=[],
                               env={"PATH": "/usr/bin:/bin"})
    assert process.stdout.readline() == b"ready\n"
    session, = (place / "out").glob("session_*")
    assert ada("status", session, timeout=30).status == 0
    assert ada("stop", session, timeout=30).status == 0
    process.stdin.close()
    process.wait(20)
    process.stdout.close()


def test_an_agent_says_nothing_to_another_user(ada, program, place, listener):
    """The recorder is gone, and someone else has made a directory of its name."""
    place.chmod(0o777)
    process = listener(place / "s", "SOCK_SEQPACKET", NOBODY)
    agent = ada.path.parent / "src" / "agent" / "libada-agent.so"
    result = subprocess.run([program], input=b"x\n", capture_output=True, timeout=60,
                            env={"LD_PRELOAD": str(agent), "ADA_SOCKET": str(place / "s"), "PATH": "/usr/bin:/bin"})
    assert (result.returncode, result.stdout, result.stderr) == (0, b"ready\ndone\n", b"")
    assert process.stdout.readline() == b"0\n"


def test_the_runtime_directory_of_another_user(ada, program, tmp_path, theirs):
    """Root with the environment of another: no socket is made where that user has the say."""
    before = theirs.stat().st_mtime_ns
    result = ada.trace(tmp_path / "out", [program], env={**os.environ, "XDG_RUNTIME_DIR": str(theirs)})
    assert result.status == 0
    assert theirs.stat().st_mtime_ns == before


STRANGER = """import socket, struct, sys
peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
peer.settimeout(20)
peer.connect("\\0" + sys.argv[1])
if sys.argv[2]:
    peer.send(bytes.fromhex(sys.argv[2]))
try:
    print(len(peer.recv(4096)))
except ConnectionResetError:
    print(0)
"""
HELLO = struct.Struct("<IIIIIIQIIII16s")        # abi/wire.h


@pytest.mark.parametrize("how", ["silent", "no secret", "wrong secret", "secret"])
def test_a_stranger_at_the_abstract_name(ada, program, tmp_path, how):
    """Whom it answers: of other users those who know the secret, as processes do that the recorded program came by."""
    with subprocess.Popen([ada.path, "trace", "--quiet", f"--output={tmp_path}", "--", program], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        child = None
        while not child:            # the keeper has its name a moment after it is there
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            child, *others = (pid for pid in children if pathlib.Path(f"/proc/{pid}/comm").read_text() != "ada-keeper\n")
            child = None if others else child
        words = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        path, _, secret = next(word[11:].decode() for word in words if word.startswith(b"ADA_SOCKET=")).partition("#")
        secrets = {"no secret": bytes(16), "wrong secret": os.urandom(16), "secret": bytes.fromhex(secret)}
        version = next(int(line.split()[2]) for line in WIRE.read_text().splitlines() if line.startswith("#define ADA_WIRE_VERSION"))
        hello = b"" if how == "silent" else HELLO.pack(1, HELLO.size, version, 4, 0, 1, 0, 2**32 - 1, 2**32 - 1, 0, 0, secrets[how])
        peer = subprocess.run(["/usr/bin/python3", "-c", STRANGER, path, hello.hex()], capture_output=True, user=NOBODY, group=NOBODY,
                              extra_groups=[], timeout=30, check=True)
        assert (int(peer.stdout) > 0) == (how == "secret")
        process.communicate(b"x\n", timeout=30)
        assert process.returncode == 0
