"""A debugger that attaches to a recorded program, or opens its core, sees the program's own frames, also where that stopped in moved code."""
import ast
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 60


@pytest.fixture
def program(need, tmp_path):
    need(shutil.which("gdb"), "gdb")
    path = tmp_path / "debugged"
    subprocess.run(["gcc", "-O1", "-g", "-o", path, pathlib.Path(__file__).with_name("debugged.c")], check=True)
    return path


def allowed(ada):
    """Options of a gdb that may load what names ada's frames, from beside the agent."""
    return ["-iex", f"add-auto-load-safe-path {ada.path.parent / 'src/agent'}"]


def commands(*texts):
    return [word for text in texts for word in ("-ex", text)]


def attach(ada, program, tmp_path, options, *texts):
    """What gdb says after the program has crashed under it."""
    trace = [ada.path, "trace", "--quiet", f"--output={tmp_path / 'out'}", "--"] if ada else []
    with subprocess.Popen([*trace, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as traced:
        pid = int(traced.stdout.readline())
        gdb = subprocess.Popen(["gdb", "-nx", "-batch", *options, "-p", str(pid), *commands("echo attached\\n", "continue", *texts, "kill")],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        told = ""
        for line in gdb.stdout:
            told += line
            if line == "attached\n":
                traced.stdin.close()
        assert gdb.wait(SECONDS) == 0 and traced.wait(SECONDS) in (-signal.SIGKILL, 128 + signal.SIGKILL), told
    return told.partition("Program received")[2]


def open_core(program, core, options, *texts):
    return subprocess.run(["gdb", "-nx", "-batch", *options, program, core, *commands(*texts)], capture_output=True, text=True, timeout=SECONDS,
                          check=True).stdout


def frames(told):
    """Of the last backtrace: the functions, as it has them."""
    return re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\S+(?: handler called>)?)", told.rpartition("backtrace:")[2], re.MULTILINE)


def test_gdb_finds_its_way_through_moved_code(ada, program, tmp_path):
    told = attach(ada, program, tmp_path, [], "echo backtrace:", "backtrace")
    wanted = ["reads", "asks", "main"]
    assert [name for name in frames(told) if name in wanted] == wanted and "??" not in told, told


ASKED = ["frame", "info symbol $_ada_original($pc)", "print $_ada_original(main) == main", "echo backtrace:", "backtrace"]


def check_names(told):
    assert frames(told) == ["reads", "asks", "main"], told
    assert "reads in section .text" in told and "= 1" in told, told
    assert re.search(r"^#1 +reads \(place=0x8\) at .*debugged.c:8$", told.rpartition("backtrace:")[2], re.MULTILINE), told


def test_gdb_names_the_functions_of_moved_code(ada, program, tmp_path):
    told = attach(ada, program, tmp_path, allowed(ada), *ASKED, f"generate-core-file {tmp_path / 'core'}")
    check_names(told)
    assert "#1  reads" in told.partition("backtrace:")[0], told         # the frame that is selected
    check_names(open_core(program, tmp_path / "core", allowed(ada), *ASKED))
    plain = open_core(program, tmp_path / "core", allowed(ada), "disable frame-filter global ada", "echo backtrace:", "backtrace")
    assert frames(plain)[:3] == ["<signal handler called>", "reads", "ada_stubs"], plain


def test_gdb_names_the_functions_in_the_core_of_a_crash(ada, program, need, tmp_path):
    where = tmp_path / "cores"
    where.mkdir()
    subprocess.run(["prlimit", "--core=unlimited", ada.path, "trace", "--quiet", f"--output={tmp_path / 'out'}", "--", program], cwd=where,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=SECONDS, check=False)
    cores = [path for path in where.iterdir() if path.name.startswith("core")]
    need(cores, "core dumps in the working directory")
    check_names(open_core(program, cores[0], allowed(ada), *ASKED))


def test_what_is_loaded_has_the_layout_of_the_agent(ada):
    module = ast.parse((ROOT / "src/agent/gdb.py").read_text())
    there = {node.targets[0].id: node.value.value for node in module.body
             if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Constant)}
    offsets = dict(line.split()[1:3] for line in (ada.path.parent / "src/agent/offsets.h").read_text().splitlines() if line.startswith("#define"))
    assert len(there) > 8 and {name: str(value) for name, value in there.items()} == {name: offsets.get(name) for name in there}
