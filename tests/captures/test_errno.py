"""errno beside results that failed: in dump, narrate and SQL, of the thread that failed, and of no call that didn't."""
import json
import pathlib
import re
import subprocess

import pytest

from harness import Session

pytestmark = pytest.mark.traces
HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("errno") / "errors"
    subprocess.run(["cc", "-g", "-O1", "-D_GNU_SOURCE", "-o", path, HERE / "errors.c", "-pthread"], check=True)
    return path


def trace(ada, program, tmp_path, *options):
    result = ada.trace(tmp_path, [program], "--trigger=symbol=main@pre=10000ev,post=10000ev", *options)
    assert result.status == 0, result.stderr.decode()
    session = Session(tmp_path).path
    assert ada("verify", session).status == 0
    return session


def errors(ada, session):
    rows = json.loads(ada("query", "--format=json", session, "SELECT function, thread, args, errno FROM detail WHERE kind = 'return' AND"
                          " function IN ('open', 'fopen', 'stat', 'access') ORDER BY timestamp_ns").stdout)["rows"]
    return [(row["function"], row["thread"], row["args"], row["errno"]) for row in rows]


def test_failed_calls_say_why(ada, program, tmp_path):
    session = trace(ada, program, tmp_path)
    found = errors(ada, session)
    assert [row[0] for row in found] == ["stat", "open", "fopen", "access", "open", "fopen"]
    assert [row[3] for row in found] == [None, "ENOENT", "ENOTDIR", "ENOENT", "EISDIR", None]
    assert [row[1] for row in found] == [0, 0, 0, 0, 1, 0]
    dump = ada("dump", "--detail", session).stdout.decode()
    for text in ("< open = -1 ENOENT", "< fopen = NULL ENOTDIR", "< access = -1 ENOENT", "< open = -1 EISDIR", "errno=EISDIR"):
        assert text in dump, text
    texts = [row["text"] for row in json.loads(ada("narrate", "--format=json", session).stdout)["rows"] if row["kind"] == "error-return"]
    assert any(" open " in text.replace("64", "") and "returned -1 (ENOENT)" in text for text in texts), texts


def test_nothing_is_captured_where_nothing_is_to_be(ada, program, tmp_path):
    assert {row[3] for row in errors(ada, trace(ada, program, tmp_path, "--capture=off"))} == {None}


ASKED = "--capture=read:2=buf[3],write:2=buf[3],send:2=buf[3],recv:2=*4,lseek:1=*1,lseek64:1=*1,malloc:1=*1,strcoll:1=str,open:1=str"


@pytest.mark.parametrize("options", [[ASKED], [ASKED, "--capture=off"]])
def test_captured_calls_of_libc_that_failed_say_why(ada, tmp_path, options):
    program = tmp_path / "errors_io"
    subprocess.run(["cc", "-g", "-O1", "-fno-builtin", "-D_GNU_SOURCE", "-o", program, HERE / "errors_io.c"], check=True)
    session = trace(ada, program, tmp_path / "out", *options)
    rows = json.loads(ada("query", "--format=json", session, "SELECT function, errno FROM detail WHERE kind = 'return' AND function IN"
                          " ('read', 'write', 'send', 'recv', 'lseek', 'lseek64', 'malloc', 'strcoll', 'open', 'open64') ORDER BY timestamp_ns").stdout)["rows"]
    assert [(row["function"].replace("64", ""), row["errno"]) for row in rows] == [
        ("read", "EBADF"), ("send", None), ("recv", None), ("recv", "EAGAIN"), ("write", "EPIPE"), ("send", "EPIPE"), ("write", None),
        ("lseek", None), ("lseek", "EINVAL"), ("malloc", "ENOMEM"), ("strcoll", None), ("open", "ENOENT")]
    dump = ada("dump", "--detail", session).stdout.decode()
    for text in ("< read = -1 EBADF", "< recv = -1 EAGAIN", "< write = -1 EPIPE"):
        assert text in dump, text


def test_what_nobody_asks_for_has_no_errno(ada, tmp_path):
    program = tmp_path / "errors_io"
    subprocess.run(["cc", "-g", "-O1", "-fno-builtin", "-D_GNU_SOURCE", "-o", program, HERE / "errors_io.c"], check=True)
    session = trace(ada, program, tmp_path / "out")
    rows = json.loads(ada("query", "--format=json", session, "SELECT function, errno FROM detail WHERE errno IS NOT NULL").stdout)["rows"]
    assert [(row["function"].replace("64", ""), row["errno"]) for row in rows] == [("open", "ENOENT")]


@pytest.mark.parametrize("table", ["capture_auto.h", "capture_errno.h"])
def test_tables_are_in_the_order_of_strcmp(table):
    names = re.findall(r'^X\("(\w+)"', (HERE.parents[1] / "src" / "trigger" / table).read_text(), re.MULTILINE)
    assert len(names) > 50 and names == sorted(set(names))
