"""docs/control.md is what a live recorder says: each of its examples is asked, and the answers have the form that it shows and
docs/control.schema.json prescribes."""
import json
import pathlib
import re

import jsonschema
import pytest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "control.md").read_text()
SCHEMA = json.loads((DOCS / "control.schema.json").read_text())
EXAMPLES = re.findall(r"^> (.*)\n< (.*)$", PAGE, re.MULTILINE)
EXACT = ("ok", "version", "code", "error", "warning", "id", "policyVersion", "processes")      # of an example, in any run


def check(kind, message):
    definition = {"$schema": SCHEMA["$schema"], "$defs": SCHEMA["$defs"], "$ref": f"#/$defs/{kind}"}
    jsonschema.Draft202012Validator(definition).validate(message)


def form(value, name=""):
    """Names and types; of a list its first item; metrics are the manifest's, which has a schema of its own; whether a thread is behind is chance."""
    if name == "behind":
        return type(value).__name__
    if isinstance(value, dict) and name != "metrics":
        return {key: form(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [form(value[0])] if value else []
    return type(value).__name__


def is_request(text):
    try:
        return "request" in json.loads(text)
    except json.JSONDecodeError:
        return False


def test_every_message_is_shown():
    shown = {json.loads(asked)["request"]: json.loads(said) for asked, said in EXAMPLES if is_request(asked) and json.loads(said)["ok"]}
    assert {f"{name}-request" for name in shown} == {name for name in SCHEMA["$defs"] if name.endswith("-request")}
    assert {f"{name}-answer" for name in shown} == {name for name in SCHEMA["$defs"] if name.endswith("-answer")}
    codes = SCHEMA["$defs"]["error"]["properties"]["code"]["enum"]
    assert re.findall(r"^\| `([a-z-]+)` \| [a-z]", PAGE.partition("## Errors")[2], re.MULTILINE) == codes
    assert re.findall(r"^## ([a-z]+[a-z-]*)$", PAGE, re.MULTILINE) == list(shown)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.traces
def test_a_recorder_says_what_the_page_shows(live):
    """In the page's order, which ends with errors; `stop` at last."""
    session = live("--trigger=crash", "--trigger=manual")
    session.wait_for(lambda s: s["events"] > 0 and s["providers"] and s["providers"][0]["writtenNs"], "events come, and are written")
    for asked, said in sorted(EXAMPLES, key=lambda example: '"stop"' in example[0]):
        said = json.loads(said)
        if said.get("code") == "ended":
            continue                                        # test_waits.py
        line = session.ask(asked.encode() + b"\n")
        assert line.endswith(b"\n") and line.count(b"\n") == 1, asked
        answer = json.loads(line)
        if said["ok"]:
            check("request", json.loads(asked))
            for message in (answer, said):
                check(f"{json.loads(asked)['request']}-answer", message)
        else:
            for message in (answer, said):
                check("error", message)
        if '"stop"' not in asked:
            assert form(answer) == form(said), asked
        assert {key: answer.get(key) for key in EXACT if key in said} == {key: said[key] for key in EXACT if key in said}, asked
    assert session.process.wait(60) == 0


@pytest.mark.traces
def test_too_long_a_request(live):
    session = live()
    try:
        answer = json.loads(session.ask(b"x" * 16384))
    except (ConnectionResetError, BrokenPipeError):
        pytest.fail("hung up without an answer")
    check("error", answer)
    assert answer["code"] == "too-long"


@pytest.mark.traces
def test_a_request_may_name_its_version(live):
    session = live()
    assert session.request("trigger-list", version=1)["version"] == 1
    for other in (0, 2, -1, "1", None, 1.0, [1]):
        answer = json.loads(session.ask(json.dumps({"request": "stop", "version": other}).encode() + b"\n"))
        assert (answer["ok"], answer["code"]) == (False, "version")
    assert session.status()["recording"] is True


@pytest.mark.traces
@pytest.mark.parametrize("detail, mode", [("off", "index_only"), ("stack", "selective_persistence"), ("regs", "selective_persistence")])
def test_the_manifest_names_what_was_recorded(live, detail, mode):
    session = live(f"--detail={detail}")
    assert session.end() == 3
    manifest, = [json.loads(path.read_text()) for path in session.session.glob("pid_*/manifest.json")]
    assert manifest["mode"] == mode
    assert manifest["detail_lane"]["capture"] == ("off" if detail == "off" else "always")
