"""The Debian packages: lintian finds nothing in them, and in a bare Debian they install, record, answer and go again."""
import os
import pathlib
import subprocess

import pytest

from documents import dead_links
from harness import run

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 1000          # 118 of CPU time, of which a full machine gives a quarter or less; tools/check ends the suite after 1200
PACKAGES = ["ada", "libatf1", "libatf-dev"]
# What a program needs of the kernel, in a mount namespace that ends with the command. Where / is no mount of its own, as in a chroot, what
# is mounted can't be kept from others here; who has made such a place has done so.
ENTER = """mount --make-rprivate / 2>/dev/null
mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount -t tmpfs tmpfs "$0/tmp" && mount -t tmpfs tmpfs "$0/dev/shm" &&
exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@" """


def succeed(command, **options):
    result = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, **options)
    assert result.returncode == 0, f"{command}: {result.stdout[-2000:]}{result.stderr[-2000:]}"
    return result.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A directory of what is built."""
    place = tmp_path_factory.mktemp("packages")
    succeed([ROOT / "tools" / "build-packages", place])
    return place


def apt_sources():
    lists = [pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt/sources.list.d").glob("*.list"),
             *pathlib.Path("/etc/apt/sources.list.d").glob("*.sources")]
    return [path for path in lists if path.exists()]


@pytest.fixture(scope="module")
def bare(packages, tmp_path_factory):
    """Runs a command in a bare Debian in which the packages have been installed."""
    if os.geteuid() != 0:
        pytest.skip("needs root: a file system of its own is made, and entered")
    root = tmp_path_factory.mktemp("bare") / "root"
    release = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
    install = 'chroot "$1" apt-get install -y -qq $(cd "$1" && ls ./packages/*.deb)'
    succeed(["mmdebstrap", "--quiet", "--mode=root", "--variant=apt", "--skip=cleanup/apt",
             f"--setup-hook=mkdir \"$1/packages\" && cp {' '.join(str(packages / f'{name}_*.deb') for name in PACKAGES)} \"$1/packages\"",
             f"--customize-hook={install}", release["VERSION_CODENAME"], root, *apt_sources()])

    def enter(*command):
        return run(["/usr/bin/unshare", "--mount", "--propagation=unchanged", "--pid", "--fork", "--kill-child", "/bin/sh", "-c", ENTER, root, *command])
    yield enter
    subprocess.run(["rm", "-rf", "--one-file-system", root], check=True)


def test_lintian_finds_nothing(packages):
    said = succeed(["lintian", "--allow-root", "--fail-on", "error,warning", "--info", *packages.glob("*.changes")])
    assert not [line for line in said.splitlines() if line.startswith(("E:", "W:"))]


def test_they_install_in_a_bare_debian_and_ada_records_there(bare):
    result = bare("sh", "-c", "cd /tmp && ada trace sh -c 'echo hello; exit 3'; echo $?; ada verify && ada report --format=json --limit=3")
    assert result.status == 0, result.stderr
    lines = result.stdout.decode().splitlines()
    assert lines[:2] == ["hello", "3"]
    assert any(line.endswith("all is well.") for line in lines)
    assert '"complete": true' in result.stdout.decode()


def test_the_libraries_are_there_that_only_few_commands_load(bare):
    export = "ada export --format=clickhouse --url=http://127.0.0.1:1"
    view = "ada view --no-browser >url & while kill -0 $! && [ ! -s url ]; do sleep 0.1; done; kill $!; cat url"
    result = bare("sh", "-c", f"cd /tmp && ada trace --quiet true && {export}; {view}")
    assert b"is clickhouse-server running there?" in result.stderr, result.stderr
    assert result.stdout.startswith(b"http://127.0.0.1:"), result.stderr


def test_gdb_finds_what_it_needs_of_the_agent(packages, tmp_path):
    """As gdb would have it in a system where the package is installed: stripped, with the names that gdb looks for."""
    succeed(["dpkg", "-x", next(packages.glob("ada_*.deb")), tmp_path])
    agent, = tmp_path.glob("usr/lib/*/ada/libada-agent.so")
    names = {line.split()[-1] for line in succeed(["nm", agent]).splitlines()}
    assert {"__jit_debug_descriptor", "__jit_debug_register_code", "ada_stubs"} <= names and "ada_region_original" not in names
    assert (tmp_path / "usr/share/gdb/auto-load" / f"{agent.relative_to(tmp_path)}-gdb.py").is_file()


def test_completions_and_manual_are_where_shells_and_man_look(bare):
    wanted = ["/usr/share/bash-completion/completions/ada", "/usr/share/zsh/site-functions/_ada", "/usr/share/fish/vendor_completions.d/ada.fish",
              "/usr/share/gdb/auto-load/usr/lib/x86_64-linux-gnu/ada/libada-agent.so-gdb.py", "/usr/include/ada/atf.h", "/usr/lib/x86_64-linux-gnu/pkgconfig/libatf.pc", "/usr/share/doc/ada/copyright"]
    listed = bare("dpkg", "-L", *PACKAGES).stdout.decode().splitlines()
    assert [name for name in wanted if name not in listed] == []
    assert "/usr/share/man/man1/ada-trace.1.gz" in listed and "/usr/share/man/man3/atf.3.gz" in listed


def test_the_documents_lead_to_each_other(packages, tmp_path):
    succeed(["dpkg", "-x", next(packages.glob("ada_*.deb")), tmp_path])
    documents = tmp_path / "usr/share/doc/ada"
    assert dead_links(documents) == []
    for name in ("README.md", "docs/cookbook.md", "docs/comparison.md", "docs/tutorial/spike.c", "docs/pictures/view-call.png"):
        assert (documents / name).is_file(), name


def test_they_go_and_leave_nothing(bare):
    result = bare("sh", "-c", "dpkg -P libatf-dev libatf1 ada && ls -d /usr/lib/*/ada /usr/share/doc/ada /usr/bin/ada")
    assert b"cannot access '/usr/bin/ada'" in result.stderr, result.stderr
    assert result.stdout.decode().splitlines()[-1].startswith(("Removing", "Processing", "Purging")), result.stdout
