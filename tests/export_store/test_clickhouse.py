"""ada export --format=clickhouse: against two real servers, which the test starts as one cluster."""
import collections
import http.server
import json
import random
import resource
import signal
import socket
import subprocess
import threading

import pytest
from harness import unpacked

from clickhouse import SERVER, Proxy, two_servers

LARGE_EVENTS = 2000008                  # of the scenario `large`: two inserts and a bit
LARGE_BYTES = LARGE_EVENTS * 41
MEDIUM = "random:9:4:200000"            # to be broken again and again
MEDIUM_BYTES = 200000 * 41              # about


@pytest.fixture(scope="module")
def servers(tmp_path_factory, pytestconfig):
    if not SERVER:
        (pytest.fail if pytestconfig.getoption("--strict-needs") else pytest.skip)("needs clickhouse-server")
    made = two_servers(tmp_path_factory.mktemp("clickhouse"))
    try:
        for server in made:
            server.start()
        yield made
    finally:
        for server in made:
            server.stop()


@pytest.fixture
def server(servers):
    """The first one, with nothing of ada's in it."""
    for one in servers:
        one.ask("DROP DATABASE IF EXISTS ada")
    return servers[0]


@pytest.fixture
def export(ada):
    def run(session, *options, status=0, url=None):
        result = ada("export", "--format=clickhouse", *([f"--url={url}"] if url else []), *options, session)
        assert result.status == status, result.stderr.decode()
        assert not result.stdout
        return result.stderr.decode()
    return run


def as_json(ada, command, *arguments):
    return json.loads(ada(command, "--format=json", *arguments).stdout)


def dump(ada, session):
    return [json.loads(line) for line in ada("dump", "--format=json", session).stdout.splitlines()][:-1]


def staging(server):
    return [row[0] for row in server.ask("SELECT name FROM system.tables WHERE database = 'ada' AND name LIKE 'staging%'")]


def contents(server):
    """What readers see: sessions, events and the sum of something."""
    return [server.number("SELECT count() FROM ada." + table) for table in ("sessions", "events", "functions", "threads")]


def is_large(server):
    """Exactly once: every event of each thread of `large`."""
    assert server.ask("SELECT thread, count(), uniqExact(index_seq), min(index_seq), max(index_seq), countIf(kind = 'call') FROM "
                      "ada.events GROUP BY thread ORDER BY thread") == [
        [str(thread), "500002", "500002", "0", "500001", "250001"] for thread in range(4)]
    assert contents(server) == [1, LARGE_EVENTS, 2, 4]


# --- what is there -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("scenario", ["plain", "lossy", "processes", "detail", "names", "rules", "random:7:5:20000"])
def test_agrees_with_ada(ada, server, export, session, scenario):
    path = session(scenario)
    rows = dump(ada, path)
    export(path, url=server.url)
    kept = server.ask("SELECT timestamp_ns, processes.directory, thread, index_seq, kind, depth, detail_seq, function_id FROM ada.events "
                      "ANY LEFT JOIN ada.processes USING process ORDER BY timestamp_ns, process, thread, index_seq FORMAT TSV")
    names = {int(row[0]): row[1:] for row in server.ask("SELECT function_id, function, module FROM ada.functions")}
    directory = as_json(ada, "info", path)["rows"][0]["process"]
    expected = collections.Counter((row["timestamp_ns"], row.get("process", directory), row["thread"], row["index_seq"], row["kind"],
                                    row["depth"], row["detail_seq"], row["function"], row["module"]) for row in rows)
    found = collections.Counter()
    for ns, process, thread, seq, kind, depth, detail, function in kept:
        name = names[int(function)] if kind != "lost" else [None, None]
        found[(int(ns), process, int(thread), int(seq), kind, int(depth), None if int(detail) == 2**32 - 1 else int(detail),
               *(text and text.encode().decode("unicode_escape").encode("latin-1").decode() if "\\" in (text or "") else text
                 for text in name))] += 1
    assert found == expected


