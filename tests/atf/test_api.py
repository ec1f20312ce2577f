"""libatf as others see it: what it exports, and that its header needs nothing but itself."""
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "atf.h"


def test_exports_are_what_the_header_declares(build_dir):
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    declared = set(re.findall(r"^[^\s#][^;{}]*?\b(\w+)\([^;{}]*\)\s*;", text, re.MULTILINE)) - {"atf_finding"}
    assert len(declared) > 30
    symbols = subprocess.run(["nm", "-D", "--defined-only", "--without-symbol-versions",
                              build_dir / "src" / "atf" / "libatf.so"], check=True, capture_output=True, text=True).stdout
    exported = {line.split()[2] for line in symbols.splitlines() if line.split()[1] != "A"}
    assert exported == declared


@pytest.mark.parametrize("compiler, standard", [("gcc", "c11"), ("g++", "c++17")])
def test_the_installed_headers_stand_alone(tmp_path, compiler, standard):
    """Laid out as `make install` does it."""
    (tmp_path / "abi").mkdir()
    for source, place in [(HEADER, "atf.h"), *((ROOT / "src/abi" / name, f"abi/{name}") for name in ["file.h", "record.h"])]:
        (tmp_path / place).write_bytes(source.read_bytes())
    source = tmp_path / f"use.{'c' if compiler == 'gcc' else 'cc'}"
    source.write_text("#include <atf.h>\nint use(struct atf_index *index);\n"
                      "int use(struct atf_index *index) { return (int)atf_index_header(index)->event_size; }\n")
    subprocess.run([compiler, f"-std={standard}", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}", "-fsyntax-only", source],
                   check=True)
