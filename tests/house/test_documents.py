"""What the documents say of the program is what the program says of itself."""
import json
import os
import pathlib
import re

import jsonschema
import pytest

from documents import dead_links
from harness import run

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = ["top", "tui", "trace", "status", "mark", "anchor", "stop", "trigger", "functions", "info", "dump", "export", "graph", "tune", "report", "verify", "windows", "mcp", "view", "narrate", "query", "recover", "pack", "unpack"]
OPTION = re.compile(r"--[a-z][a-z0-9-]*")


def manual(name):
    """A manual page as text: roff's escapes for hyphens undone, comments left out."""
    text = (ROOT / "docs" / "man" / f"{name}.1").read_text()
    return re.sub(r'^\.\\".*$', "", text, flags=re.MULTILINE).replace(r"\-", "-")


def test_every_command_is_listed_and_has_its_page(ada):
    lines = re.findall(r"^  ([a-z]+(?:, [a-z]+)*) ", ada("--help").stdout.decode(), re.MULTILINE)
    listed = ", ".join(lines).split(", ")
    assert sorted(listed) == sorted(COMMANDS)
    readme = (ROOT / "README.md").read_text()
    for command in COMMANDS:
        assert f"`ada {command} " in readme
        assert f".BR ada-{command} (1)" in (ROOT / "docs" / "man" / "ada.1").read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_has_the_options_that_help_has(ada, command):
    result = ada("help", command)
    assert result.status == 0
    described = set(OPTION.findall("\n".join(line for line in manual(f"ada-{command}").splitlines()
                                              if line.startswith((".BR -", ".B -", ".BI -")))))
    assert described == set(OPTION.findall(result.stdout.decode())) - {"--usage"}


@pytest.mark.parametrize("page", ["ada", *(f"ada-{command}" for command in COMMANDS)])
def test_every_page_has_examples(page):
    assert "\n$ " in manual(page).partition("\n.SH EXAMPLES\n")[2].partition("\n.SH ")[0]


def test_every_reason_is_explained():
    reasons = re.findall(r'X\(\w+, "([a-z0-9-]+)"', (ROOT / "src" / "plan" / "ground" / "refusal.h").read_text())
    assert len(reasons) > 10
    section = manual("ada-functions").partition(".SH REASONS")[2].partition(".SH ")[0]
    assert re.findall(r"^\.B (.+)$", section, re.MULTILINE) == reasons


@pytest.mark.parametrize("name", ["manifest", "session", "descriptors"])
def test_schemas_are_schemas(name):
    schema = json.loads((ROOT / "docs" / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("place", [".", "bench", "docs"])
def test_links_in_documents_lead_somewhere(place):
    assert dead_links(ROOT / place, below=place != ".") == []


def test_pictures_are_small_and_shown():
    shown = (ROOT / "docs" / "pictures" / "README.md").read_text()
    pictures = list((ROOT / "docs" / "pictures").glob("*.png"))
    assert len(pictures) > 3
    for picture in pictures:
        assert picture.stat().st_size < 150_000 and f"]({picture.name})" in shown, picture.name


def test_the_cookbook_uses_options_that_there_are(ada):
    blocks = re.findall(r"^```\n(.*?)^```", (ROOT / "docs" / "cookbook.md").read_text(), re.MULTILINE | re.DOTALL)
    used = re.findall(r"\bada ([a-z]+)((?: +(?!-- )-[^ =\n]+(?:='[^'\n]*'|=[^ \n]+)?)*)", "\n".join(blocks))
    assert len(used) > 15
    for command, options in used:
        assert command in COMMANDS
        there = set(OPTION.findall(ada("help", command).stdout.decode()))
        named = re.findall(r"(?:^| )(--[a-z-]+)", re.sub(r"'[^']*'", "", options))
        assert set(named) <= there, (command, named)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_screen(ada, command):
    """Of 80 columns and 30 lines; where a terminal has fewer a pager shows it. Each option is named there, or `ada help` has it."""
    lines = ada(command, "--help").stdout.decode().splitlines()
    assert len(lines) <= 30
    whole = ada("help", command).stdout.decode()
    assert all(len(line) <= 80 for line in lines + whole.splitlines())
    text = "\n".join(lines)
    assert [option for option in OPTION.findall(whole) if option not in text] == []


def test_what_holds_an_invariant_is_there():
    """docs/inside names a test for each invariant, and code by the names of its files."""
    files = [path for top in ("src", "tests", "fuzz") for path in (ROOT / top).rglob("*") if path.is_file()]
    named = 0
    for page in (ROOT / "docs" / "inside").glob("*.md"):
        for file, _, test in re.findall(r"`([a-z_0-9/]+\.(?:c|cc|h|py|S))(: (\w+))?`", page.read_text()):
            found = [path for path in files if path.as_posix().endswith("/" + file)]
            assert found, f"{page.name}: {file}"
            if test:
                text = "".join(path.read_text() for path in found)
                assert re.search(rf"^(def|static void) {test}\(", text, re.MULTILINE), f"{page.name}: {file}: {test}"
                named += 1
    assert named > 30


def transcript(text):
    """What is printed under each `$ command`, without what differs from run to run: numbers, paths, widths of columns."""
    parts = {}
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *lines = part.rstrip().splitlines()
        lines = [re.sub(r"/\S+/", "/", line) for line in lines]
        lines = [re.sub(r"(?<![A-Za-z])\d\S*( [a-zA-Z]?s\b)?|=\S+|\b[0-9a-f]{32,}", "#", line) for line in lines]
        parts[command] = [" ".join(line.split()) for line in lines]
    return parts


def test_the_readme_shows_what_the_demo_prints(build_dir):
    shown = transcript(re.search(r"^```\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)[1])
    demo = run([ROOT / "tools" / "demo"], env={**os.environ, "BUILD": os.path.relpath(build_dir, ROOT)})
    assert demo.status == 0, demo.stderr.decode()
    printed = transcript(demo.stdout.decode())
    assert [command for command in printed if command in shown] == list(shown)
    for command, lines in shown.items():
        if command.startswith("ada report"):        # which function took longest is chance
            lines, printed[command] = ([some[0], len(some), some[-1]] for some in (lines, printed[command]))
        assert printed[command] == lines, command
