"""Nobody takes what ada says: a terminal that is stopped, a pipe that is full. Recording and commands go on."""
import contextlib
import os
import threading

from harness import check_recording


def stop_up(pipe):
    """Fills the pipe from this side; how many bytes that took."""
    fd = os.open(f"/proc/self/fd/{pipe.fileno()}", os.O_WRONLY | os.O_NONBLOCK)
    put = 0
    for size in (4096, 1):
        with contextlib.suppress(BlockingIOError):
            while True:
                put += os.write(fd, b"x" * size)
    os.close(fd)
    return put


def test_a_pipe_that_is_full(live, ada):
    session = live("--index-buffer=1M", "--on-full=block")
    put = stop_up(session.process.stderr)
    session.control("trigger add", "symbol=nowhere")            # each is told on ada's stderr, too
    session.control("trigger add", "symbol=elsewhere")
    assert [rule["rule"] for rule in session.status()["policy"]["rules"]] == ["crash", "manual", "symbol=nowhere", "symbol=elsewhere"]
    assert "1 process" in session.control("mark --no-wait")
    before = session.status()["events"]
    session.call("a" * 10)
    session.wait_for(lambda s: s["events"] >= before + 10, "events come")
    session.control("stop")
    said = []
    reader = threading.Thread(target=lambda: said.append(session.process.stderr.read()))
    reader.start()
    assert session.process.wait(60) == 0
    session.process.stdin.close()               # the program has it, too
    reader.join(20)
    lines = said[0][put:].decode().splitlines()
    assert len(lines) == 2 and "no function is called nowhere" in lines[0] and "no function is called elsewhere" in lines[1]
    check_recording(ada, session.output, states=("stopped",))
