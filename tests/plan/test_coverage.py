"""How much of real programs is hooked, and that every plan means what the program means (plan-again).

Debian's own stripped binaries, and programs compiled here at every level with gcc and clang.
"""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")

# Stripped: shares of what .eh_frame and .dynsym give. libc holds what must not be hooked, so it has its own bound.
INSTALLED = [
    ("/bin/bash", 98.5), ("/usr/bin/git", 98.5), ("/usr/lib/gcc/x86_64-linux-gnu/12/cc1", 98.5), (LIBRARIES / "libcrypto.so.3", 98.5),
    ("/usr/bin/python3.11", 98.5), ("/usr/bin/redis-server", 98.5), ("/usr/sbin/nginx", 98.5), (LIBRARIES / "libstdc++.so.6", 98.5),
    (LIBRARIES / "libc.so.6", 97.5),
]
LEVELS = {"-O0": 99.5, "-O2": 99.5, "-O3": 99.5, "-Os": 99.0}
EXEC = ["-no-pie", "-fcf-protection=full"]


def functions(ada, path, tmp_path):
    out = subprocess.run([ada.path, "functions", "--json", path], check=True, capture_output=True,
                         env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)}).stdout
    return json.loads(out)


def check(ada, build_dir, path, percent, tmp_path):
    answer = functions(ada, path, tmp_path)
    assert answer["functions"] - answer["hooked"] == len(answer["skipped"]) == sum(answer["reasons"].values())
    assert abs(answer["percent"] - 100 * answer["hooked"] / answer["functions"]) < 0.01
    assert answer["percent"] >= percent, answer["reasons"]
    again = subprocess.run([build_dir / "tests/plan/plan-again", path], capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    return answer


@pytest.mark.parametrize("path,percent", INSTALLED, ids=lambda value: os.path.basename(str(value)))
def test_installed(ada, build_dir, tmp_path, path, percent):
    if not os.path.exists(path):
        pytest.skip(f"{path} is not installed")
    check(ada, build_dir, path, percent, tmp_path)


# Each takes seconds to compile: every compiler, level and kind at least once.
COMPILED = [("g++", "-O0", []), ("g++", "-O2", EXEC), ("g++", "-Os", []), ("clang++", "-O3", [])]


@pytest.mark.parametrize("compiler,level,options", COMPILED, ids=lambda value: str(value))
def test_compiled(ada, build_dir, tmp_path, compiler, level, options):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    program = tmp_path / "sample"
    subprocess.run([compiler, "-std=c++17", "-pthread", level, *options, HERE / "sample.cc", "-o", program], check=True)
    answer = check(ada, build_dir, program, LEVELS[level], tmp_path)
    assert answer["functions"] > 300
    # The same code without its names: .eh_frame gives nearly as many.
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, program], check=True)
    check(ada, build_dir, stripped, LEVELS[level] - 0.5, tmp_path)
