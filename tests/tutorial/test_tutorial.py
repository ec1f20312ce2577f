"""The pages of docs/tutorial, README's first example and ada(1)'s: their commands run as they stand there, and say what the pages show but for numbers, times
and addresses."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

PAGES = pathlib.Path(__file__).parents[2] / "docs" / "tutorial"
MANUAL = PAGES.parent / "man" / "ada.1"
README = PAGES.parents[1] / "README.md"
PATIENCE = 60

pytestmark = pytest.mark.traces


def plain(text):
    """Without what differs by run, and however its lines are broken."""
    text = re.sub(r"/\S+/session_[\d_]+", "SESSION", re.sub(r"0x[0-9a-f]+", "ADDRESS", " ".join(text.split())))
    return re.sub(r"\+?\d[\d,]*(\.\d+)?( ?(ns|us|ms|s))?(?![a-z\d])", "NUMBER", text)


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
    assert counts == {"README.md": 0, "assertion.md": 5, "spike.md": 5, "hang.md": 5, "crash.md": 5}
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


@pytest.mark.parametrize("page, program", [*((PAGES / f"{name}.md", name) for name in ("spike", "hang", "crash")), (MANUAL, "spike"),
                                           (README, "spike"), (PAGES / "assertion.md", None)],
                         ids=["spike", "hang", "crash", "manual", "readme", "assertion"])
def test_what_a_page_shows(ada, tmp_path, page, program):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ada").symlink_to(ada.path)
    if program:
        shutil.copy(PAGES / f"{program}.c", tmp_path)
    environment = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    background = []

    def run(command):
        result = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                timeout=PATIENCE)
        return result.stdout.decode()

    def until(what, command, done):
        end = time.monotonic() + PATIENCE
        while not done(said := run(command)):
            assert background and time.monotonic() < end, f"{what}: {command}\n{plain(said)}"

    try:
        for command, pieces in steps(page):
            if command.endswith(" &"):
                background.append(subprocess.Popen(command.removesuffix(" &").split(), cwd=tmp_path, env=environment,
                                                   start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
                until("it never hung", "ada top --once", lambda said: said.count(" deadlock ") == 2)
            elif command.startswith(("ada narrate", "ada top", "ada dump", "ada report")):
                until(f"not as {page.name} shows it", command, lambda said: shows(plain(said), pieces))
            else:
                said = run(command)
                assert shows(plain(said), pieces), said
    finally:
        for process in background:
            os.killpg(process.pid, signal.SIGINT)       # the program ends, and its recording with it
            process.wait(timeout=PATIENCE)
