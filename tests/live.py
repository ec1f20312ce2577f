"""A program that runs under ada until its input ends, and that can be talked to meanwhile, as can its recorder."""
import contextlib
import json
import os
import select
import signal
import socket
import subprocess

from harness import Session, of_rules

LINE_S, END_S = 60, 120


class Live:
    """A recording under way. The program says "ready" first. `before`: words that ada's command is put behind."""

    def __init__(self, ada, output, argv, *options, before=()):
        self.ada, self.output = ada, output
        command = [*before, ada.path, "trace", "--quiet", f"--output={output}", *of_rules(options), "--", *argv]
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True)
        try:
            assert self.line() == "ready\n", self.process.stderr.read()
        except AssertionError:
            self.close(0)
            raise
        self.session = Session(output).path

    def line(self):
        assert select.select([self.process.stdout], [], [], LINE_S)[0], "the program says nothing"
        return self.process.stdout.readline().decode()

    def say(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def tell(self, text):
        """Says it, and waits until the program has done it."""
        self.say(text)
        line = self.line()
        assert line == "done\n", (line, self.process.wait(LINE_S) if not line else None, self.process.stderr.read() if not line else None)

    def address(self):
        return json.loads((self.session / "session.json").read_text())["control"]

    def connect(self):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.connect(self.address())      # without a time limit: it waits where many do
        client.settimeout(LINE_S)
        return client

    def ask(self, line):
        """Sends bytes as they are; what comes back until the other side closes."""
        with self.connect() as client:
            client.sendall(line)
            answer = b""
            while piece := client.recv(65536):
                answer += piece
        return answer

    def request(self, name, **more):
        """As the commands of ada do, without a process for each."""
        answer = json.loads(self.ask(json.dumps({"request": name, **more}).encode() + b"\n"))
        assert answer["ok"], answer
        return answer

    def end(self, status=0):
        """Ends the program's input; what the program and ada said last."""
        out, err = self.process.communicate(timeout=END_S)
        assert self.process.returncode == status, err.decode()
        return out.decode(), err.decode()

    def gone(self, seconds):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return self.process.returncode is not None

    def close(self, seconds=10):
        """Of a test that failed, too: the program ends, or is killed, and ada ends in order, so that nothing is left behind."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        if not self.gone(seconds):
            for directory in self.output.glob("session_*/pid_*"):
                with contextlib.suppress(OSError):
                    os.kill(int(directory.name.split("_")[1]), signal.SIGKILL)
            self.gone(10)
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            pipe.close()
