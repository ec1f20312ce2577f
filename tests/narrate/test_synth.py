"""Narratives of sessions that were synthesised (tests/query/synth_main.c): whole texts, and sessions in bad shape."""
import json
import pathlib
import random
import re
import shutil

import pytest

from claims import Story

GOLDEN = pathlib.Path(__file__).with_name("golden")


def text(ada, session, *arguments, status=0):
    result = ada("narrate", "--all", "--full-names", *arguments, session)
    assert result.status == status, result.stderr.decode()
    return result.stdout.decode()


@pytest.mark.parametrize("scenario", ["plain", "running", "lossy", "processes", "detail", "pair", "empty", "story", "lossy_story",
                                      "names"])
@pytest.mark.parametrize("form, ending", [("text", "txt"), ("markdown", "md")])
def test_whole_texts(ada, session, scenario, form, ending):
    found = text(ada, session(scenario), f"--format={form}")
    path = str(session(scenario))
    found = found.replace(path, "SESSION").replace(re.sub(r"([_`*])", r"\\\1", path), "SESSION")
    assert found == (GOLDEN / f"{scenario}.{ending}").read_text()


@pytest.mark.parametrize("scenario", ["plain", "processes", "detail", "pair", "story", "crowd"])
def test_every_sentence_is_true(ada, session, scenario):
    kinds = Story(ada, session(scenario)).check()
    assert {"session", "process", "thread"} <= kinds
    assert scenario not in ("story", "crowd") or {"window", "trigger", "path", "other-thread", "followed"} <= kinds
    assert scenario != "story" or {"slow", "new-caller"} <= kinds
    assert scenario != "crowd" or {"threads", "other-threads"} <= kinds


def test_json_says_what_sourcesays(ada, session):
    rows = ada.rows("narrate", session("story"), "--full-names")
    lines = [line.strip() for line in text(ada, session("story")).splitlines() if line.startswith("  ")]
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines):
        assert line.startswith(row["text"] + " [")
        more = {"cause"} if row["kind"] == "headline" else set()
        assert set(row) == {"section", "process", "window", "kind", "text", "evidence"} | more


@pytest.mark.parametrize("scenario", ["names", "lossy", "running", "empty", "rules", "detail", "random:3:5:20000"])
def test_json_is_sound(ada, session, scenario):
    """Whatever names hold; and each sentence has evidence that is there."""
    story = Story(ada, session(scenario), pair=False) if scenario not in ("empty", "running") else None
    rows = story.rows if story else ada.rows("narrate", session(scenario))
    assert rows
    for row in rows:
        assert row["evidence"] and row["text"].endswith(".")
        if story:
            story.check_evidence(row)


def test_a_random_session_is_told_truly(ada, session):
    assert {"thread", "still-open"} <= Story(ada, session("random:11:4:30000")).check()


def test_a_rule_whose_marks_the_manifest_leaves_out_is_named(ada, copy):
    """It keeps the first 1,000 marks of a window, and all the kinds."""
    directory = copy("story")
    path = directory / "pid_100/manifest.json"
    manifest = json.loads(path.read_text())
    window, = manifest["detail_lane"]["windows"]
    window["markedCount"] = 1207
    window["triggerKinds"] += ["return:leaf<0", "depth>20"]
    path.write_text(json.dumps(manifest))
    story = Story(ada, directory)
    story.check()
    assert story.one("trigger-more")["text"] == "1,205 more marks lie in this window, also of return:leaf<0, depth>20."


def test_completeness(ada, session):
    for scenario in ("plain", "lossy", "running", "detail", "empty"):
        answers = [json.loads(ada(command, "--format=json", session(scenario)).stdout)["completeness"] for command in ("narrate", "report")]
        assert answers[0] == answers[1]
    part = json.loads(ada("narrate", "--format=json", "--window=0", session("detail")).stdout)["completeness"]
    assert (part["events"], part["detailCoverage"]) == (2, 1)


def test_losses_are_told_and_make_no_durations(ada, session):
    story = Story(ada, session("lossy_story"), pair=False)
    for row in story.rows:
        story.check_evidence(row)
    lost = story.one("lost")
    assert [r["lost"] for r in story.events(lost) if r["kind"] == "lost"] == [3]
    assert not story.of("slow")             # the long call may have been another one by its end
    assert " after " not in story.of("trigger")[0]["text"]
    assert "as far as the events say that were not lost" in story.one("path")["text"]
    assert story.one("losses")["text"] == "3 events were lost."


