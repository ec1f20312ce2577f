"""Real programs from Debian's packages: what they print, write and return is the same traced as not."""
import hashlib
import os
import pathlib
import random
import re
import shutil
import subprocess
import time

import pytest

from harness import check_recording, run, shell_status

SCRIPTS = pathlib.Path(__file__).resolve().parent / "scripts"
PYTHON = "/usr/bin/python3.11"
MODULES = ["test_json", "test_dict", "test_exceptions", "test_generators", "test_struct", "test_thread", "test_zlib", "test_fork1",
           "test_coroutines", "test_contextlib"]
# So much happens in these that the files would fill a disk: keep the newest 64 MiB.
CIRCULAR = "--index-mode=circular"


@pytest.fixture
def both(ada, tmp_path, pytestconfig):
    """both(ARGV): runs it without ada and with, each in a fresh directory made by `prepare`; all must be equal. Returns the
    untraced result and the two directories."""
    further = pytestconfig.getoption("--trace-option")

    def check(argv, prepare=lambda place: None, options=(), normalise=lambda text: text, timeout=300, **keywords):
        places = [tmp_path / "untraced" / "work", tmp_path / "traced" / "work"]
        for place in places:
            place.mkdir(parents=True)
            prepare(place)
        plain = run(argv, cwd=places[0], timeout=timeout, **keywords)
        if ada is None:
            return plain, [places[0], places[0]]
        traced = ada.trace(tmp_path / "out", argv, *options, *further, cwd=places[1], timeout=timeout, **keywords)
        assert normalise(traced.stdout) == normalise(plain.stdout)
        assert normalise(traced.stderr) == normalise(plain.stderr)
        assert traced.status == shell_status(plain.status)
        check_recording(ada, tmp_path / "out")
        shutil.rmtree(tmp_path / "out")
        return plain, places
    return check


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_python_script(both, need):
    need(os.path.exists(PYTHON), PYTHON)
    plain, _ = both([PYTHON, "-B", SCRIPTS / "threads.py"])
    assert plain.status == 5 and b"child 3" in plain.stdout


@pytest.mark.parametrize("module", MODULES)
def test_python_module(module, both, need):
    need(os.path.exists("/usr/lib/python3.11/test/test_json"), "libpython3.11-testsuite")

    def without_times(text):
        text = re.sub(rb"\w+ passed in .*\n", b"", text)		# said of slow ones alone
        return re.sub(rb"\d+:\d+:\d+ load avg: [\d.]+ |in [\d.]+m?s|[\d.]+ (ms|sec)|duration: .*", b"", text)
    plain, _ = both([PYTHON, "-B", "-m", "test", module], options=[CIRCULAR], normalise=without_times)
    assert plain.status == 0, plain.stdout.decode()


def test_sqlite(both, need):
    need(shutil.which("sqlite3"), "sqlite3")
    with open(SCRIPTS / "rows.sql", "rb") as script:
        plain, places = both(["sqlite3", "-batch", "rows.db"], input=script.read())
    assert plain.stdout.startswith(b"100000|6250062500.0|") and plain.stdout.endswith(b"ok\n")
    assert digest(places[0] / "rows.db") == digest(places[1] / "rows.db")


def test_lua(both, need):
    need(shutil.which("lua5.4"), "lua5.4")
    plain, _ = both(["lua5.4", SCRIPTS / "work.lua"])
    assert plain.status == 3 and plain.stdout.startswith(b"coroutines\t200010000\nerrors\t2500\n")


def test_bash(both):
    plain, _ = both(["bash", SCRIPTS / "shell.sh"], normalise=lambda text: re.sub(rb"line \d+: +\d+ ", b"", text))
    assert plain.status == 9 and b"killed 139" in plain.stdout


def test_node(both, need, pytestconfig):
    need(shutil.which("node"), "node")
    if "--modules=*" in pytestconfig.getoption("--trace-option") and b"libnode" in run(["ldd", shutil.which("node")]).stdout:
        pytest.xfail("V8 in a library without symbols ends itself when all of that library's functions are hooked: README, limits")
    plain, _ = both(["node", SCRIPTS / "throws.js"], options=[CIRCULAR],
                    normalise=lambda text: re.sub(rb"0x[0-9a-f]+|\(node:\d+\)", b"", text))
    assert plain.status != 0 and b"at the end" in plain.stderr


def write_data(path, megabytes):
    """The same each time: half of it compressible."""
    source = random.Random(42)
    with open(path, "wb") as file:
        for _ in range(megabytes):
            file.write(source.randbytes(500_000))
            file.write((b"line %d of a log, much like the others\n" % source.randrange(1000)) * 12_000)
    os.truncate(path, megabytes * 1_000_000)


@pytest.fixture(scope="module")
def data(tmp_path_factory, rounds):
    path = tmp_path_factory.mktemp("data") / "data"
    write_data(path, rounds(100, 30))
    yield path
    path.unlink()


@pytest.mark.parametrize("pack, unpack, packed", [(["zstd", "-q", "-T2", "data"], ["zstd", "-q", "-d", "-c", "data.zst"], "data.zst"),
                                                  (["gzip", "-n", "-1", "data"], ["gzip", "-d", "-c", "data.gz"], "data.gz")],
                         ids=["zstd", "gzip"])
