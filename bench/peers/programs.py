"""Builds the programs of the peer table, each as its tracers need it; nothing of what is fetched stays but below one directory."""
import os
import pathlib
import shutil
import subprocess

from measure import Skipped

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = ["-O2", "-g", "-pthread", "-D_GNU_SOURCE", "-fno-optimize-sibling-calls", "-w"]
VARIANTS = {
    "plain": ["gcc", *FLAGS, "-fno-ipa-icf"],
    "pg": ["gcc", *FLAGS, "-fno-ipa-icf", "-pg"],
    "cyg": ["gcc", *FLAGS, "-fno-ipa-icf", "-finstrument-functions"],
    "xray": ["clang", *FLAGS, "-fxray-instrument", "-fxray-instruction-threshold=1"],
}


def compile_(words):
    try:
        told = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    except OSError as error:
        raise Skipped(f"{words[0]}: {error.strerror}") from error
    if told.returncode:
        lines = [line for line in told.stderr.splitlines() if "error" in line or "cannot find" in line] or told.stderr.splitlines()
        raise Skipped(f"can't be built: {lines[0][-100:]}")


class Program:
    """A main of ours, and the library that is linked in: from its sources, where they are there, else Debian's archive, of which
    only the plain build can be made."""

    def __init__(self, place, main, sources=(), archive=(), libraries=(), unbuilt=None):
        self.place, self.main, self.sources, self.archive = place, main, list(sources), list(archive)
        self.libraries, self.unbuilt, self.made = list(libraries), unbuilt, {}

    def path(self, variant):
        """Builds at first use, and says always the same."""
        if variant not in self.made:
            try:
                self.made[variant] = self.build(variant)
            except Skipped as reason:
                self.made[variant] = reason
        if isinstance(self.made[variant], Skipped):
            raise self.made[variant]
        return self.made[variant]

    def build(self, variant):
        if self.archive and variant != "plain":
            raise Skipped(self.unbuilt)
        target = self.place / f"{pathlib.Path(self.main).stem}-{variant}"
        parts = [HERE / self.main, *self.sources]
        if variant == "xray":       # what counts for XRay can't be counted itself
            compile_(["clang", *FLAGS, "-c", HERE / "xray.c", "-o", self.place / "xray.o"])
            parts.append(self.place / "xray.o")
        compile_([*VARIANTS[variant], *parts, "-o", target, *self.archive, *self.libraries])
        return target


def debian_source(place, package):
    """The sources of a package, where apt is configured to have any; else None."""
    if not shutil.which("apt-get"):
        return None
    asked = subprocess.run(["apt-get", "indextargets", "Created-By: Sources"], capture_output=True, text=True)
    if asked.returncode or not asked.stdout.strip():
        return None
    into = place / "source"
    into.mkdir(exist_ok=True)
    got = subprocess.run(["apt-get", "-qq", "source", package], cwd=into, capture_output=True)
    found = sorted(into.glob(f"{package}-*/src"))
    return found[0] if got.returncode == 0 and found else None


def library(place, main, name, package, archive, libraries):
    """Where SOURCES names no directory that has them, and Debian's aren't to be had either, its archive is linked in."""
    given = os.environ.get("SOURCES")
    folder = pathlib.Path(given, name) if given else debian_source(place, package) if package else None
    found = sorted(folder.glob("*.c")) if folder else []
    if found:
        left_out = {"lua.c", "luac.c", "onelua.c", "ltests.c", "shell.c"}
        return Program(place, main, [path for path in found if path.name not in left_out], libraries=[f"-I{folder}", *libraries])
    return Program(place, main, archive=[archive], libraries=libraries,
                   unbuilt=f"Debian has it built; SOURCES=DIRECTORY with {name}/ builds it")


def counter(place):
    target = place / "count_cyg.so"
    compile_(["gcc", *FLAGS, "-shared", "-fPIC", HERE / "count_cyg.c", "-o", target])
    return target


def lua(place):
    return library(place, "lua.c", "lua", "lua5.4", "-l:liblua5.4.a", ["-I/usr/include/lua5.4", "-lm", "-ldl"])


def sqlite(place):
    """Debian's source of it is no single file."""
    return library(place, "sqlite.c", "sqlite", None, "-l:libsqlite3.a", ["-lm", "-ldl", "-lz"])
