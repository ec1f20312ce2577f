"""A crash in the first instructions of a function is told where the function has it, although ada ran them from a copy."""
import json
import pathlib
import subprocess

import pytest

from harness import Session

pytestmark = pytest.mark.traces


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("first") / "first"
    subprocess.run(["cc", "-O1", "-o", path, pathlib.Path(__file__).with_name("first.c")], check=True)
    return path


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_place_of_a_crash_in_a_copy(ada, program, tmp_path, number):
    symbols = {fields[2]: int(fields[0], 16) for line in subprocess.check_output(["nm", program], text=True).splitlines()
               if len(fields := line.split()) == 3}
    hooked = ada("functions", "--all", "--json", program).stdout.decode()
    assert f'"crash_{number}"' in hooked
    assert ada.trace(tmp_path / "out", [program, str(number)]).status == 128 + 11
    path = Session(tmp_path / "out").path
    manifest = json.loads(next(path.glob("pid_*/manifest.json")).read_text())
    (module,) = (module for module in manifest["modules"] if module["path"] == str(program))
    assert int(manifest["crash"]["registers"]["rip"], 16) - int(module["base"], 16) == symbols[f"fault_{number}"]
    assert manifest["crash"]["registers"]["rdi"] == "0x0" and manifest["crash"]["faultAddress"] == "0x8"
    said = " ".join(ada("narrate", "--all", path).stdout.decode().split())
    assert f"The instruction pointer was {manifest['crash']['registers']['rip']}, first+{symbols[f'fault_{number}']:#x} in crash_{number}" in said
