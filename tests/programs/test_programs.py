"""Runs every program of tests/programs without ada (its expectation) and with it (nothing may differ), then checks the
recording. Which programs there are and how they are compiled: catalog.py.
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import catalog  # noqa: E402
from harness import check_balance, check_recording, run, shell_status  # noqa: E402

TIME_LIMIT_S = 60
UNSTOPPED = rb"ada: process \d+: its hooks can't be taken out, and let calls pass instead: it can't be stopped[^\n]*\n"


STORM_ROUNDS, STORM_STEP = 100, 25


def pytest_generate_tests(metafunc):
    every, storm = metafunc.config.getoption("--all-variants"), metafunc.config.getoption("--storm")
    cases = [(p, v, r) for p in catalog.programs(metafunc.config.getoption("--group"))
             for v in catalog.variants(p, every) for r in p.runs]
    if storm and every:
        cases = [case for number in range(STORM_ROUNDS) for case in cases[number % STORM_STEP::STORM_STEP]]
    metafunc.parametrize("case", cases, ids=["-".join([p.name, str(v), *r[0]]) for p, v, r in cases])


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


def brew(interval_us, build_dir):
    """What the environment of a program under a storm of signals has."""
    return {"LD_PRELOAD": str(catalog.compile_storm(build_dir)), "ADA_TEST_STORM_US": interval_us}


def stands(program, status, command, options):
    """Whether the program without ada stands a storm so dense that it meets as many signals as in its longer life with ada."""
    options = dict(options, env=dict(options["env"], ADA_TEST_STORM_US="10"), timeout=20)
    seen = [run(command, **options) for _ in range(3)]
    return all((one.stdout.decode(), one.status) == (program.expect, status) for one in seen)


def test_program(case, ada, need, build_dir, tmp_path, request):
    program, variant, arguments = case
    further = request.config.getoption("--trace-option")
    check_needs(program, need)
    if "--detail=off" in further and {"--trigger", "--capture"} & {word.split("=")[0] for word in program.words("trace")}:
        pytest.skip("its options ask for detail")
    if ada is not None and program.lines("known"):
        request.applymarker(pytest.mark.xfail(reason=program.lines("known")[0]))
    path = catalog.compile_program(program, variant, build_dir)
    words, status = arguments
    environment = dict(os.environ)
    environment.update(line.replace("{dir}", str(path.parent)).split("=", 1) for line in program.lines("env"))
    storm = request.config.getoption("--storm")
    if storm and ("LD_PRELOAD" in environment or program.lines("storm")):
        pytest.skip("preloads something itself, or says that storms are not for it")
    environment.update(brew(storm, build_dir) if storm else {})
    options = {"cwd": tmp_path, "env": environment, "timeout": TIME_LIMIT_S}
    if program.lines("stdin"):
        options["input"] = (program.lines("stdin")[0] + "\n").encode()

    plain = run([path, *words], **options)
    if storm and (plain.stdout.decode(), plain.status) != (program.expect, status):
        pytest.skip("can't stand the storm without ada either")
    assert plain.stdout.decode() == program.expect, plain.stderr.decode()
    assert plain.status == status, plain.stderr.decode()
    if ada is None:
        return
    counted = program.lines("counts")
    output = tmp_path / "ada"
    recording = [*program.words("trace", "--on-full=block" if counted else ""), *further]
    traced = ada.trace(output, [path, *words], *recording, **options)
    if "--debug-flip" in recording:     # one that has a tracer of its own can't be stopped by another, and ada says so
        traced.stderr = re.sub(UNSTOPPED, b"", traced.stderr)
    same = (traced.stdout, traced.stderr, traced.status) == (plain.stdout, plain.stderr, shell_status(plain.status))
    if storm and not same and not stands(program, status, [path, *words], options):
        pytest.skip("can't stand as many signals without ada")
    assert (traced.stdout, traced.stderr, traced.status) == (plain.stdout, plain.stderr, shell_status(plain.status))

    session = check_recording(ada, output, program.words("states", "complete"))
    if counted and "--debug-flip" not in further:
        check_counts(ada, session, traced.stdout, counted == ["kept"])
        for thread in session.threads() if counted == ["yes"] and not program.lines("returns") else ():
            wrong = check_balance(session.events(thread), ends=not program.lines("threads"))
            assert wrong is None, f"{thread.parent.name}/{thread.name}: {wrong}"
    shutil.rmtree(output)
