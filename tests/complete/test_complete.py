"""What may stand next on the command line: as `ada complete` says it, and as bash, zsh and fish offer it."""
import os
import pathlib
import shutil
import subprocess

import pytest

SCRIPTS = pathlib.Path(__file__).parents[2] / "completions"


@pytest.fixture
def offered(ada, tmp_path):
    def ask(*words):
        result = subprocess.run([ada.path, "complete", "--", *words], cwd=tmp_path, capture_output=True, timeout=60)
        assert result.returncode == 0 and not result.stderr, result
        return result.stdout.decode().splitlines()
    return ask


@pytest.fixture
def traces(session, tmp_path):
    """ada_traces with a session, which is the last one."""
    (tmp_path / "ada_traces").mkdir()
    shutil.copytree(session("plain"), tmp_path / "ada_traces" / "session_1")
    (tmp_path / "ada_traces" / "latest").symlink_to("session_1")
    return tmp_path


@pytest.mark.parametrize("words, expected", [
    (["re"], ["report", "recover"]),
    (["hel"], ["help"]),
    (["help", "na"], ["narrate"]),
    (["xyzzy"], []),
    (["report", "--fo"], ["--format="]),
    (["report", "--so"], ["--source", "--sort="]),
    (["report", "--cp"], ["--cpu"]),
    (["report", "--format="], ["--format=text", "--format=json", "--format=csv"]),
    (["report", "--format", "j"], ["json"]),
    (["report", "-f", ""], ["text", "json", "csv"]),
    (["report", "--sort=p9"], ["--sort=p90", "--sort=p99"]),
    (["export", "--format=s"], ["--format=speedscope", "--format=svg", "--format=sqlite"]),
    (["trace", "--budget"], ["--budget", "--budget-forget"]),
    (["trace", "--on-full="], ["--on-full=drop", "--on-full=block"]),
    (["trace", "--index-mode=o"], ["--index-mode=oneshot"]),
    (["trace", "--pack", "al"], ["always"]),
    (["trace", "./program", "--on-full="], []),
    (["trace", "--output", "here", "--on-full=d"], ["--on-full=drop"]),
    (["report", "--nothing="], []),
    (["trigger", "add", "la"], ["latency="]),
    (["trigger", "test", "e"], ["exit", "exception="]),
    (["trace", "--trigger=sy"], ["--trigger=symbol="]),
    (["trace", "--trigger", "dep"], ["depth>"]),
    (["nothing", "--format="], []),
    ([""], None),
    ([], []),
])
def test_commands_options_and_their_values(offered, words, expected):
    found = offered(*words)
    if expected is None:
        assert {"trace", "report", "export", "unpack", "help"} <= set(found)
    else:
        assert found == expected


def test_each_option_of_each_command_is_offered(ada, offered):
    for command in offered(""):
        if command == "help":
            continue
        said = {word.rstrip(",") for line in ada("help", command).stdout.decode().splitlines() if line.lstrip().startswith("-")
                for word in line.split()[:2] if word.startswith("--")}
        said = {word.split("[")[0] if "[" in word else word.split("=")[0] for word in said}
        assert said <= {option.rstrip("=") for option in offered(command, "--")}, command


def test_programs_of_path(ada, tmp_path):
    """Behind trace, as a shell offers them for a command; not where a path is typed, nor what is the program's own."""
    for name, mode in (("xyzzy-run", 0o755), ("xyzzy-not", 0o644), ("plugh", 0o755)):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(mode)

    def offered(*words):
        return subprocess.run([ada.path, "complete", "--", *words], capture_output=True, timeout=60, check=True,
                              env={"PATH": f"/nowhere:{tmp_path}"}).stdout.decode().splitlines()
    assert offered("trace", "xy") == ["xyzzy-run"] == offered("trace", "--on-full=drop", "--", "xy")
    assert offered("trace", "") == offered("trace", "./xy") == offered("trace", "plugh", "xy") == offered("report", "xy") == []


def test_sessions(offered, traces):
    both = ["ada_traces/latest", "ada_traces/session_1"]
    assert sorted(offered("report", "")) == both
    assert sorted(offered("report", "ada_traces/s")) == both[1:]
    assert sorted(offered("report", "--diff=")) == [f"--diff={path}" for path in both]
    assert sorted(offered("report", "s")) == ["session_1"]      # its name alone
    assert offered("status", "x") == []
    assert offered("trace", "") == []


def test_verbs_threads_and_windows(offered, traces, session):
    assert offered("trigger", "")[:4] == ["add", "remove", "list", "test"]
    assert offered("trigger", "re") == ["remove"]
    assert "add" not in offered("trigger", "add", "")
    assert offered("dump", "--thread=") == ["--thread=0"] and offered("dump", "-t", "1") == []
    assert offered("report", "--window=") == []
    shutil.copytree(session("story"), traces / "ada_traces" / "session_2")
    assert offered("report", "ada_traces/session_2", "--window=") == ["--window=0"]


def test_functions_of_a_session(ada, offered, traces):
    """All but those that can't be told from a list of names."""
    names = ada("query", "--format=csv", traces / "ada_traces" / "latest",
                "SELECT DISTINCT name FROM functions WHERE instr(name, ',') = 0 ORDER BY name").stdout.decode().split()[1:]
    first = names[0]
    assert offered("report", f"--function={first}")[0] == f"--function={first}"
    assert set(offered("report", "--function=")) == {f"--function={name}" for name in names}
    assert offered("report", "-F", f"one,{first}")[0] == f"one,{first}"
    assert offered("report", "--function=it's") == []


def bash(ada, directory, line):
    """What bash offers behind a line."""
    script = f"""
source {SCRIPTS}/ada.bash
COMP_LINE=$1 COMP_POINT=${{#1}} COMP_CWORD=$(($# - 2)) COMP_WORDS=("${{@:2}}")
_ada
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    words = []
    for word in line.split(" "):        # as bash cuts them with its usual COMP_WORDBREAKS
        head, equals, tail = word.partition("=")
        words += [head, equals, tail] if tail else [head, equals] if equals else [head]
    environment = {**os.environ, "PATH": f"{directory}/bin:{os.environ['PATH']}"}
    (directory / "bin").mkdir(exist_ok=True)
    if not (directory / "bin" / "ada").exists():
        (directory / "bin" / "ada").symlink_to(ada.path)
    result = subprocess.run(["bash", "-c", script, "bash", line, *words], cwd=directory, env=environment, capture_output=True, timeout=60)
    assert result.returncode == 0 and not result.stderr, result
    return result.stdout.decode().split()


def test_bash(ada, traces):
    assert bash(ada, traces, "ada rep") == ["report"]
    assert bash(ada, traces, "ada report --form") == ["--format="]
    assert bash(ada, traces, "ada report --format=") == ["text", "json", "csv"]
    assert bash(ada, traces, "ada report --format=j") == ["json"]
    assert sorted(bash(ada, traces, "ada report ")) == ["ada_traces/latest", "ada_traces/session_1"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_well_formed(shell):
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    result = subprocess.run([shell, "-n", SCRIPTS / f"ada.{shell}"], capture_output=True, timeout=60)
    assert result.returncode == 0, result.stderr.decode()


def test_help_of_a_command(ada):
    assert ada("help").stdout == ada("--help").stdout
    assert ada("help", "report").stdout == ada("report", "--help").stdout
    assert set(ada("trace", "--help").stdout.splitlines()) - set(ada("help", "trace").stdout.splitlines())   # abridged, with more in one line
    wrong = ada("help", "reprot")
    assert wrong.status == 125 and b"did you mean report?" in wrong.stderr
