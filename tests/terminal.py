"""A terminal of some size, in which a command runs: real keys, and the text on the screen (tmux)."""
import contextlib
import os
import pathlib
import re
import shlex
import signal
import subprocess
import tempfile
import time

PATIENCE = 60
WRITES = "1", "20"      # write, writev


class Terminal:
    """`lines` x `columns` cells. The command runs in a shell, which says when it has ended, and with what status."""

    def __init__(self, *command, columns=100, lines=30, **environment):
        self.place = tempfile.TemporaryDirectory(prefix="ada-terminal-", dir="/tmp")
        self.socket = pathlib.Path(self.place.name) / "tmux"
        setting = {"TERM": "tmux-256color", "LC_ALL": "C.UTF-8", "PS1": "shell> ", **environment}
        words = ["/usr/bin/env", "-u", "NO_COLOR", "-u", "LANG", *(f"{name}={value}" for name, value in setting.items()), "bash", "--norc",
                 "--noprofile", "-i"]
        self.tmux("-u", "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines), shlex.join(words))
        self.until(lambda text: "shell>" in text)
        if command:
            self.type(shlex.join(str(word) for word in command) + "; echo ended $?\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(subprocess.SubprocessError):
            for pid in self.below():    # a sanitizer that is looking for leaks at the end doesn't survive a hang-up: it would spin
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            self.tmux("kill-server")
        self.place.cleanup()

    def tmux(self, *arguments):
        environment = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        return subprocess.run(["tmux", "-S", self.socket, *arguments], check=True, capture_output=True, text=True, timeout=PATIENCE,
                              env=environment).stdout

    def type(self, text):
        """Characters as they are; a newline is Enter."""
        for index, part in enumerate(text.split("\n")):
            if index:
                self.tmux("send-keys", "Enter")
            if part:
                self.tmux("send-keys", "-l", part)

    def press(self, *keys):
        """Keys by tmux's names: Up, PageDown, C-c, Escape."""
        self.tmux("send-keys", *keys)

    def text(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def rows(self):
        return [line.rstrip() for line in self.text().splitlines()]

    def until(self, wanted):
        """The screen's text once it is as wanted: a function of it, or words in it. And once it is drawn to its end: what the command has
        written so far may stand among rows of what was there before."""
        holds = wanted if callable(wanted) else lambda text: wanted in text
        end = time.monotonic() + PATIENCE
        while True:
            text = self.text()
            # Until it is asked for the text again tmux has read what was written before that.
            if holds(text) and self.rests() and holds(again := self.text()):
                return again
            assert time.monotonic() < end, text
            time.sleep(0.02)

    def rests(self):
        """What runs in the terminal waits for something else than its output's way."""
        for pid in self.below():
            with contextlib.suppress(OSError):      # it ended
                state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
                if state in "RD" or pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[0] in WRITES:
                    return False
        return True

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def ended(self):
        """The status that the command ended with."""
        said = re.compile(r"^ended (\d+) *$", re.MULTILINE)     # the typed command's own words may begin a row, too, where it is long
        return int(said.findall(self.until(said.search))[-1])

    def below(self, name=None):
        """The shell's children: all, or those of that name."""
        shell = int(self.tmux("display-message", "-p", "#{pane_pid}"))
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                pid, rest = entry.read_text().split(" (", 1)
                comm, fields = rest.rsplit(") ", 1)
                if int(fields.split()[1]) == shell and name in (None, comm):
                    found.append(int(pid))
        return found

    def pid(self, name):
        """Of the command of that name in this terminal."""
        (pid,) = self.below(name)
        return pid
