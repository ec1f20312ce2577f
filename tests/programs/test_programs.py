"""Runs every program of tests/programs without ada (its expectation) and with it (nothing may differ), then checks the
recording. Which programs there are and how they are compiled: catalog.py.
"""
import collections
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import catalog  # noqa: E402
from harness import check_balance, check_recording, run, shell_status  # noqa: E402

TIME_LIMIT_S = 60


def pytest_generate_tests(metafunc):
    every = metafunc.config.getoption("--all-variants")
    cases = [(p, v, r) for p in catalog.programs(metafunc.config.getoption("--group"))
             for v in catalog.variants(p, every) for r in p.runs]
    metafunc.parametrize("program, variant, arguments", [(p, v, r) for p, v, r in cases],
                         ids=["-".join([p.name, str(v), *r[0]]) for p, v, r in cases])


def check_needs(program, need):
    flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    for what in program.words("needs"):
        if what == "root" and os.geteuid() != 0:
            pytest.skip("needs root")
        if what == "mount" and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
            pytest.skip("needs a root that is a mount point")
        if what not in ("root", "mount", *flags):
            pytest.skip(f"needs a CPU with {what}")
    if program.source.suffix == ".rs":
        if not shutil.which("rustc"):
            pytest.skip("needs rustc")
    else:
        for compiler in program.words("compilers", "gcc clang"):
            need(shutil.which(compiler), compiler)


def check_counts(ada, session, stdout, kept):
    """`calls FUNCTION N` on stdout against the report."""
    expected = {words[1]: int(words[2]) for words in map(str.split, stdout.decode().splitlines()) if words[:1] == ["calls"]}
    assert expected, "the program counted nothing"
    assert session.lost() == 0 or kept, "events were lost though the buffer blocks"
    reported = collections.Counter()
    for row in ada.rows("report", session.path):
        reported[row["function"].partition("(")[0]] += row["calls"]
    assert {name: reported[name] for name in expected} == expected


def test_program(program, variant, arguments, ada, need, build_dir, tmp_path, request):
    further = request.config.getoption("--trace-option")
    check_needs(program, need)
    if "--detail=off" in further and "--trigger" in program.words("trace"):
        pytest.skip("its rules mark detail")
    if ada is not None and program.lines("known"):
        request.applymarker(pytest.mark.xfail(reason=program.lines("known")[0]))
    path = catalog.compile_program(program, variant, build_dir)
    words, status = arguments
    environment = dict(os.environ)
    environment.update(line.replace("{dir}", str(path.parent)).split("=", 1) for line in program.lines("env"))
    options = {"cwd": tmp_path, "env": environment, "timeout": TIME_LIMIT_S}
    if program.lines("stdin"):
        options["input"] = (program.lines("stdin")[0] + "\n").encode()

    plain = run([path, *words], **options)
    assert plain.stdout.decode() == program.expect, plain.stderr.decode()
    assert plain.status == status, plain.stderr.decode()
    if ada is None:
        return
    counted = program.lines("counts")
    output = tmp_path / "ada"
    recording = [*program.words("trace", "--on-full=block" if counted else ""), *further]
    traced = ada.trace(output, [path, *words], *recording, **options)
    assert (traced.stdout, traced.stderr, traced.status) == (plain.stdout, plain.stderr, shell_status(plain.status))

    session = check_recording(ada, output, program.words("states", "complete"))
    if counted:
        check_counts(ada, session, traced.stdout, counted == ["kept"])
        for thread in session.threads() if counted == ["yes"] and not program.lines("returns") else ():
            wrong = check_balance(session.events(thread), ends=not program.lines("threads"))
            assert wrong is None, f"{thread.parent.name}/{thread.name}: {wrong}"
    shutil.rmtree(output)