def test_round_trip(pack, unpack, packed, both, need, data, tmp_path, ada):
    need(shutil.which(pack[0]), pack[0])
    _, places = both(pack, prepare=lambda place: shutil.copy(data, place), timeout=300)
    assert digest(places[0] / packed) == digest(places[1] / packed)
    if ada is None:
        return
    traced = ada.trace(tmp_path / "out", unpack, cwd=places[1], timeout=300)
    assert traced.status == 0 and traced.stdout == data.read_bytes()
    check_recording(ada, tmp_path / "out")
    shutil.rmtree(tmp_path / "out")


def git_environment():
    fixed = {"GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z", "GIT_CONFIG_GLOBAL": "/dev/null",
             "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C", "GIT_PAGER": "cat"}
    for who in ("AUTHOR", "COMMITTER"):
        fixed.update({f"GIT_{who}_NAME": "Test", f"GIT_{who}_EMAIL": "test@localhost"})
    return {**os.environ, **fixed}


def make_repository(place):
    def git(*arguments):
        subprocess.run(["git", *arguments], cwd=place, env=git_environment(), check=True, capture_output=True)
    git("init", "-q", "-b", "main")
    for number in range(60):
        (place / f"file{number % 7}").write_text(f"{number}\n" * (number + 1))
        git("add", ".")
        git("commit", "-q", "-m", f"Change {number}")
    git("branch", "side", "HEAD~20")


@pytest.mark.parametrize("arguments", [["log", "--stat", "-p", "--graph", "--all"], ["gc", "-q"], ["fsck", "--full"], ["blame", "file3"],
                                       ["grep", "-c", "5"], ["status"]], ids=lambda a: a[0])
def test_git(arguments, both, need):
    need(shutil.which("git"), "git")
    plain, places = both(["git", *arguments], prepare=make_repository, env=git_environment())
    assert plain.status == 0
    counts = [subprocess.run(["git", "count-objects", "-v"], cwd=place, capture_output=True).stdout for place in places]
    assert [c for c in counts[0].splitlines() if b"size" not in c] == [c for c in counts[1].splitlines() if b"size" not in c]


SOURCE = """#include <algorithm>
#include <map>
#include <string>
#include <vector>
int count(const std::vector<std::string> &words) {
	std::map<std::string, int> counts;
	for (auto &word : words) counts[word]++;
	return std::max_element(counts.begin(), counts.end(), [](auto &a, auto &b) { return a.second < b.second; })->second;
}
int main() { return count({"a", "b", "a"}); }
"""


def test_gcc(both, need):
    need(shutil.which("g++"), "g++")
    plain, places = both(["g++", "-O1", "-o", "program", "source.cc"], prepare=lambda place: (place / "source.cc").write_text(SOURCE),
                         options=[CIRCULAR])
    assert plain.status == 0
    assert digest(places[0] / "program") == digest(places[1] / "program")
    assert subprocess.run([places[1] / "program"]).returncode == 2


def test_gcc_error(both, need):
    need(shutil.which("gcc"), "gcc")
    plain, _ = both(["gcc", "-c", "source.c"], prepare=lambda place: (place / "source.c").write_text("int f( { return x; }\n"),
                    options=[CIRCULAR])
    assert plain.status == 1 and b"error" in plain.stderr


def redis_session(command, place):
    """Starts a server, drives it, stops it; returns (replies, status, stderr)."""
    place.mkdir(parents=True)
    socket = place / "socket"
    server = subprocess.Popen([str(word) for word in command], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    client = ["redis-cli", "-s", socket]
    try:
        deadline = time.monotonic() + 30
        while run([*client, "ping"]).stdout != b"PONG\n":
            assert server.poll() is None and time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.02)
        bench = run(["redis-benchmark", "-s", socket, "-q", "-n", "20000", "-t", "set,get,incr,lpush,lrange_100,mset"], timeout=120)
        assert bench.status == 0, bench.stderr.decode()
        script = "".join(f"set k{i} v{i}\nlpush list {i}\nzadd z {i} m{i}\n" for i in range(500))
        replies = [run(client, input=b"flushall\n" + script.encode()).stdout]
        for words in (["dbsize"], ["lrange", "list", "0", "9"], ["zrange", "z", "0", "4"], ["debug", "digest"],
                      ["eval", "return redis.call('get', 'k7')", "0"], ["get", "list"]):
            replies.append(run([*client, *words]).stdout)
        replies.append(run([*client, "bgsave"]).stdout)
        run([*client, "shutdown", "nosave"])
        return replies, server.wait(60), server.stderr.read()
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()


def test_redis(ada, need, tmp_path):
    need(os.path.exists("/usr/bin/redis-check-rdb"), "redis-tools")
    # What redis-server is a link to; its own package would start a service on this machine.
    server = tmp_path / "redis-server"
    server.symlink_to("/usr/bin/redis-check-rdb")
    command = [server, "--port", "0", "--unixsocket", "socket", "--save", "", "--enable-debug-command", "yes"]
    plain = redis_session(command, tmp_path / "untraced")
    assert plain[1] == 0 and plain[0][1] == b"502\n"
    if ada is None:
        return
    out = tmp_path / "out"
    traced = redis_session([ada.path, "trace", "--quiet", CIRCULAR, f"--output={out}", "--", *command], tmp_path / "traced")
    assert traced == plain
    check_recording(ada, out)
