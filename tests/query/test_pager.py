"""Long text goes through a pager where standard output is a terminal, and nowhere else."""
import os
import fcntl
import pty
import re
import struct
import subprocess
import termios

import pytest


@pytest.fixture
def on_terminal(ada, tmp_path):
    """What a command shows on a terminal, by a pager that says that it is one, and its exit status."""
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho paged \"$LESS\"\ncat\n")
    pager.chmod(0o755)

    def show(*arguments, columns=0, **environment):
        master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 0, columns, 0, 0))
        environment = {"PATH": os.environ["PATH"], "TERM": "xterm", "ADA_PAGER": str(pager), **environment}
        with subprocess.Popen([ada.path, *arguments], stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.PIPE,
                              env={name: value for name, value in environment.items() if value is not None}) as process:
            os.close(terminal)
            text = b""
            try:
                while piece := os.read(master, 4096):
                    text += piece
            except OSError:                             # the terminal's other end was closed
                pass
            os.close(master)
            complaint = process.stderr.read()
            assert process.wait(timeout=60) in (0, 125)
        return text.decode().replace("\r", ""), complaint.decode(), process.returncode
    return show


@pytest.mark.parametrize("command", ["dump", "graph", "narrate", "report", "windows"])
def test_text_for_a_terminal_is_paged(ada, on_terminal, session, command):
    text, complaint, status = on_terminal(command, session("plain"), NO_COLOR="1")
    plain, _, _ = on_terminal(command, "--no-pager", session("plain"), NO_COLOR="1")
    assert (status, complaint) == (0, "") and plain
    assert text == "paged FRX\n" + plain


def table_of(text):
    """Of a report: its titles, its rows by these, and the titles that it says there was no room for."""
    titles, *lines = text.split("\n\n")[0].splitlines()
    said = re.fullmatch(r"No room in \d+ columns for (.*): `\| cat` shows all\.", lines[-1])
    rows = [re.split(r" {2,}", line.strip()) for line in lines[:-1 if said else None]]
    return titles.split(), [dict(zip(titles.split(), row)) for row in rows], said[1].split(", ") if said else []


@pytest.mark.parametrize("columns, sort", [(columns, sort) for columns in (200, 100, 80, 60, 40, 20) for sort in ("total", "p90", "min")])
def test_a_table_has_the_columns_that_there_is_room_for(on_terminal, session, columns, sort):
    """What is left out is named, and what is shown is the same as where all is; what the rows are sorted by stays."""
    arguments = ["report", "--no-pager", "--limit=12", f"--sort={sort}", session("plain")]
    all_titles, all_rows, none = table_of(on_terminal(*arguments)[0])
    text = on_terminal(*arguments, columns=columns)[0]
    titles, rows, left_out = table_of(text)
    assert none == [] and sorted(titles + left_out) == sorted(all_titles)
    assert titles == [title for title in all_titles if title in titles] and {"CALLS", "TOTAL", "SELF", "FUNCTION", sort.upper()} <= {*titles}
    assert rows == [{title: row[title] for title in titles} for row in all_rows]
    widest = max(len(line) for line in text.split("\n\n")[0].splitlines() if not line.startswith("No room"))
    assert widest <= columns or len(titles) <= 5
    assert left_out == [] if columns == 200 else len(left_out) >= 3 or columns == 100


def test_windows_and_info_have_their_columns_too(on_terminal, session):
    for command in "windows", "info":
        narrow, wide = (on_terminal(command, session("detail"), columns=columns, ADA_PAGER="cat")[0] for columns in (60, 200))
        assert "No room in 60 columns for " in narrow and "No room" not in wide


def test_colours_stay(on_terminal, session):
    text, _, _ = on_terminal("dump", "--calls", session("rules"))
    assert text.startswith("paged FRX\n") and text.removeprefix("paged FRX\n") == on_terminal("dump", "--calls", "--no-pager", session("rules"))[0]


@pytest.mark.parametrize("arguments, slow", [(["--calls"], r"(?P<duration>[\d.]+ (?:ms|s)) \|"),
                                             ([], r"[<!] .*  (?P<duration>[\d.]+ (?:ms|s))$")])
def test_long_durations_are_coloured(on_terminal, session, arguments, slow):
    """From 1 ms on in yellow, from 100 ms on in red, and no shorter one."""
    coloured = on_terminal("dump", "--no-pager", *arguments, session("random:7:3:4000"))[0]
    coloured = re.sub(r"\x1b\[31m([!~] .*?)\x1b\[0m", r"\1", coloured)    # what is red itself
    lines = on_terminal("dump", "--no-pager", *arguments, session("random:7:3:4000"), NO_COLOR="1")[0].splitlines()
    found = [(line, re.search(slow, line)) for line in lines]
    assert sum(bool(match) for _, match in found) >= 30

    def expected(line, match):
        ns = float(match["duration"].split()[0]) * (10**6 if "ms" in match["duration"] else 10**9)
        colour = "\x1b[31m" if ns >= 100 * 10**6 else "\x1b[33m"
        return line[:match.start("duration")] + colour + match["duration"] + "\x1b[0m" + line[match.end("duration"):]
    assert coloured.splitlines() == [expected(line, match) if match else line for line, match in found]


@pytest.mark.parametrize("environment", [{"ADA_PAGER": ""}, {"ADA_PAGER": "cat"}, {"TERM": "dumb"}, {"TERM": None},
                                         {"ADA_PAGER": "/nowhere/a-pager -x"}, {"ADA_PAGER": None, "PAGER": "cat"}])
def test_where_there_is_no_pager(on_terminal, session, environment):
    text, complaint, status = on_terminal("report", session("plain"), **environment)
    assert "paged" not in text and "leaf" in text and (complaint, status) == ("", 0)


def test_the_users_own_less_options_and_pager_count(on_terminal, session, tmp_path):
    assert on_terminal("report", session("plain"), LESS="S")[0].startswith("paged S\n")
    assert on_terminal("report", session("plain"), ADA_PAGER=None, PAGER=str(tmp_path / "pager"))[0].startswith("paged FRX\n")


def test_what_programs_read_is_not_paged(ada, on_terminal, session):
    assert "paged" not in on_terminal("report", "--format=json", session("plain"))[0]
    assert "paged" not in on_terminal("info", session("plain"))[0]
    result = subprocess.run([ada.path, "report", session("plain")], capture_output=True, env={"TERM": "xterm", "ADA_PAGER": "false"}, timeout=60)
    assert (result.returncode, result.stderr) == (0, b"") and b"leaf" in result.stdout


def test_an_error_is_told_and_keeps_its_status(on_terminal):
    text, complaint, status = on_terminal("report", "/nowhere")
    assert status == 125 and "/nowhere" in complaint and "leaf" not in text


def test_a_pager_that_quits_ends_the_command_quietly(ada, session):
    """As head does with any command: by SIGPIPE, or with all that was asked for written."""
    master, terminal = pty.openpty()
    with subprocess.Popen([ada.path, "dump", session("large")], stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.PIPE,
                          env={"PATH": os.environ["PATH"], "TERM": "xterm", "ADA_PAGER": "head -n 1"}) as process:
        os.close(terminal)
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == -13
    os.close(master)
