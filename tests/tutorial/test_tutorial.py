"""The pages of docs/tutorial, README's first example and ada(1)'s: their commands run as they stand there, and say what the pages show but for numbers, times
and addresses."""
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import time

import pytest

PAGES = pathlib.Path(__file__).parents[2] / "docs" / "tutorial"
MANUAL = PAGES.parent / "man" / "ada.1"
README = PAGES.parents[1] / "README.md"
PATIENCE = 60
MEMORY = 16 << 30               # of what hangs, most of it reserved and never used: jq takes more for as long as it runs
HANGS = {"hang": lambda said, command: said.count(" deadlock ") == 2,            # by what `ada top` says
         # Of the library's functions a budget may let go of more than it has to at first: what the page shows comes back.
         "endless": lambda said, command: "onig_search" in said or "--modules" not in command and "jq_next" in said and "libjq.so.1+0x" not in said}
REAL = ("assertion", "endless")
EXERCISES = ("spike", "hang", "crash")


def plain(text):
    """Without what differs by run, however its lines are broken, and of several calls in one window as of one."""
    text = re.sub(r"/\S+/session_[\d_]+", "SESSION", re.sub(r"0x[0-9a-f]+", "ADDRESS", " ".join(text.split())))
    text = re.sub(r"\+?\d[\d,]*(\.\d+)?( ?(ns|us|ms|s))?(?![a-z\d])", "NUMBER", text)
    return re.sub(r"NUMBER calls of (\S+) took up to (NUMBER, usually NUMBER: )they ", r"A call of \1 took \2it ", text)


def steps(page):
    """Commands of a page, each with the pieces of what it shows."""
    text = page.read_text()
    if page.suffix == ".1":
        text = re.sub(r"\\(&|(-))", r"\2", re.sub(r"^\.EX$", "```console", re.sub(r"^\.EE$", "```", text, flags=re.M), flags=re.M))
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = step.partition("\n")
            yield command, [plain(piece) for piece in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE) if piece.strip()]


def test_the_pages_have_steps():
    counts = {page.name: len(list(steps(page))) for page in PAGES.glob("*.md")}
    assert counts == {"README.md": 0, "assertion.md": 5, "endless.md": 12, "checkpoint.md": 13, "spike.md": 5, "hang.md": 5, "crash.md": 5}
    assert len(list(steps(MANUAL))) == 5 and len(list(steps(README))) == 3


def shows(said, pieces):
    """Whether all pieces are there, in their order."""
    at = 0
    for piece in pieces:
        at = said.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def on_a_disk(place):
    return subprocess.run(["stat", "--file-system", "--format=%T", place], capture_output=True, text=True, check=True).stdout.strip() not in ("tmpfs", "ramfs")


def walk(ada, place, page, program):
    """Runs a page's commands in this directory, and holds what they say against what the page shows."""
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "ada").symlink_to(ada.path)
    if program:
        shutil.copy(PAGES / f"{program}.c", place)
    environment = {**os.environ, "PATH": f"{place}/bin:{os.environ['PATH']}"}
    background = []

    def run(command):
        result = subprocess.run(["bash", "-c", command], cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                timeout=PATIENCE)
        return result.stdout.decode()

    def until(what, command, done):
        end = time.monotonic() + PATIENCE
        while not done(said := run(command)):
            assert background and time.monotonic() < end, f"{what}: {command}\n{plain(said)}"

    def start(command):
        background.append(subprocess.Popen(shlex.split(command), cwd=place, env=environment, start_new_session=True, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))))
        until("it never hung", "ada top --once", lambda said: "being recorded" in said and HANGS[page.stem](said, command))

    def end(number):
        process = background.pop()
        os.killpg(process.pid, number)                  # the program ends, and its recording with it
        process.wait(timeout=PATIENCE)

    try:
        for command, pieces in steps(page):
            if command.endswith(" &"):
                start(command.removesuffix(" &"))
            elif command == "kill %1":
                end(signal.SIGTERM)
            elif command.startswith(("ada narrate", "ada top", "ada dump", "ada report", "ada graph")):
                until(f"not as {page.name} shows it", command, lambda said: shows(plain(said), pieces))
            else:
                said = run(command)
                assert shows(plain(said), pieces), said
    finally:
        while background:
            end(signal.SIGINT)


PAGES_AND_PROGRAMS = {**{name: (PAGES / f"{name}.md", None) for name in REAL}, **{name: (PAGES / f"{name}.md", name) for name in EXERCISES},
                      "manual": (MANUAL, "spike")}


@pytest.mark.traces
@pytest.mark.parametrize("page, program", PAGES_AND_PROGRAMS.values(), ids=PAGES_AND_PROGRAMS)
def test_what_a_page_shows(ada, tmp_path, page, program):
    walk(ada, tmp_path, page, program)


@pytest.mark.traces
def test_what_the_page_of_a_slow_disk_shows(ada, tmp_path, need):
    """It is right where the disk is slower than all else that goes on: a machine that has no processor for sqlite3, or a disk that takes a checkpoint in no
    time, has other spikes, and ada tells of those. So one of three times does."""
    need(on_a_disk(tmp_path), "a disk below the tests' directory: in memory fdatasync takes no time")
    said = []
    for attempt in range(3):
        try:
            return walk(ada, tmp_path / str(attempt), PAGES / "checkpoint.md", None)
        except AssertionError as error:
            said.append(str(error)[:3000])
    pytest.fail("\n".join(said))
