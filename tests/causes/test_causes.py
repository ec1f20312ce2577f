"""Programs whose call `serve` takes long for one known reason: the headline, SQL's causes and waits name it, and nobody else."""
import json
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from harness import Session, check_recording
from lane import ready_between
from live import Live

pytestmark = pytest.mark.traces
MUTEX_FUNCTIONS = [f"pthread_mutex_{does}" for does in ("lock", "trylock", "timedlock", "clocklock", "unlock")]
FILTER_S = 30              # at most, until they are filtered
HERE = pathlib.Path(__file__).parent
RULE = "--trigger=latency=function:serve>200ms@pre=2s,post=10ms"
TOOK = r"\d[\d.]* m?s"      # at least 200 ms, on a full machine seconds
# kind, the function that waited, whether the object is known, the culprit's function, the end of its path
PROGRAMS = {
    "lock": ("lock", "pthread_mutex_lock", True, "compact", "background > rebuild > compact > usleep"),
    "rwlock": ("lock", "pthread_rwlock_wrlock", True, "scan", "reader > scan > usleep"),
    "chain": ("lock", "pthread_mutex_lock", True, "compact", "background > rebuild > compact > usleep"),
    "retry": ("lock", "pthread_mutex_trylock", True, "compact", "background > rebuild > compact > usleep"),
    "wakeup": ("condition", "pthread_cond_timedwait", True, "announce", "announcer > announce > pthread_cond_signal"),
    "wrong": ("condition", "pthread_cond_wait", True, "prepare", "announcer > prepare > usleep"),
    "child": ("child", "waitpid", False, "run_child", "main > serve > run_child > waitpid"),
    "event": ("message", "eventfd_read", True, "announcer", "announcer > usleep"),
    "input": ("io", "read", True, "load", "main > serve > load > read"),
    "join": ("condition", "pthread_join", True, "toil", "toiler > toil > usleep"),
    "stream": ("lock", "flockfile", True, "compact", "reporter > report > compact > usleep"),
    "print": ("lock", "fwrite", True, "compact", "reporter > report > compact > usleep"),
    "disk": ("io", "read", True, "load", "main > serve > load > read"),
    "inversion": ("lock", "pthread_mutex_lock", True, "compact", "background > rebuild > compact"),
    "once": ("lock", "pthread_once", True, "load_tables", "starter > warm_up > pthread_once > initialise > load_tables > usleep"),
    "once_c11": ("lock", "pthread_once", True, "load_tables", "initialise > load_tables > usleep"),
    "once_std": ("lock", "pthread_once", True, "load_tables", "initialise > load_tables > usleep"),
    # in the style of programs that nobody wrote for ada
    "futex": ("lock", "syscall", True, "compact", "sweeper > sweep > compact > usleep"),
    "handoff": ("condition", "sem_wait", True, "compress", "worker > work > compress > usleep"),
    "often": ("lock", "pthread_mutex_trylock", True, "compact", "background > rebuild > compact > usleep"),
    "starved": ("lock", "pthread_rwlock_wrlock", True, "look_up", "reader > look_up > usleep"),
    "timed": ("lock", "pthread_mutex_timedlock", True, "compact", "background > rebuild > compact > usleep"),
    "pool": ("condition", "syscall", True, "nightly_report(int)", "nightly_report > usleep"),
    "spin": ("lock", "pthread_spin_lock", True, "crunch", "owner > update > crunch"),
    "barrier": ("condition", "pthread_barrier_wait", True, "sort_part", "sorter > part > sort_part > usleep"),
    "slots": ("condition", "sem_wait", True, "render", "worker > job > render > usleep"),
    "nested": ("lock", "pthread_mutex_lock", True, "compact", "walker > walk > walk > walk > walk > compact > usleep"),
    "spawn": ("child", "waitpid", False, "run_tool", "main > serve > run_tool > waitpid"),
    "pause": ("sleep", "usleep", False, "back_off", "main > serve > back_off > usleep"),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("causes")
    for name in [*PROGRAMS, "arena", "beside", "command", "mixed", "socket", "ten"]:
        compiler, source = (["c++", "-std=c++2b"], f"{name}.cc") if (HERE / f"{name}.cc").exists() else (["cc"], f"{name}.c")
        subprocess.run([*compiler, "-g", "-D_GNU_SOURCE", "-O1", "-o", directory / name, HERE / source, "-pthread"], check=True)
    return directory


def sql(ada, session, statement):
    return json.loads(ada("query", "--format=json", session, statement).stdout)["rows"]


def came_too_late(ada, session, name, mode):
    """Whether a full machine let serve begin only when what it was to wait for was nearly over: then no call of it is slow."""
    if name not in PROGRAMS or mode == "control":
        return False
    row, = sql(ada, session, "SELECT max(c.end_ns) - s.start_ns AS ns FROM calls c, calls s WHERE s.function = 'serve' AND"
               f" c.function = '{PROGRAMS[name][3]}'")
    return row["ns"] is not None and row["ns"] < 200e6


def until_in_time(ada, run, name, mode):
    for _ in range(6):
        session = run()
        if not came_too_late(ada, session, name, mode):
            return session
        shutil.rmtree(session)
    return run()


@pytest.fixture
def record(ada, programs, tmp_path):
    def once(name, mode):
        result = ada.trace(tmp_path, [programs / name, mode], RULE)
        assert result.status == 0, result.stderr.decode()
        return Session(tmp_path).path
    return lambda name, mode: until_in_time(ada, lambda: once(name, mode), name, mode)


def names_only(text):
    """Without the arguments of the calls of a path."""
    return re.sub(r'(?<=\w)\((?!\))(?:[^()"]|"[^"]*")*\)', "", text)


def check_cause(ada, name, session):
    kind, waited, has_object, culprit, path = PROGRAMS[name]
    row, = sql(ada, session, "SELECT * FROM causes")
    if row["kind"] == "runqueue":       # the machine was busier than the program: what was waited for had come, and no CPU
        assert share_without_a_cpu(ada, session) > 0.45 and row["culprit_thread"] is None, row
        return
    assert (row["kind"], row["function"], row["function_waited"]) == (kind, "serve", waited)
    assert (row["object"] is not None) == has_object and row["duration_ns"] > 200e6
    # What had come by then, while the machine had no CPU for serve, is no part of the wait.
    assert row["share"] > 0.9 or row["share"] + share_without_a_cpu(ada, session) > 0.9 and row["share"] > 0.5, row
    if name == "often":
        spent = holds_of_often(ada, session)[2]
        culprit, path = spent, path.replace(culprit, spent)
    assert row["culprit_function"] == culprit and row["culprit_path"].endswith(path)
    # narrate leads with it, and has the same columns
    rows = json.loads(ada("narrate", "--format=json", session).stdout)["rows"]
    headline = next(r for r in rows if r["window"] == 0)
    assert headline["kind"] == "headline" and headline["cause"] == row
    assert all(r.get("cause") is None for r in rows if r["kind"] != "headline")
    shown = [row["object"]] * (has_object and waited != "pthread_join")     # a thread is told by its number
    assert row["culprit_path"] == names_only(row["culprit_calls"])
    for word in ["serve", row["culprit_calls"]] + [waited] * (kind not in ("lock", "condition")) + shown:
        assert word in headline["text"], word
    assert "decoy" not in headline["text"]
    assert headline["text"] in " ".join(ada("narrate", session).stdout.decode().split())
    evidence = [r for r in rows if r["kind"] == "cause"]
    assert 1 <= len(evidence) <= 8 and all(r["evidence"] for r in evidence + [headline])


@pytest.mark.parametrize("mode", ["cause", "crowd"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_cause_is_named(ada, record, name, mode):
    session = record(name, mode)
    if name == "inversion" and not json.loads((session / "session.json").read_text())["sched"]["recorded"]:
        pytest.skip("this kernel tells nothing of switches: what the holder did meanwhile is not known")
    check_cause(ada, name, session)


def filtered(session):
    return {row["functionId"] for manifest in session.glob("pid_*/manifest.json")
            for row in json.loads(manifest.read_text()).get("muted", []) if row["filtered"] and row["toNs"] is None}


@pytest.fixture
def record_filtered(ada, programs, tmp_path, monkeypatch):
    """As record; the program begins once calls of mutexes are filtered."""
    def once(name, mode):
        monkeypatch.setenv("CAUSES_AWAIT", "1")
        live = Live(ada, tmp_path, [programs / name, mode], RULE, "--debug-filter")
        try:
            limit = time.monotonic() + FILTER_S
            while len(filtered(live.session)) < len(MUTEX_FUNCTIONS):
                assert time.monotonic() < limit, "mutexes were never filtered"
                time.sleep(0.01)
            live.end()
        finally:
            live.close()
        check_recording(ada, tmp_path)
        return live.session
    return lambda name, mode: until_in_time(ada, lambda: once(name, mode), name, mode)


@pytest.mark.parametrize("mode", ["cause", "crowd"])
@pytest.mark.parametrize("name", ["lock", "chain", "retry", "timed", "inversion", "wakeup"])
def test_the_cause_is_named_where_locks_are_filtered(ada, record_filtered, name, mode):
    """That the holder took the lock is in no file: it found it free."""
    session = record_filtered(name, mode)
    if name == "inversion" and not json.loads((session / "session.json").read_text())["sched"]["recorded"]:
        pytest.skip("this kernel tells nothing of switches: what the holder did meanwhile is not known")
    check_cause(ada, name, session)
    assert {row["function"]: row["left_out"] for row in sql(ada, session, "SELECT function, left_out FROM mutes")} == \
        dict.fromkeys(MUTEX_FUNCTIONS, "uncontended")
    if name == "lock":
        wait, = sql(ada, session, "SELECT wait_index_seq, thread, culprit_thread, culprit_start_ns, culprit_end_ns FROM causes")
        told, = sql(ada, session, f"SELECT holder FROM events WHERE kind = 'holder' AND thread = {wait['thread']} AND"
                    f" index_seq BETWEEN {wait['wait_index_seq']} AND {wait['wait_index_seq'] + 4}")
        held, = sql(ada, session, f"SELECT tid FROM threads WHERE thread = {wait['culprit_thread']}")
        assert told["holder"] == held["tid"]
        evidence = [row["text"] for row in json.loads(ada("narrate", "--format=json", session).stdout)["rows"] if row["kind"] == "cause"]
        assert any(re.search(rf"Thread {wait['culprit_thread']} had mutex \S+ at \S+ already and gave it back at ", text) for text in evidence), evidence
        assert not sql(ada, session, "SELECT 1 FROM calls WHERE function = 'pthread_mutex_lock' AND caller = 'rebuild'")


@pytest.mark.parametrize("name", ["lock", "chain", "retry", "timed", "wakeup"])
def test_nobody_is_named_where_locks_are_filtered(ada, record_filtered, name):
    session = record_filtered(name, "control")
    assert sql(ada, session, "SELECT * FROM causes") == []
    assert not [r for r in json.loads(ada("narrate", "--format=json", session).stdout)["rows"] if r["kind"] == "headline"]


def whole(ada, session, call):
    """The call; where its return was lost, on a full machine, there is nothing to compare."""
    if call["end_ns"] is None:
        assert sql(ada, session, "SELECT * FROM losses WHERE events > 0"), call
        pytest.skip("events were lost: when the call ended is not known")
    return call


def share_without_a_cpu(ada, session):
    """How much of its call of serve the thread was ready and had no CPU for."""
    call = whole(ada, session, *sql(ada, session, "SELECT tid, start_ns, end_ns FROM calls WHERE function = 'serve'"))
    return ready_between(session, call["tid"], call["start_ns"], call["end_ns"]) / (call["end_ns"] - call["start_ns"])


def record_with_a_cpu(ada, tmp_path, command):
    """On a full machine it may be true that the call had no CPU: then it is recorded anew."""
    for attempt in range(3):
        result = ada.trace(tmp_path / str(attempt), command, RULE)
        assert result.status == 0, result.stderr.decode()
        session = Session(tmp_path / str(attempt)).path
        row, = sql(ada, session, "SELECT kind FROM causes")
        if row["kind"] not in ("runqueue", "preempted"):
            break
        assert share_without_a_cpu(ada, session) > 0.45
    return session, result


def others_held_it(ada, session):
    """Whether another thread was in the allocator for most of serve's longest call of it."""
    mine, = sql(ada, session, "SELECT thread, start_ns, end_ns FROM calls WHERE caller = 'serve' AND function IN ('malloc', 'free')"
                " ORDER BY duration_ns DESC LIMIT 1")
    start, end = whole(ada, session, mine)["start_ns"], mine["end_ns"]
    within = sql(ada, session, f"SELECT thread, sum(min(end_ns, {end}) - max(start_ns, {start})) AS ns FROM calls WHERE function IN"
                 f" ('malloc', 'free') AND thread <> {mine['thread']} AND end_ns > {start} AND start_ns < {end} GROUP BY thread")
    return max((row["ns"] for row in within), default=0) > (end - start) * 0.6


@pytest.mark.parametrize("mode", ["cause", "crowd"])
def test_an_arena_is_a_lock_that_nobody_sees(ada, record, mode):
    session = record("arena", mode)
    for _ in range(12):     # a busy machine may keep serve, or all others, from the CPU where serve holds the arena: that is another cause
        if share_without_a_cpu(ada, session) < 0.25 and others_held_it(ada, session):
            break
        shutil.rmtree(session)
        session = record("arena", mode)
    else:
        pytest.skip("the machine has no CPU for serve, or for those who hold its arena, in any of twelve runs")
    row, = sql(ada, session, "SELECT * FROM causes")
    # Where the others don't get to free what serve has allocated, serve does, under the same lock.
    assert (row["kind"], row["function"]) == ("lock", "serve") and row["function_waited"] in ("malloc", "free")
    assert row["object"] is row["culprit_thread"] is row["culprit_function"] is None
    headline = next(r for r in json.loads(ada("narrate", "--format=json", session).stdout)["rows"] if r["window"] == 0)
    assert f"a lock in {row['function_waited']}" in headline["text"] and headline["cause"] == row and "decoy" not in headline["text"]


def test_the_path_of_a_descriptor_is_told(ada, record):
    session = record("disk", "cause")
    row, = sql(ada, session, "SELECT object, opened FROM causes")
    assert row["opened"].startswith("/tmp/slow-table-")
    text = next(r for r in json.loads(ada("narrate", "--format=json", session).stdout)["rows"] if r["window"] == 0)["text"]
    assert f"on {row['object']}, opened as {row['opened']}, called in" in text


def headline_of(ada, session):
    return next(r for r in json.loads(ada("narrate", "--format=json", session).stdout)["rows"] if r["window"] == 0)


@pytest.mark.parametrize("mode", ["cause", "crowd"])
def test_arguments_of_the_culprits_calls_are_told(ada, record, mode):
    """Of its own innermost function and of the call in which it waited: numbers, and no pointers that say nothing."""
    session = record("lock", mode)
    row, = sql(ada, session, "SELECT culprit_calls FROM causes")
    assert re.fullmatch(r"background > rebuild > compact\(us=400000\) > usleep\(useconds=400000\)", row["culprit_calls"])
    assert row["culprit_calls"] in headline_of(ada, session)["text"]


def test_no_arguments_are_told_where_their_values_are_not(ada, programs, tmp_path):
    """The window begins behind the culprit's calls, or --redact keeps what compact was given, which usleep has from it, out of the recording."""
    for name, rule, *more in [("late", RULE.replace("pre=2s", "pre=1ms")), ("redacted", RULE, "--redact=compact:1")]:
        result = ada.trace(tmp_path / name, [programs / "lock", "cause"], rule, *more)
        assert result.status == 0, result.stderr.decode()
        row, = sql(ada, Session(tmp_path / name).path, "SELECT culprit_calls FROM causes")
        assert row["culprit_calls"] == "background > rebuild > compact > usleep"


@pytest.mark.parametrize("mode", ["cause", "crowd"])
@pytest.mark.parametrize("waits, expected", [
    ("cond", r"that thread {reloader} held for \d[\d.]* m?s while it waited for condition 0x[0-9a-f]+, which thread {feeder} ended in"
             r" feeder > toil > usleep"),
    ("join", r"that thread {reloader} held for \d[\d.]* m?s while it waited for the end of thread {feeder}, then in feeder > toil > usleep")])
def test_what_the_holder_waited_for_is_told(ada, programs, tmp_path, waits, expected, mode):
    """Whose place is told is who was there: the holder is in another."""
    result = ada.trace(tmp_path, [programs / "mixed", mode, waits], RULE)
    assert result.status == 0, result.stderr.decode()
    session = Session(tmp_path).path
    threads = {row["function"]: row["thread"] for row in sql(ada, session, "SELECT function, thread FROM calls WHERE function IN"
                                                             " ('reloader', 'feeder')")}
    text = names_only(headline_of(ada, session)["text"])
    assert re.search(expected.format(**threads), text), text
    row, = sql(ada, session, "SELECT kind, culprit_thread, culprit_function, culprit_kind, rival_thread FROM causes")
    assert row == {"kind": "lock", "culprit_thread": threads["feeder"], "culprit_function": "toil", "culprit_kind": "sleep",
                   "rival_thread": None}


def holds_of_often(ada, session):
    """For how long each of its holds was within serve's attempts, the longest one, and where its longest sleep was: in await_turn only where the
    machine made more of a short one."""
    holds = sql(ada, session, "SELECT a.thread, a.end_ns AS first, min(b.start_ns) AS last FROM calls a JOIN calls b ON a.thread = b.thread AND"
                " b.start_ns > a.end_ns WHERE a.function = 'pthread_mutex_lock' AND b.function = 'pthread_mutex_unlock' AND a.caller = 'rebuild' AND b.caller ="
                " 'rebuild' GROUP BY a.end_ns ORDER BY 1")
    attempts, = sql(ada, session, "SELECT min(start_ns) AS first, max(end_ns) AS last FROM calls WHERE function = 'pthread_mutex_trylock'")
    within = [min(hold["last"], attempts["last"]) - max(hold["first"], attempts["first"]) for hold in holds]
    longest = holds[within.index(max(within))]      # of the attempts' time; the first hold may have begun before them
    spent, = sql(ada, session, f"SELECT caller FROM calls WHERE thread = {longest['thread']} AND function = 'usleep' AND caller IN ('compact',"
                 f" 'await_turn') AND start_ns BETWEEN {longest['first']} AND {longest['last']} ORDER BY end_ns - start_ns DESC LIMIT 1")
    return within, longest, spent["caller"]


def ns_of(number, unit):
    return float(number) * {"ms": 1e6, "s": 1e9}[unit]


@pytest.mark.parametrize("mode", ["cause", "crowd"])
def test_many_holds_of_one_thread_are_no_long_one(ada, record, mode):
    session = record("often", mode)
    row, = sql(ada, session, "SELECT thread, wait_index_seq, object, culprit_thread FROM causes")
    within, longest, spent = holds_of_often(ada, session)
    assert len(within) == 20
    text = names_only(headline_of(ada, session)["text"])
    told = re.search(rf"for mutex {row['object']} that thread {row['culprit_thread']} held (\d+) times, (\S+) (m?s) in all, longest for (\S+) (m?s)"
                     r" in background > rebuild > (\w+) > usleep", text)
    assert told and int(told[1]) == 20, text
    assert ns_of(told[2], told[3]) == pytest.approx(sum(within), rel=0.01)
    assert ns_of(told[4], told[5]) == pytest.approx(longest["last"] - longest["first"], rel=0.02)
    assert told[6] == spent


def test_page_faults_of_a_holder_are_told(ada, programs, tmp_path):
    for _ in range(12):     # a busy machine may keep the holder from the CPU: that is another cause
        result = ada.trace(tmp_path, [programs / "mixed", "cause", "fault"], RULE)
        assert result.status == 0, result.stderr.decode()
        session = Session(tmp_path).path
        row, = sql(ada, session, "SELECT culprit_kind, culprit_path FROM causes")
        if row["culprit_kind"] in ("cpu", "fault"):
            break
        shutil.rmtree(session)
    else:
        pytest.skip("the machine had no CPU for the holder in any of twelve runs, or tells nothing of switches")
    assert row["culprit_path"] == "reloader > fill > touch"
    told = r"with \d+ page faults( in the longest call)?"     # where faults are slow one call of touch is all that the time is enough for
    text = names_only(headline_of(ada, session)["text"])
    assert re.search(rf"in reloader > fill > touch, {TOOK} of that {told}", text), text
    evidence = [r["text"] for r in json.loads(ada("narrate", "--format=json", session).stdout)["rows"] if r["kind"] == "cause"]
    assert any(re.search(rf"Meanwhile thread \d+ spent .* in touch {told}, in reloader > ", text) for text in evidence)


@pytest.mark.parametrize("mode", ["cause", "crowd"])
def test_who_had_the_holders_processor_is_told(ada, record, mode):
    session = record("inversion", mode)
    if not json.loads((session / "session.json").read_text())["sched"]["recorded"]:
        pytest.skip("this kernel tells nothing of switches")
    row, = sql(ada, session, "SELECT culprit_thread, culprit_kind, rival_thread, rival_path FROM causes")
    text = names_only(headline_of(ada, session)["text"])
    assert row["culprit_kind"] == "preempted" and " of that without a processor" in text
    if row["rival_thread"] is None:
        pytest.skip("another program had the CPU for most of the time")
    assert row["rival_path"] == "neighbour_thread > neighbour"
    assert f"which thread {row['rival_thread']} had in neighbour_thread > neighbour" in text


@pytest.mark.parametrize("how, kind, waited, function, command, told", [
    ("system", "child", "system", "run_hook", "sleep 0.4; : hook", "for `"),
    ("popen", "io", "fgets", "ask_tool", "sleep 0.4; echo ready", "for the stream of `"),
    ("pclose", "child", "pclose", "await_tool", "echo ready; exec >&-; sleep 0.4", "for `")])
@pytest.mark.parametrize("mode", ["cause", "crowd"])
def test_the_command_of_a_shell_is_told(ada, programs, tmp_path, how, kind, waited, function, command, told, mode):
    result = ada.trace(tmp_path, [programs / "command", mode, how], RULE)
    assert result.status == 0, result.stderr.decode()
    session = Session(tmp_path).path
    row, = sql(ada, session, "SELECT kind, function_waited, culprit_function, child_pid, command FROM causes")
    shells = {manifest["pid"] for manifest in Session(tmp_path).manifests().values() if manifest["command"][-1:] == [command]}
    assert row == {"kind": kind, "function_waited": waited, "culprit_function": function, "child_pid": row["child_pid"], "command": command}
    assert {row["child_pid"]} == shells
    text = names_only(headline_of(ada, session)["text"])
    expected = rf" {TOOK} in {waited} {re.escape(told + command)}` \(pid_{row['child_pid']}\), called in main > serve > {function} > {waited}"
    assert re.search(expected, text), text


def test_a_pipe_has_no_path(ada, record):
    assert sql(ada, record("input", "cause"), "SELECT opened FROM causes") == [{"opened": None}]


@pytest.mark.parametrize("mode", ["cause", "crowd"])
@pytest.mark.parametrize("how, waited, blamed", [
    ("counter", "eventfd_read", True), ("plain", "read", True), ("two", "eventfd_read", False), ("zero", "eventfd_read", True), ("copied", "eventfd_read", False),
    ("other", "eventfd_read", True), ("failed", "eventfd_read", True), ("socket", "read", False)])
def test_who_wrote_to_an_eventfd_is_told(ada, programs, tmp_path, how, waited, blamed, mode):
    """Where two wrote, where it was written by a copy, and where it is no eventfd, nobody is named."""
    session, _ = record_with_a_cpu(ada, tmp_path, [programs / "event", mode, how])
    row, = sql(ada, session, "SELECT kind, function_waited, culprit_function FROM causes")
    assert row["function_waited"] == waited
    text = names_only(headline_of(ada, session)["text"])
    assert (row["culprit_function"] == "announcer") == blamed, text
    assert bool(re.search(r"called in main > serve > load > \w+, until thread \d+ wrote to it after \d+ ms in announcer > usleep\.", text)) == blamed, text
    assert blamed or "wrote to it" not in text


def test_who_keeps_another_stream_is_not_blamed(ada, programs, tmp_path):
    assert ada.trace(tmp_path, [programs / "print", "cause", "beside"], RULE).status == 0
    session = Session(tmp_path).path
    assert not sql(ada, session, "SELECT * FROM waits WHERE kind = 'lock' AND function = 'fputs'")
    row, = sql(ada, session, "SELECT kind, function_waited, culprit_function FROM causes")
    assert row == {"kind": "sleep", "function_waited": "usleep", "culprit_function": "serve"}


@pytest.mark.parametrize("kind, peer", [("inet", "127.0.0.1:{}"), ("inet6", "[::1]:{}"), ("unix", "/tmp/slow-{}"), ("abstract", "@slow-{}"),
                                        ("refused", "127.0.0.1:{}"), ("reused", None), ("copied", None)])
@pytest.mark.parametrize("mode", ["cause", "crowd"])
def test_the_peer_of_a_socket_is_told(ada, programs, tmp_path, kind, peer, mode):
    """Where the number has become another socket's, no peer is named rather than the one before, but as it was at the mark where the program
    still ran then (test_descriptors.py)."""
    session, result = record_with_a_cpu(ada, tmp_path, [programs / "socket", mode, kind])
    peer = peer and peer.format(int(result.stdout))
    row, = sql(ada, session, "SELECT kind, function_waited, object, opened, peer, noted FROM causes")
    assert (row["kind"], row["function_waited"], row["opened"]) == ("message", "recv", None)
    text = names_only(headline_of(ada, session)["text"])
    if row["noted"]:
        assert peer is None and row["noted"] == f"a connection {'from' if kind == 'reused' else 'with'} {row['peer']}"
        assert f"in recv on {row['object']}, {row['noted']} " in text
        return
    assert row["peer"] == peer
    assert f"in recv on {row['object']}{f', peer {peer}' if peer else ''}, called in main > serve > load > recv" in text


def test_an_answer_in_time_blames_no_peer(ada, programs, tmp_path):
    result = ada.trace(tmp_path, [programs / "socket", "control"], RULE)
    assert result.status == 0 and not sql(ada, Session(tmp_path).path, "SELECT * FROM causes")


def test_the_thread_that_was_joined_is_told(ada, record):
    """Three others end meanwhile."""
    session = record("join", "cause")
    wait, = sql(ada, session, "SELECT ended_by_thread FROM waits WHERE function = 'pthread_join' AND end_ns - start_ns > 200000000")
    assert wait["ended_by_thread"] == sql(ada, session, "SELECT thread FROM calls WHERE function = 'toil'")[0]["thread"]


def test_wrong_wake_ups_are_counted(ada, record):
    session = record("wrong", "cause")
    nudges, = sql(ada, session, "SELECT count(*) AS n FROM waits WHERE function = 'pthread_cond_wait'")
    text = " ".join(r["text"] for r in json.loads(ada("narrate", "--format=json", session).stdout)["rows"] if r["kind"] == "cause")
    assert nudges["n"] > 2 and f"The wait ended {nudges['n'] - 1} times before, and it waited again." in text and "nudge" not in text


@pytest.mark.parametrize("name", [*PROGRAMS, "arena"])
def test_nobody_is_named_without_the_cause(ada, record, name):
    session = record(name, "control")
    assert sql(ada, session, "SELECT * FROM causes") == []
    assert not [r for r in json.loads(ada("narrate", "--format=json", session).stdout)["rows"] if r["kind"] == "headline"]


@pytest.mark.parametrize("name, ender", [("lock", "pthread_mutex_unlock"), ("print", "funlockfile")])
def test_waits_say_who_ended_them(ada, record, name, ender):
    session = record(name, "crowd")
    wait, = sql(ada, session, "SELECT w.* FROM causes c JOIN waits w ON w.thread = c.thread AND w.index_seq = c.wait_index_seq")
    row, = sql(ada, session, "SELECT * FROM causes")
    assert (wait["kind"], wait["object"], wait["ended_by_thread"]) == (row["kind"], row["object"], row["culprit_thread"])
    ended, = sql(ada, session, f"SELECT function FROM events WHERE thread = {wait['ended_by_thread']} AND index_seq = {wait['ended_by_index_seq']}")
    assert ended["function"] == ender


@pytest.mark.parametrize("name", ["once", "once_c11", "once_std"])
def test_who_waits_beside_is_no_initialiser(ada, record, name):
    """Two others came before, and are in the same function for as long."""
    session = record(name, "crowd")
    row, = sql(ada, session, "SELECT * FROM causes")
    initialising, = sql(ada, session, "SELECT thread FROM calls WHERE function = 'load_tables'")
    assert row["culprit_thread"] == initialising["thread"]
    waits = sql(ada, session, f"SELECT DISTINCT thread, object, ended_by_thread FROM waits WHERE kind = 'lock' AND object = '{row['object']}'")
    assert len(waits) == 3 and {wait["ended_by_thread"] for wait in waits} == {row["culprit_thread"]}
    headline = next(r for r in json.loads(ada("narrate", "--format=json", session).stdout)["rows"] if r["window"] == 0)
    assert f"for once object {row['object']} that thread {row['culprit_thread']} initialised for" in headline["text"]


@pytest.mark.parametrize("mode", ["cause", "crowd"])
def test_both_causes_of_a_window_are_told(ada, programs, tmp_path, mode):
    """The longer call's in the headline, the other's beside it; and both rules that marked it stand above."""
    result = ada.trace(tmp_path, [programs / "beside", mode], RULE, "--trigger=symbol=function:note_request@pre=2s,post=2s")
    assert result.status == 0, result.stderr.decode()
    session = Session(tmp_path).path
    causes = sql(ada, session, "SELECT kind, culprit_function FROM causes WHERE function = 'serve' ORDER BY culprit_function")
    assert causes == [{"kind": "lock", "culprit_function": name} for name in ("compact", "prune")]
    narrative = json.loads(ada("narrate", "--format=json", session).stdout)
    rows = [row for row in narrative["rows"] if row["window"] == 0]
    beside, = (row["text"] for row in rows if row["kind"] == "cause" and row["text"].startswith("There is another cause beside it. "))
    headline, = (row["text"] for row in rows if row["kind"] == "headline")
    named = ["compact" in headline, "prune" in headline]
    assert sorted(named) == [False, True] and ["compact" in beside, "prune" in beside] == named[::-1]
    text = ada("narrate", session).stdout.decode()
    heading, = re.findall("^Window 0 of pid_[0-9]+: (.*)$", text, re.M)
    assert sorted(heading.split(" and ")) == ["latency:function:serve>200ms", "symbol:function:note_request"]


def test_ten_windows_fit_on_a_page(ada, programs, tmp_path):
    """60 lines of 120 columns, the worst first."""
    rules = [f"--trigger=latency=function:serve_{i}>30ms@pre=4ev,post=4ev" for i in range(10)]
    result = ada.trace(tmp_path, [programs / "ten"], *rules)
    assert result.status == 0, result.stderr.decode()
    session = Session(tmp_path).path
    lines = ada("narrate", session).stdout.decode().splitlines()
    assert len(lines) <= 60 and max(map(len, lines)) <= 120
    headlines = [r for r in json.loads(ada("narrate", "--format=json", session).stdout)["rows"] if r["kind"] == "headline"]
    took = [r["cause"]["duration_ns"] for r in headlines]
    assert len(took) == 10 and took == sorted(took, reverse=True)
    assert {r["cause"]["function"] for r in headlines} == {f"serve_{i}" for i in range(10)}
    assert all(" ".join(r["text"].split()) in " ".join(" ".join(lines).split()) for r in headlines)