def test_parts(ada, session):
    kinds = {row["kind"] for row in ada.rows("narrate", session("story"), "--thread=1")}
    assert "selected" in kinds and "slow" not in kinds and "trigger" in kinds
    rows = ada.rows("narrate", session("story"), "--to=+1us")
    assert not [row for row in rows if row["window"] is not None]
    thread = next(row for row in rows if row["kind"] == "thread" and row["text"].startswith("Thread 0 "))
    assert thread["evidence"][0]["last"] < 20


@pytest.mark.parametrize("arguments, words", [
    (["--window=7"], "no window 7 in .*: they are 0 to 0, `ada windows` lists them"), (["--window=x"], "--window: "),
    (["--format=csv"], "unknown format 'csv': it is text, markdown or json"), (["--thread=nobody"], "no thread 'nobody' in "),
    (["--from=+2s", "--to=+1s"], "--from=.2s is not before --to=.1s"), (["a", "b"], "unexpected argument"), (["--bogus"], "")])
def test_bad_options(ada, session, arguments, words):
    result = ada("narrate", *arguments, session("story"))
    assert result.status == 125 and result.stdout == b""
    stderr = result.stderr.decode()
    assert re.match(f"ada narrate: .*{words}", stderr) and stderr.count("\n") == 1


def test_window_of_a_session_without_any(ada, session):
    result = ada("narrate", "--window=0", session("plain"))
    assert result.status == 125 and b"it has none" in result.stderr


def test_without_manifest(ada, copy):
    directory = copy("story")
    (directory / "pid_100/manifest.json").unlink()
    (directory / "session.json").unlink()
    found = text(ada, directory, status=125)
    assert "What follows is without what can't be read: pid_100: manifest.json is missing. [ada verify]" in found
    assert "Thread 0 (" in found


def test_damaged_events(ada, copy):
    directory = copy("detail")
    index = directory / "pid_100/thread_1/index.atf"
    index.write_bytes(b"nothing of the kind")
    found = text(ada, directory, status=125)
    assert "What follows is without what can't be read: " in found and "Thread 0 (" in found and "Thread 1 (" not in found


def test_what_the_recorder_could_not_do(ada, copy):
    directory = copy("story")
    path = directory / "pid_100/manifest.json"
    document = json.loads(path.read_text())
    document["buffering"]["index"] |= {"waits": 3, "waitNs": 1500000}
    document["buffering"]["detail"] = {"dropped": 1234}
    document["index_lane"]["overwritten"] = 1
    path.write_text(json.dumps(document))
    found = text(ada, directory)
    for line in ("The program waited 3 times for the recorder, 1.50 ms in all. [manifest.json: buffering.index]",
                 "1,234 events were captured without detail, for no chunk of the buffer was free. [manifest.json: buffering.detail.dropped]",
                 "1 older event was overwritten by newer ones, as asked. [manifest.json: index_lane.overwritten]"):
        assert f"  {line}\n" in found


def test_an_end_that_was_seen_late(ada, copy):
    """A recorder with many processes to see to may notice long after the last event that one is gone."""
    directory = copy("story")
    path = directory / "pid_100/manifest.json"
    document = json.loads(path.read_text())
    document["endNs"] += 5 * 10**9
    path.write_text(json.dumps(document))
    assert re.search(r"for at most \d.* s, its last event at \+[\d.]+s, and ended with", text(ada, directory))
    Story(ada, directory).check()


