"""A debugger that attaches to a recorded program sees the program's own frames, also where it stops in moved code."""
import pathlib
import shutil
import signal
import subprocess


def test_gdb_finds_its_way_through_moved_code(ada, need, tmp_path):
    need(shutil.which("gdb"), "gdb")
    program = tmp_path / "debugged"
    subprocess.run(["gcc", "-O1", "-g", "-o", program, pathlib.Path(__file__).with_name("debugged.c")], check=True)
    trace = [ada.path, "trace", "--quiet", f"--output={tmp_path / 'out'}", "--"] if ada else []
    with subprocess.Popen([*trace, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as traced:
        pid = int(traced.stdout.readline())
        gdb = subprocess.Popen(["gdb", "-nx", "-batch", "-p", str(pid), "-ex", "echo attached\\n", "-ex", "continue", "-ex", "backtrace",
                                "-ex", "kill"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        told = ""
        for line in gdb.stdout:
            told += line
            if line == "attached\n":
                traced.stdin.close()
        assert gdb.wait(60) == 0 and traced.wait(60) in (-signal.SIGKILL, 128 + signal.SIGKILL), told
    frames = told.partition("Program received")[2]
    wanted = ["reads (place=", "asks (place=", "main ("]
    assert [name for name in wanted if name in frames] == wanted and "??" not in frames, told
