"""Who types the first thing that comes to mind is told the next."""
import os
import re
import shutil

import pytest

from harness import run


def test_ada_alone_says_how_to_begin(ada):
    result = ada()
    assert result.status == 125 and b"`ada trace ./PROGRAM`" in result.stderr


def test_trace_alone_shows_a_command(ada):
    result = ada("trace")
    assert result.status == 125 and b"such as `ada trace ls -l`" in result.stderr and result.stderr.count(b"\n") == 1


@pytest.mark.parametrize("typed, told", [("./worsd", "did you mean words there?"), ("./missing", "`ls ./` lists what is there"), ("./wrods/there", "did you mean words there?"),
                                         ("./none/at/all", "`ls ./` lists what is there"), ("none/", "`ls .` lists what is there"), (".", "but a directory: `ls .` lists what is there"), ("ls -l", "words of their own, as in `ada trace ls -l`"),
                                         ("words", "did you mean ./words?"), ("nowhere-to-be-found", "give the path to it")])
def test_a_missing_program_has_a_neighbour_perhaps(ada, tmp_path, typed, told):
    shutil.copy("/bin/true", tmp_path / "words")
    result = run([ada.path, "trace", typed], cwd=tmp_path)
    assert result.status == 127 and told in result.stderr.decode() and result.stderr.count(b"\n") == 1
    assert not (tmp_path / "ada_traces").exists()


def test_a_session_is_found_by_its_name_alone(ada, tmp_path, copy):
    """As the summary and `ls ada_traces` print it; what lies here under that name goes before it."""
    shutil.copytree(copy("plain"), tmp_path / "ada_traces" / "session_1")
    for words in (["report", "session_1"], ["report", "--diff=session_1", "session_1"], ["query", "session_1", "SELECT COUNT(*) FROM calls"],
                  ["verify", "session_1"], ["info", "session_1"], ["anchor", "session_1", "film", "--host-time=+0s", "--media-time=1s"]):
        assert run([ada.path, *words], cwd=tmp_path).status == 0, words
    (tmp_path / "session_1").mkdir()
    assert b"session_1 is no session" in run([ada.path, "report", "session_1"], cwd=tmp_path).stderr
    assert b"session_2: no such session" in run([ada.path, "report", "session_2"], cwd=tmp_path).stderr


def test_what_has_a_page_and_what_is_an_option(ada):
    assert b"`man ada-triggers`" in ada("help", "triggers").stderr
    assert ada("version").stdout == ada("--version").stdout != b""


def test_a_session_of_somebody_else_says_whose_it_is(ada, copy):
    path = copy("plain")
    path.chmod(0)
    if os.access(path, os.R_OK):        # root: as nobody
        result = run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", ada.path, "report", path])
    else:
        result = run([ada.path, "report", path])
    path.chmod(0o700)
    assert result.status == 125 and re.search(rb"permission denied: only the user who recorded it, and root, may read it\n", result.stderr), result.stderr


def test_no_session_names_the_command_that_makes_one(ada, tmp_path):
    for command in ("dump", "report", "info", "narrate", "view"):
        result = run([ada.path, command], cwd=tmp_path)
        assert result.status == 125 and b"`ada trace PROGRAM`" in result.stderr and result.stderr.count(b"\n") == 1


def test_a_directory_of_programs(refused):
    refused(126, "is a directory, not a program: `ls /usr/bin` lists what is there", "trace", "/usr/bin")


@pytest.mark.parametrize("command", ["report", "top", "status", "mark"])
def test_what_holds_sessions_is_no_session(ada, tmp_path, command):
    """Named in place of one of them."""
    session = tmp_path / "place" / "ada_traces" / "session_1"
    session.mkdir(parents=True)
    (session / "session.json").write_text("{}")
    (session.parent / "latest").symlink_to("session_1")
    (tmp_path / "empty").mkdir()
    for place, meant in (("place", "place/ada_traces/latest"), ("place/ada_traces", "place/ada_traces/latest"), ("empty", None)):
        result = run([ada.path, command, place], cwd=tmp_path)
        told = rf"name one of them, as (/\S+/)?{meant}\n" if meant else "`ada trace PROGRAM` records one\n"
        assert result.status == 125 and re.search(f"{told}$", result.stderr.decode()), result.stderr


@pytest.mark.parametrize("words, told", [
    (["functions"], "such as `ada functions "), (["trigger", "add", "/no/where", "crash"], "'/no/where' is no session directory: ada trigger add"),
    (["trigger"], "ada trigger add|remove|list|test"), (["query"], '`ada query "SELECT'), (["export"], "--format=FORMAT: perfetto,"),
    (["anchor"], "ada anchor [SESSION] NAME --media-time=TIME"), (["mcp", "/no/where"], "name the directory that holds the sessions")])
def test_what_lacks_is_shown_as_it_is_typed(refused, words, told):
    assert told.lower() in refused(125, ".", *words).lower()


@pytest.mark.traces
def test_a_recording_names_what_says_most_about_it(ada, tmp_path):
    plain = run([ada.path, "trace", "/bin/true"], cwd=tmp_path).stderr.decode().splitlines()
    assert plain[-1] == "ada: `ada report` says where the time went, `ada view` shows it"
    marked = run([ada.path, "trace", "--output=there", "--trigger=exit", "/bin/false"], cwd=tmp_path).stderr.decode().splitlines()
    named = marked[-1].split("`")
    assert named[1].startswith("ada narrate /" if " window" in marked[0] else "ada report /"), marked
    assert run([ada.path, *named[1].split()[1:]], cwd=tmp_path).status == 0


@pytest.mark.traces
def test_a_report_names_the_library_that_did_the_work(ada, tmp_path):
    """What most of the time went into, where it isn't recorded, and how to record it: after which nothing is named.

    The work takes 50 ms and more: a loaded machine takes its CPU from a program for 20 ms in whichever function it is, as in one that
    takes a microsecond."""
    (tmp_path / "work.c").write_text("static volatile long n;\n__attribute__((noinline)) static void inner(void) { for (int i = 0; i < 50000; i++) n++; }\n"
                                     "void work(void) { for (int i = 0; i < 2000; i++) inner(); }\n")
    (tmp_path / "main.c").write_text("void work(void);\nint main(void) { work(); return 0; }\n")
    for words in (["-shared", "-fPIC", "-o", "libheavy.so.1", "work.c"], ["-o", "main", "main.c", "./libheavy.so.1"]):
        assert run(["gcc", "-O1", "-g", *words], cwd=tmp_path).status == 0

    def report(*options):
        assert run([ada.path, "trace", "-q", *options, "./main"], cwd=tmp_path).status == 0
        return run([ada.path, "report"], cwd=tmp_path).stdout.decode()

    told = re.search(r"^(\d+) % of SELF is of libheavy\.so\.1, whose own calls were not recorded: `ada trace (--modules=)'(\S+)'` records them, too\.$",
                     report(), re.MULTILINE)
    assert told and 25 <= int(told[1]) <= 100
    text = report(told[2] + told[3])
    assert "inner" in text and "SELF is of" not in text
    assert "SELF is of" not in run([ada.path, "report", "--function=main"], cwd=tmp_path).stdout.decode()
