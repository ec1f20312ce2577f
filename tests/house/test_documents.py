"""What the documents say of the program is what the program says of itself."""
import json
import pathlib
import re

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = ["trace", "status", "mark", "stop", "trigger", "functions", "info", "dump", "report", "verify", "windows"]
OPTION = re.compile(r"--[a-z][a-z0-9-]*")


def manual(name):
    """A manual page as text: roff's escapes for hyphens undone, comments left out."""
    text = (ROOT / "docs" / "man" / f"{name}.1").read_text()
    return re.sub(r'^\.\\".*$', "", text, flags=re.MULTILINE).replace(r"\-", "-")


def test_every_command_is_listed_and_has_its_page(ada):
    listed = re.findall(r"^  ([a-z]+)  ", ada("--help").stdout.decode(), re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)
    readme = (ROOT / "README.md").read_text()
    for command in COMMANDS:
        assert f"`ada {command} " in readme
        assert f".BR ada-{command} (1)" in (ROOT / "docs" / "man" / "ada.1").read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_has_the_options_that_help_has(ada, command):
    result = ada(command, "--help")
    assert result.status == 0
    described = set(OPTION.findall("\n".join(line for line in manual(f"ada-{command}").splitlines()
                                              if line.startswith((".BR -", ".B -", ".BI -")))))
    assert described == set(OPTION.findall(result.stdout.decode())) - {"--usage"}


def test_every_reason_is_explained():
    reasons = re.findall(r'X\(\w+, "([a-z0-9-]+)"', (ROOT / "src" / "plan" / "refusal.h").read_text())
    assert len(reasons) > 10
    section = manual("ada-functions").partition(".SH REASONS")[2].partition(".SH ")[0]
    assert re.findall(r"^\.B (.+)$", section, re.MULTILINE) == reasons


@pytest.mark.parametrize("name", ["manifest", "session"])
def test_schemas_are_schemas(name):
    schema = json.loads((ROOT / "docs" / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)


def test_links_in_documents_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