@pytest.mark.parametrize("scenario", ["plain", "lossy", "processes", "rules", "random:7:5:20000"])
def test_aggregates_agree_with_report(ada, server, export, session, scenario):
    report = as_json(ada, "report", session(scenario))
    export(session(scenario), url=server.url)
    calls = dict(server.ask("SELECT function, count() FROM ada.events ANY INNER JOIN ada.functions USING (session_id, function_id) "
                            "WHERE kind = 'call' GROUP BY function"))
    assert {name: int(count) for name, count in calls.items()} == {row["function"]: row["calls"] for row in report["rows"]}
    fields = ["function", "module", "calls", "total_ns", "self_ns", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"]
    kept = server.ask(f"SELECT {', '.join(fields)} FROM ada.report")
    assert sorted(kept) == sorted([["\\N" if row[field] is None else str(row[field]) for field in fields]
                                   for row in report["rows"]])
    kept = server.ask("SELECT events, lost, detail_coverage, complete FROM ada.sessions")[0]
    completeness = report["completeness"]
    assert [int(kept[0]), int(kept[1]), float(kept[2]), kept[3] == "1"] == [
        completeness[field] for field in ("events", "lost", "detailCoverage", "complete")]
    by_thread = collections.Counter((row.get("process", ""), row["thread"]) for row in dump(ada, session(scenario)))
    assert sorted(int(row[0]) for row in server.ask("SELECT events FROM ada.threads WHERE events > 0")) == sorted(by_thread.values())
    assert [int(row[0]) for row in server.ask("SELECT sum(lost) FROM ada.threads")] == [completeness["lost"]]


def test_losses_windows_and_marks(server, export, session):
    export(session("lossy"), url=server.url)
    assert server.ask("SELECT process, thread, index_seq, lost FROM ada.losses") == [["0", "0", "4", "12"]]
    export(session("detail"), url=server.url)
    assert [row[:3] for row in server.ask("SELECT window, event_count, short_reason FROM ada.windows ORDER BY window")] == [
        ["0", "2", "startup"], ["1", "4", ""]]
    assert server.ask("SELECT window, kind, thread, index_seq FROM ada.marks ORDER BY window, timestamp_ns") == [
        ["0", "symbol:leaf", "0", "5"], ["0", "manual", "\\N", "\\N"], ["1", "symbol:leaf", "0", "7"], ["1", "manual", "\\N", "\\N"]]


def test_twice_changes_nothing(server, export, session):
    assert "exported 10 events; none was lost" in export(session("plain"), url=server.url)
    before = contents(server)
    assert "there already: nothing was done" in export(session("plain"), url=server.url)
    assert contents(server) == before == [1, 10, 4, 1]
    assert not staging(server)


def test_an_empty_session_is_there_too(server, export, session):
    export(session("empty"), url=server.url)
    assert contents(server)[:2] == [1, 0]
    assert "there already" in export(session("empty"), url=server.url)


def test_hosts_share_tables(server, export, session):
    export(session("plain"), "--host=it's \\odd", url=server.url)
    export(session("lossy"), url=server.url)
    assert sorted(server.ask("SELECT host, count() FROM ada.events GROUP BY host")) == [["host", "7"], ["it\\'s \\\\odd", "10"]]
    # The same recording is the same session, whatever its host is called now
    assert "there already" in export(session("plain"), url=server.url)


# --- a cluster -----------------------------------------------------------------------------------------------------------

def test_cluster(ada, servers, server, export, session):
    urls = [f"--url={one.url}" for one in servers]
    scenarios = ["plain", "lossy", "processes", "detail", "names", "rules", "empty"]
    for scenario in scenarios:
        export(session(scenario), "--cluster=two", *urls)
    total = sum(len(dump(ada, session(scenario))) for scenario in scenarios)
    for one in servers:                 # each of them answers for all
        assert contents(one)[:2] == [len(scenarios), total]
        assert one.number("SELECT sum(events) FROM ada.sessions") == total
    local = [one.number("SELECT count() FROM ada.sessions_local") for one in servers]
    assert sum(local) == len(scenarios) and all(local)
    for scenario in scenarios:          # also with the servers the other way round
        assert "there already" in export(session(scenario), "--cluster=two", *reversed(urls))
    assert contents(server)[:2] == [len(scenarios), total]


def test_a_session_of_a_cluster_lies_on_one_server(servers, server, export, session):
    export(session("processes"), "--cluster=two", *[f"--url={one.url}" for one in servers])
    counts = [[one.number(f"SELECT count() FROM ada.{table}_local") for table in ("sessions", "events", "functions")]
              for one in servers]
    assert sorted(counts) == [[0, 0, 0], [1, 6, 1]]


def test_clusters_that_dont_fit(servers, server, export, session):
    plain = session("plain")
    assert "knows no cluster 'three'" in export(plain, "--cluster=three", url=server.url, status=125)
    # One URL: the others are asked for at its port, which here is itself
    assert "the same shard" in export(plain, "--cluster=two", url=server.url, status=125)
    assert "need --cluster" in export(plain, *[f"--url={one.url}" for one in servers], status=125)
    export(plain, url=server.url)
    assert "without the cluster" in export(plain, "--cluster=two", *[f"--url={one.url}" for one in servers], status=125)
    server.ask("DROP DATABASE ada")
    export(plain, "--cluster=two", *[f"--url={one.url}" for one in servers])
    assert "belong to a cluster" in export(plain, url=server.url, status=125)
    servers[1].kill()
    try:
        assert "is clickhouse-server running there?" in export(session("lossy"), "--cluster=two", *[
            f"--url={one.url}" for one in servers], status=125)
    finally:
        servers[1].start()


# --- once or not at all --------------------------------------------------------------------------------------------------

def run_to(ada, proxy, session, signal_number):
    """ada, which gets the signal when the proxy has passed its bytes."""
    process = subprocess.Popen([ada.path, "export", "-q", "--format=clickhouse", f"--url={proxy.url}", session],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    proxy.action = lambda: process.send_signal(signal_number)
    text = process.communicate(timeout=120)[1].decode()
    proxy.close()
    return process.returncode, text


def events_by_thread(session):
    """From the sizes of the files: events of each thread that has some."""
    counts = collections.Counter()
    for path in session.glob("pid_*/thread_*/index*.at[fp]"):
        size = len(unpacked(path)) if path.suffix == ".atp" else path.stat().st_size
        counts[path.parent] += (size - 128) // 32
    return sorted(count for count in counts.values() if count)


def only_whole(server, session):
    """Nothing is visible, or all of it is."""
    tables = [row[0] for row in server.ask("SELECT name FROM system.tables WHERE database = 'ada'")]
    if "sessions" in tables and "events" in tables:
        assert server.number("SELECT count() FROM ada.events") == sum(events_by_thread(session)) * server.number(
            "SELECT count() FROM ada.sessions")
        assert server.number("SELECT count() FROM ada.sessions") <= 1


def is_whole(server, session):
    """Exactly once: every event of each thread."""
    rows = server.ask("SELECT process, thread, count(), uniqExact(index_seq), max(index_seq) + 1 FROM ada.events GROUP BY process, thread")
    assert sorted(int(row[2]) for row in rows) == events_by_thread(session)
    assert all(row[2] == row[3] == row[4] for row in rows)
    assert server.number("SELECT count() FROM ada.sessions") == 1


def random_bytes(seed, count):
    """Where to break: anywhere, the beginning and the very end too, where little is sent and much happens."""
    choose = random.Random(seed)
    return [choose.randrange(20000) for _ in range(count // 4)] + [MEDIUM_BYTES + choose.randrange(40000) for _ in range(count // 4)] + \
        [choose.randrange(MEDIUM_BYTES) for _ in range(count // 2)]


@pytest.mark.parametrize("seed", range(2))
def test_killed_at_any_byte(ada, server, export, session, seed):
    path = session(MEDIUM)
    for limit in random_bytes(seed, 8):
        run_to(ada, Proxy(server, limit), path, signal.SIGKILL)
        only_whole(server, path)
    export(path, url=server.url)
    is_whole(server, path)
    assert not staging(server)
    assert "there already" in export(path, url=server.url)


def test_stopped_by_ctrl_c_goes_on(ada, server, export, session):
    status, _ = run_to(ada, Proxy(server, LARGE_BYTES * 3 // 4), session("large"), signal.SIGINT)
    assert status == 130
    only_whole(server, session("large"))
    export(session("large"), url=server.url)
    is_large(server)


@pytest.mark.parametrize("seed", range(2))
def test_server_killed_at_any_byte(ada, server, export, session, seed):
    path = session(MEDIUM)
    for limit in random_bytes(100 + seed, 4):
        proxy = Proxy(server, limit, server.kill)
        result = ada("export", "--format=clickhouse", f"--url={proxy.url}", path)
        proxy.close()
        if proxy.action is None:        # taken: ada sees the server gone before it can be waited for
            server.process.wait()
            server.start()
            assert result.status == 125 and len(result.stderr.splitlines()) == 1, result.stderr
        only_whole(server, path)
    export(path, url=server.url)
    is_whole(server, path)


@pytest.mark.parametrize("where, number, least, most", [
    ("thread < 2 OR thread = 2 AND index_seq < 12345", "thread", LARGE_BYTES - 1012349 * 41, LARGE_BYTES - 1000000 * 41),
    ("index_seq >= 0", "thread", 0, 100000),                                # all of it
    ("thread = 3 AND index_seq > 0", "thread", LARGE_BYTES, None),          # a hole
    ("thread = 3", "toUInt32(7)", LARGE_BYTES, None),                       # no such thread
    ("thread = 1", None, LARGE_BYTES, None)])                               # rows of no session
def test_an_interrupted_run_is_gone_on_with(server, export, session, where, number, least, most):
    """Rows that are there are not sent again; ones that no run leaves cost a new beginning."""
    export(session("large"), url=server.url)
    number_of_session = server.ask("SELECT session_id FROM ada.sessions")[0][0]
    name = f"ada.staging_{int(number_of_session):016x}_00000000_events"
    create = server.ask("SHOW CREATE TABLE ada.events_local FORMAT TSVRaw")[0][0].replace("ada.events_local", name)
    if number:
        create = create.replace("session_id UInt64", f"session_id UInt64 DEFAULT {number_of_session}")
        create = create.replace("host String", "host String DEFAULT 'host'")
    server.ask("CREATE DATABASE IF NOT EXISTS copy")
    server.ask("DROP TABLE IF EXISTS copy.events")
    server.ask("CREATE TABLE copy.events ENGINE = Memory AS SELECT * FROM ada.events_local")
    server.ask("DROP DATABASE ada")
    server.ask("CREATE DATABASE ada")
    server.ask(create)
    server.ask(f"INSERT INTO {name} (timestamp_ns, function_id, index_seq, process, thread, depth, detail_seq, kind) SELECT "
               f"timestamp_ns, function_id, index_seq, process, {number or 'thread'}, depth, detail_seq, kind FROM copy.events WHERE {where}")
    server.ask("DROP DATABASE copy")
    proxy = Proxy(server)
    export(session("large"), url=proxy.url)
    proxy.close()
    assert proxy.passed >= least and (most is None or proxy.passed < most)
    is_large(server)


def test_whats_not_marked_is_not_seen(server, export, session):
    """A server that dies while tables move in may be left with some of them."""
    export(session("large"), url=server.url)
    number = server.ask("SELECT session_id FROM ada.sessions")[0][0]
    server.ask(f"ALTER TABLE ada.sessions_local DROP PARTITION {number}")
    server.ask(f"ALTER TABLE ada.threads_local DROP PARTITION {number}")
    assert contents(server) == [0, 0, 0, 0]
    assert server.number("SELECT count() FROM ada.events_local") == LARGE_EVENTS
    export(session("large"), url=server.url)
    is_large(server)


def test_cluster_goes_on_where_it_began(ada, servers, server, export, session):
    """The staging tables are looked for on every server."""
    proxies = [Proxy(one, LARGE_BYTES * 2 // 3) for one in servers]
    process = subprocess.Popen([ada.path, "export", "-q", "--format=clickhouse", "--cluster=two",
                                *[f"--url={proxy.url}" for proxy in proxies], session("large")], stderr=subprocess.DEVNULL)
    for proxy in proxies:
        proxy.action = process.kill
    assert process.wait(120) == -signal.SIGKILL
    for proxy in proxies:
        proxy.close()
    assert contents(server) == [0, 0, 0, 0]
    export(session("large"), "--cluster=two", *[f"--url={one.url}" for one in servers])
    is_large(server)
    assert sorted(one.number("SELECT count() FROM ada.events_local") for one in servers) == [0, LARGE_EVENTS]
    assert not staging(servers[0]) and not staging(servers[1])


def test_two_at_once(ada, server, export, session):
    command = [ada.path, "export", "-q", "--format=clickhouse", f"--url={server.url}", session("large")]
    both = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(2)]
    for one in both:
        one.wait(120)
    only_whole(server, session("large"))
    export(session("large"), url=server.url)
    is_large(server)


# --- what goes wrong -----------------------------------------------------------------------------------------------------

def fails(export, session, said, *options, url=None):
    text = export(session("plain"), *options, url=url, status=125)
    assert said in text and len(text.splitlines()) == 1, text


def test_unreachable(export, session):
    with socket.socket() as taken:      # bound, not listening: refuses
        taken.bind(("127.0.0.1", 0))
        fails(export, session, "is clickhouse-server running there?", url="http://127.0.0.1:%d" % taken.getsockname()[1])
    fails(export, session, "Could not resolve host", url="http://nowhere.invalid:8123")
    fails(export, session, "write it as http://HOST:8123", url="ftp://127.0.0.1")
    fails(export, session, "use --user and --password-file", url="http://me:secret@127.0.0.1:8123")
    assert "secret" not in export(session("plain"), url="http://me:secret@127.0.0.1:8123", status=125)


def test_silent_server(export, session):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        fails(export, session, "does a ClickHouse server answer there?", url="http://127.0.0.1:%d" % silent.getsockname()[1])


@pytest.mark.parametrize("status, body, said", [
    (404, b"<html>no such page</html>", "HTTP status 404"), (500, b"oops", "HTTP status 500"), (200, b"<html>hello</html>", "not as ClickHouse"),
    (500, b"Code: 243, e.displayText() = DB::Exception: Cannot reserve 1.00 MiB,\nnot enough space, e.what() = DB::Exception",
     "ClickHouse says: Cannot reserve 1.00 MiB, not enough space")])
def test_other_answers(export, session, status, body, said):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass
    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        fails(export, session, said, url="http://127.0.0.1:%d" % server.server_address[1])
        server.shutdown()


def test_login(server, export, session, tmp_path):
    (tmp_path / "password").write_text("se&cret\n")
    (tmp_path / "wrong").write_text("secret\n")
    fails(export, session, "see --user and --password-file", "--user=writer", url=server.url)
    fails(export, session, "Wrong password", "--user=writer", f"--password-file={tmp_path}/wrong", url=server.url)
    fails(export, session, "No such file", "--user=writer", f"--password-file={tmp_path}/none", url=server.url)
    fails(export, session, "readonly", "--user=reader", url=server.url)
    assert not server.number("SELECT count() FROM system.databases WHERE name = 'ada'")
    export(session("plain"), "--user=writer", f"--password-file={tmp_path}/password", url=server.url)
    assert contents(server)[:2] == [1, 10]


def test_disk_full(server, export, session):
    """Files of the server can't grow: what a full disk is to it."""
    server.stop()
    server.start(restore_signals=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300000, 300000)))
    try:
        text = export(session("large"), url=server.url, status=125)
        assert len(text.splitlines()) == 1 and "File too large" in text
        only_whole(server, session("large"))
    finally:
        server.stop()
        server.start()
    export(session("large"), url=server.url)
    is_large(server)


def test_what_is_not_exported(server, export, session):
    assert "still being recorded" in export(session("running"), url=server.url, status=125)
    assert "is one process of a session" in export(session("processes") / "pid_51", url=server.url, status=125)
    assert "whole sessions" in export(session("plain"), "--from=+1ns", url=server.url, status=125)
    assert "a name has letters" in export(session("plain"), "--database=a.b", url=server.url, status=125)