def test_many_processes_are_a_line_each(ada, session, tmp_path):
    """23 processes: 20 sections, one whose recording is not finished, two lines. JSON has all of them."""
    directory = tmp_path / "many"
    shutil.copytree(session("processes"), directory)
    document = json.loads((directory / "session.json").read_text())
    process = document["processes"][0]
    document["processes"] = []
    for number in range(1, 24):
        name = f"pid_{number}"
        shutil.copytree(directory / process["directory"], directory / name)
        manifest = json.loads((directory / name / "manifest.json").read_text())
        manifest |= {"pid": number, "finalized": number != 22}
        (directory / name / "manifest.json").write_text(json.dumps(manifest))
        document["processes"].append(process | {"pid": number, "directory": name})
    for left in directory.glob("pid_5?*"):
        shutil.rmtree(left)
    (directory / "session.json").write_text(json.dumps(document))
    found = text(ada, directory)
    assert [int(n) for n in re.findall(r"^Process pid_(\d+)$", found, re.M)] == [*range(1, 21), 22]
    lines = found.partition("\n2 more processes (more of each: ada narrate SESSION/pid_N)\n")[2].splitlines()[:2]
    assert [re.match(r"  Process (\d+) ran ", line)[1] for line in lines] == ["21", "23"]
    assert len([r for r in ada.rows("narrate", directory) if r["kind"] == "thread"]) == 23


def test_a_pid_directory(ada, session):
    found = text(ada, session("pair") / "pid_61")
    assert "Process 61 ran" in found and "Process 60 ran" not in found


def mutate(value, source):
    """One place of a JSON document becomes something else."""
    odd = [None, True, -1, 2**64 - 1, 2**70, 1e300, "", "x" * 300, [], {}, [None], {"a": [1]}, "\u0000\ud800".encode("utf-8", "replace").decode()]
    if isinstance(value, dict) and value and source.random() < 0.85:
        key = source.choice(sorted(value))
        value[key] = mutate(value[key], source)
        return value
    if isinstance(value, list) and value and source.random() < 0.85:
        at = source.randrange(len(value))
        value[at] = mutate(value[at], source)
        return value
    return source.choice(odd)


@pytest.mark.parametrize("seed", range(15))
def test_manifests_that_someone_else_wrote(ada, copy, seed):
    """Any answer or a plain refusal; never a crash."""
    source, directory = random.Random(seed), copy("story")
    for _ in range(3):
        path = directory / source.choice(["pid_100/manifest.json", "pid_100/manifest.json", "session.json"])
        document = json.loads(path.read_text())
        document["crash"] = document.get("crash") or {
            "signal": 11, "code": 1, "tid": 100, "timestampNs": 1000000050000, "faultAddress": "0x10",
            "registers": {"rip": "0x401010"}, "stack": ""}
        for _ in range(source.randrange(1, 6)):
            mutate(document, source)
        path.write_text(json.dumps(document))
        for form in ("text", "json"):
            result = ada("narrate", f"--format={form}", directory)
            assert result.status in (0, 125), result.stderr.decode()
            assert b"Sanitizer" not in result.stderr
        if result.stdout:
            json.loads(result.stdout)


def test_the_manual_names_every_kind():
    root = pathlib.Path(__file__).resolve().parents[2]
    rooms = ("headline", "narrate", "tell")
    told = set()
    for file in [file for room in rooms for file in (root / "src" / "query" / room).glob("*.c")]:
        source = file.read_text()
        told |= set(re.findall(r'ada_(?:narrate|telling)_say\(story, "([a-z-]+)"', source))
        for pair in re.findall(r'first \? "([a-z-]+)" : "([a-z-]+)"', source):
            told |= set(pair)
    page = (root / "docs" / "man" / "ada-narrate.1").read_text().replace("\\-", "-")
    listed = re.search(r"\.B kind\n(.*?)\n\.B text", page, re.DOTALL)[1]
    assert set(re.findall(r"[a-z]+(?:-[a-z]+)*", re.sub(r"^\.[A-Z]+", "", listed, flags=re.MULTILINE))) == told


def test_a_crash_address_in_a_module(ada, copy):
    """Which function holds the instruction pointer is known from the modules' bases and tables."""
    directory = copy("story")
    path = directory / "pid_100/manifest.json"
    document = json.loads(path.read_text())
    document["crash"] = {"signal": 11, "code": 1, "tid": 101, "timestampNs": 1000000050000, "faultAddress": "0x10",
                         "registers": {"rip": "0x401024"}, "stack": ""}
    path.write_text(json.dumps(document))
    story = Story(ada, directory)
    story.check()
    assert story.one("crash-address")["text"] == "The instruction pointer was 0x401024, prog+0x1024 in leaf."
    assert story.one("open-frames")["text"] == "2 calls were open on thread 1: main > ns::add(int, int)."
