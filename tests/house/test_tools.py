"""The tools that judge: sum-tests counts right, and the checks find what they are for."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

MESON = """<?xml version='1.0'?><testsuites tests="4" errors="0" failures="1">
<testsuite name="base.array" tests="2" errors="0" failures="0" skipped="1"><testcase name="a"/><testcase name="b"><skipped/><system-out>needs root</system-out></testcase></testsuite>
<testsuite name="ada" tests="2" errors="0" failures="1"><testcase name="ada:x / slow"/><testcase name="ada:errors / errors">{errors}</testcase></testsuite>
</testsuites>"""
PYTEST = """<?xml version='1.0'?><testsuites><testsuite name="pytest" errors="0" failures="0" tests="3">
<testcase classname="t" name="one"/><testcase classname="t" name="two"/><testcase classname="t" name="three"><skipped message="needs a
mount"/></testcase>
</testsuite></testsuites>"""


def skipped_lines(build):
    return [f"SKIPPED {build}: base.array/b: needs root", f"SKIPPED {build}: t/three: needs a mount"]


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


def sum_tests(build, errors="", pytest_file=PYTEST, status=0):
    (build / "meson-logs").mkdir()
    (build / "meson-logs" / "testlog.junit.xml").write_text(MESON.format(errors=errors))
    (build / "junit").mkdir()
    (build / "junit" / "errors.xml").write_text(pytest_file)
    result = run(ROOT / "tools" / "sum-tests", "--make-status", status, build, build / "absent")
    return result.returncode, result.stdout.splitlines()


def test_cases_of_pytest_are_counted_instead_of_its_run(tmp_path):
    assert sum_tests(tmp_path) == (0, [*skipped_lines(tmp_path), "4 passed, 0 failed, 2 skipped"])


def test_a_failed_case_fails(tmp_path):
    status, lines = sum_tests(tmp_path, "<failure/>", PYTEST.replace('"two"/>', '"two"><failure/></testcase>'))
    assert status == 1
    assert lines == [*skipped_lines(tmp_path), f"FAILED {tmp_path}: t/two", "3 passed, 1 failed, 2 skipped"]


def test_a_run_that_fell_over_fails_though_its_cases_passed(tmp_path):
    status, lines = sum_tests(tmp_path, "<failure/>")
    assert (status, lines[-1]) == (1, "4 passed, 1 failed, 2 skipped")


def test_make_failing_without_a_failed_test_fails(tmp_path):
    status, lines = sum_tests(tmp_path, status=2)
    assert (status, lines[-1]) == (1, "4 passed, 1 failed, 2 skipped")


def test_no_tests_at_all_is_a_failure(tmp_path):
    result = run(ROOT / "tools" / "sum-tests", tmp_path)
    assert (result.returncode, result.stdout) == (1, "0 passed, 0 failed, 0 skipped\n")


def test_a_skipped_test_in_c_is_no_failure(build_dir):
    result = run("env", "CMOCKA_MESSAGE_OUTPUT=TAP", build_dir / "tests" / "house" / "skipped")
    assert result.returncode == 0
    assert result.stdout.splitlines()[:3] == ["1..2", "ok 1 - skipped # SKIP needs another world", "ok 2 - passed"]


APT = """#!/bin/sh
echo "$@" >>{place}/said
case "$*" in *update*) [ $(grep -c update {place}/said) -gt {failures} ] || {{ echo no mirror; exit 100; }} ;; esac
"""


@pytest.mark.parametrize("failures", [0, 2, 9])
def test_a_mirror_that_fails_is_tried_again(tmp_path, failures):
    programs = {"apt-get": APT.format(place=tmp_path, failures=failures), "sudo": '#!/bin/sh\nexec "$@"\n',
                "dpkg-query": "#!/bin/sh\n", "sleep": "#!/bin/sh\n"}
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    result = run("env", f"PATH={tmp_path}:{os.environ['PATH']}", ROOT / "tools" / "install-packages", "build")
    assert result.returncode == (failures > 3) and result.stderr.count("no mirror") == min(failures, 4)
    said = (tmp_path / "said").read_text()
    assert said.count(" update") == min(failures, 3) + 1 and said.count("install -y") == (failures < 4)


@pytest.fixture
def tree(tmp_path):
    """A copy of the sources that a test may spoil."""
    for name in ("include", "src", "tools", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("ARCHITECTURE.md", ".clang-format"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("tests", "bench", "fuzz"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.mark.parametrize("path, line", [
    ("src/base/units.c", '#include "elf/elf.h"'),
    ("src/query/session.c", '#include "recorder/recorder.h"'),
    ("src/agent/ground/mem.c", '#include "base/error.h"'),
    ("src/agent/ground/mem.c", '#include "agent/core/core.h"'),
    ("src/plan/new.c", '#include "atf.h"'),
    ("src/abi/wire.h", '#include "agent/ground/agent.h"'),
])
def test_layers_are_held(tree, path, line):
    assert run(tree / "tools" / "check-layers").returncode == 0
    with open(tree / path, "a") as source:
        source.write(line + "\n")
    result = run(tree / "tools" / "check-layers")
    assert result.returncode == 1
    assert result.stdout.startswith(f"{path} includes ")


def test_rooms_are_held(tree):
    judge = tree / "src" / "agent" / "judge"
    for i in range(17):
        (judge / f"more{i}.c").touch()
    (tree / "src" / "agent" / "attic").mkdir()
    picture = tree / "ARCHITECTURE.md"
    picture.write_text(picture.read_text().replace("-> ground, core, judge\n", "-> ground, judge\n"))
    result = run(tree / "tools" / "check-layers")
    assert result.returncode == 1
    assert result.stdout.splitlines() == [
        "src/agent/attic is a folder or a room of tools/check-layers, but not both",
        f"src/agent/judge has {len(list(judge.glob('*.c')))} source files, 16 allowed: make two rooms of it",
        "ARCHITECTURE.md draws src/agent/record -> ground, judge, but tools/check-layers has core, ground, judge",
    ]


def test_calls_between_rooms_are_held(tree):
    (tree / "src" / "agent" / "ground" / "low.c").write_text("void high(void);\nvoid low(void);\nvoid low(void) { high(); }\n")
    (tree / "src" / "agent" / "life" / "high.c").write_text("void high(void);\nvoid high(void) { }\n")
    commands = []
    for name in ("ground/low", "life/high"):
        source, output = tree / "src" / "agent" / f"{name}.c", name.replace("/", "_") + ".o"
        assert run("gcc", "-c", "-o", tree / output, source).returncode == 0
        commands.append({"directory": str(tree), "file": str(source), "output": output})
    assert run("gcc", "-shared", "-nostdlib", "-fPIC", "-o", tree / "agent.so", "-xc", "/dev/null").returncode == 0
    (tree / "compile_commands.json").write_text(json.dumps(commands))
    result = run(tree / "tools" / "check-layers", tree / "agent.so", tree)
    assert result.stdout.splitlines() == [
        "src/agent/ground/low.c needs high of src/agent/life/high.c: src/agent/ground stands on nothing",
        "src/agent/ground/low.c: no other file of src needs low: make it static, or part of the test that wants it",
    ]
    assert result.returncode == 1


def test_an_agent_that_links_libc_is_found(tree):
    (tree / "agent.c").write_text("#include <stdio.h>\nvoid say(void) { puts(\"\"); }\n")
    assert run("gcc", "-shared", "-fPIC", "-o", tree / "agent.so", tree / "agent.c").returncode == 0
    result = run(tree / "tools" / "check-layers", tree / "agent.so")
    assert result.returncode == 1
    assert "the agent links libc.so.6" in result.stdout
    assert "the agent needs puts" in result.stdout


def test_sizes_are_held(tree):
    (tree / "src" / "base" / "long.c").write_text("void f(void)\n{\n" + "\tf();\n" * 68 + "}\n" + "\n" * 530)
    result = run(tree / "tools" / "check-sizes")
    assert result.returncode == 1
    assert result.stdout.splitlines() == [
        "src/base/long.c: 601 lines, 600 allowed: split it by what it does",
        "src/base/long.c:1: f has 71 lines, 70 allowed",
    ]


def test_the_dialect_is_held(tree):
    (tree / "src" / "base" / "odd.c").write_text(
        "static int take(int *x)\n{\n\tint rc = *x;\n\treturn rc + (int)sizeof(*x);\n}\n\nint  odd(int *x)\n{\n\treturn take(x);\n}\n")
    for name in ("b", "c", "d"):
        (tree / "src" / "base" / f"{name}.c").write_text("static void take(void)\n{\n}\n")
    result = run(tree / "tools" / "check-dialect")
    assert result.returncode == 1
    assert result.stdout.splitlines() == [
        "src/base/odd.c: not as clang-format has it: make format",
        "src/base/odd.c:4: the size of an object has no parentheses: sizeof *x",
        "src/base/odd.c:3: rc: what a call returned is `status`",
        "src/base/odd.c:4: a blank line stands behind declarations",
        "src/base/b.c and 3 others have a static take: say of what, in each file's own terms",
    ]


@pytest.mark.parametrize("old, new", [
    ("| 24 | 4 | event_size", "| 24 | 8 | event_size"),
    ("| 28 | 4 | detail_seq", "| 28 | 4 | detail_nr"),
    ("| 60 | 4 | reserved | 0 |\n", ""),
    ("| ADA_EVENT_LOST | 4", "| ADA_EVENT_LOST | 5"),
])
def test_the_format_page_is_held_against_the_headers(tree, old, new):
    page = tree / "docs" / "format.md"
    assert run(tree / "tools" / "check-format", "gcc").returncode == 0
    assert old in page.read_text()
    page.write_text(page.read_text().replace(old, new))
    assert run(tree / "tools" / "check-format", "gcc").returncode != 0
