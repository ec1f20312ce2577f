"""`make install`: what is there works from there, without the tree."""
import json
import os
import pathlib
import subprocess

import pytest

from documents import dead_links
from harness import Ada, run

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(build_dir, tmp_path_factory):
    """Where the prefix lies after an installation into an empty directory."""
    root = tmp_path_factory.mktemp("root")
    options = json.loads(subprocess.run(["meson", "introspect", "--buildoptions", build_dir], check=True,
                                        capture_output=True).stdout)
    prefix = next(option["value"] for option in options if option["name"] == "prefix")
    result = run(["meson", "install", "-C", build_dir, "--no-rebuild", "--destdir", root])
    assert result.status == 0, result.stderr
    return root / prefix.lstrip("/")


def test_everything_is_in_its_place(installed):
    wanted = ["bin/ada", "lib/ada/libada-agent.so", "lib/libatf.so", "lib/libatf.a", "lib/pkgconfig/libatf.pc", "include/ada/atf.h",
              "share/man/man1/ada.1", "share/man/man1/ada-trace.1"]
    assert [name for name in wanted if not (installed / name).exists()] == []


def test_links_in_installed_documents_lead_somewhere(installed):
    """The manual is where man looks, and not beside them once more."""
    documents = installed / "share" / "doc" / "ada"
    assert dead_links(documents) == []
    there = {path.relative_to(documents).as_posix() for path in documents.rglob("*") if path.is_file()}
    assert {"README.md", "docs/tutorial/spike.c", "docs/cookbook.md", "docs/comparison.md", "docs/pictures/view-call.png", "docs/examples/timeline.c",
            "docs/manifest.schema.json", "docs/inside/hook.md"} <= there
    assert [name for name in there if "/man/" in name] == []


def test_the_shared_library_has_its_version_and_no_symbols_of_its_inside(installed):
    library = installed / "lib" / "libatf.so"
    assert library.resolve().name == "libatf.so.1.0.0"
    assert b"Library soname: [libatf.so.1]" in run(["readelf", "-d", library]).stdout
    exported = [line.split()[-1] for line in run(["nm", "-D", "--defined-only", library]).stdout.decode().splitlines()]
    assert "LIBATF_1" in exported
    functions = [name for name in exported if name != "LIBATF_1"]
    assert any(name.startswith("atf_") for name in functions)
    assert [name for name in functions
            if not name.startswith(("atf_", "ada_get_timestamp_ns", "ada_timing_")) or not name.endswith("@@LIBATF_1")] == []


def test_the_installed_ada_traces_with_the_installed_agent(installed, tmp_path):
    ada = Ada(installed / "bin" / "ada")
    result = ada.trace(tmp_path, ["/bin/echo", "hello"])
    assert (result.status, result.stdout) == (0, b"hello\n"), result.stderr
    assert ada("verify", tmp_path / "latest").status == 0


def test_a_program_of_ones_own_aligns_clocks_with_libatf(installed, tmp_path):
    ada = Ada(installed / "bin" / "ada")
    assert ada.trace(tmp_path, ["/bin/echo", "hello"]).status == 0
    flags = run(["pkg-config", "--define-prefix", "--cflags", "--libs", "libatf"],
                env={**os.environ, "PKG_CONFIG_PATH": str(installed / "lib" / "pkgconfig")}).stdout.decode().split()
    example = tmp_path / "anchors"
    result = run(["gcc", "-Wall", "-Wextra", "-Werror", ROOT / "docs" / "examples" / "anchors.c", *flags, "-o", example])
    assert result.status == 0, result.stderr.decode()
    result = run([example, tmp_path / "latest"], env={**os.environ, "LD_LIBRARY_PATH": str(installed / "lib")})
    assert result.status == 0, result.stdout.decode() + result.stderr.decode()
    assert len(json.loads((tmp_path / "latest" / "session.json").read_text())["anchors"]) == 4


def test_a_program_of_ones_own_reads_a_recording_with_libatf(installed, tmp_path):
    ada = Ada(installed / "bin" / "ada")
    assert ada.trace(tmp_path, ["/bin/echo", "hello"]).status == 0
    flags = run(["pkg-config", "--define-prefix", "--cflags", "--libs", "libatf"],
                env={**os.environ, "PKG_CONFIG_PATH": str(installed / "lib" / "pkgconfig")}).stdout.decode().split()
    example = tmp_path / "timeline"
    result = run(["gcc", "-Wall", "-Wextra", "-Werror", ROOT / "docs" / "examples" / "timeline.c", *flags, "-o", example])
    assert result.status == 0, result.stderr.decode()
    threads = sorted(tmp_path.glob("latest/pid_*/thread_*"))
    result = run([example, *threads], env={**os.environ, "LD_LIBRARY_PATH": str(installed / "lib")})
    assert result.status == 0, result.stderr.decode()
    events = sum(row["events"] for row in ada.rows("info", tmp_path / "latest") if "events" in row)
    assert len(result.stdout.splitlines()) == events > 0


def test_a_recorder_is_loaded_without_what_only_few_commands_call(installed):
    """libcurl, libmicrohttpd and the thirty libraries that those want were six of a recorder's megabytes, and six ms of its start."""
    loaded = run(["ldd", installed / "bin" / "ada"]).stdout.decode()
    assert "libsqlite3.so" in loaded
    assert [name for name in ("libcurl", "libmicrohttpd", "libgnutls", "libcrypto") if name in loaded] == []
