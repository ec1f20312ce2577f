"""OBJECT events: what each call of a mutex, condition, semaphore ... works on, in the place where it was made, by whoever calls."""
import collections
import json

import pytest

from harness import Session
from recording import Process

CALL, RETURN, EXCEPTION, OBJECT, RECORDER = 1, 2, 3, 5, 6
NO_DETAIL = 2**32 - 1
PAIRS = {"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "cnd_wait", "cnd_timedwait"}


@pytest.fixture
def record(ada, build_dir, tmp_path):
    """record(WORD...): runs the program; (lines that it printed, processes)"""
    def run(*words, options=(), program="objects_program", output=tmp_path / "out"):
        result = ada.trace(output, [build_dir / "tests" / "objects" / program, *words], *options)
        assert result.status == 0, result.stderr.decode()
        session = Session(output)
        verified = ada("verify", "--format=json", session.path)
        assert verified.status == 0, verified.stdout.decode()
        return result.stdout.decode().splitlines(), [Process(session.path / name) for name in sorted(session.manifests())]
    return run


def synchronises(name):
    return name.startswith(("pthread_mutex_", "pthread_rwlock_", "pthread_spin_", "pthread_cond_", "sem_", "mtx_", "cnd_", "syscall", "pthread_once", "call_once")) \
        and not name.endswith(("_init", "_destroy")) or name.endswith(("join", "join_np", "barrier_wait"))


def calls_with_objects(process, thread):
    """(name, objects) of each call of the thread; every OBJECT belongs to the last call of its depth before it."""
    made, at_depth = [], {}
    for time, function, tid, kind, depth, detail_seq in thread.events:
        if kind == CALL:
            made.append((process.names[function], []))
            at_depth[depth] = made[-1]
        elif kind == OBJECT:
            name, objects = at_depth[depth]
            assert detail_seq == NO_DETAIL and synchronises(name), (name, hex(function))
            objects.append(function)
        elif kind in (RETURN, EXCEPTION):
            at_depth.pop(depth)
    return made


def check_complete(process):
    """Each call of such a function has all that it works on. How many calls there were."""
    calls = 0
    for thread in process.threads:
        for name, objects in calls_with_objects(process, thread):
            if synchronises(name) and name != "syscall":
                assert len(objects) == (2 if name in PAIRS else 1), name
                calls += 1
    return calls


def told(lines):
    """tid -> [(name, objects)] as the program says"""
    found = collections.defaultdict(list)
    for line in lines:
        tid, name, *objects = line.split()
        found[int(tid)].append((name, [int(word, 16) for word in objects]))
    return found


def check_told(lines, process):
    """In each thread the calls on the program's own objects are those that it says, in this order, once each."""
    expected = told(lines)
    own = {address for made in expected.values() for _, objects in made for address in objects}
    inner = {"mtx": "pthread_mutex", "cnd": "pthread_cond", "thr": "pthread_", "cal": "pthread_once"}
    for thread in process.threads:
        found = [(name, objects) for name, objects in calls_with_objects(process, thread) if objects and set(objects) <= own]
        wanted = expected[thread.tid]
        for name, objects in wanted:
            assert found.pop(0) == (name, objects)
            # C11's functions may call those of POSIX
            if found and name[:3] in inner and found[0][0].startswith(inner[name[:3]]) and found[0][1] == objects:
                found.pop(0)
        assert not found


def test_every_function(record):
    lines, (process,) = record("all")
    names = {line.split()[1] for line in lines}
    assert len(names) == 40
    check_told(lines, process)
    assert check_complete(process) >= len(lines) - 1


@pytest.mark.parametrize("options", [["--detail=off"], ["--modules=libc.so*"], ["--trigger=symbol=pthread_mutex_*,sem_*"],
                                     ["--index-mode=circular"]], ids=["bare", "traced", "named", "circular"])
def test_whatever_else_is_asked(record, options):
    lines, (process,) = record("all", options=options)
    check_told(lines, process)
    check_complete(process)


@pytest.mark.parametrize("option", ["--no-libcalls", "--functions=main", "--exclude=re:^(pthread|sem|mtx|cnd|thrd)_|^syscall$|^call_once$"])
def test_left_out(record, option):
    """They are library calls as others."""
    _, (process,) = record("all", options=[option])
    assert not [e for thread in process.threads for e in thread.events if e[3] == OBJECT]


def test_standard_library(record):
    (line,), (process,) = record(program="objects_standard")
    mutex, shared, condition, thread = [int(word, 16) for word in line.split()]
    found = collections.Counter((name, *objects) for t in process.threads for name, objects in calls_with_objects(process, t)
                                if set(objects) & {mutex, shared, condition, thread})
    waits = found.pop(("pthread_cond_wait", condition, mutex), 0)
    assert waits <= 1
    assert found == {("pthread_mutex_lock", mutex): 2, ("pthread_mutex_unlock", mutex): 2, ("pthread_cond_broadcast", condition): 1,
                     ("pthread_rwlock_wrlock", shared): 1, ("pthread_rwlock_rdlock", shared): 1, ("pthread_rwlock_unlock", shared): 2,
                     ("pthread_join", thread): 1}


@pytest.mark.parametrize("word", ["storm", "jumps"])
def test_signals(record, word):
    """Handlers come in between a call and its object, and some jump away."""
    lines, (process,) = record(word, 200000)
    assert len(lines) > 1000
    if word == "storm":
        check_told([line for line in lines if " sem_" in line], process)
        assert check_complete(process) >= 400000 + len(lines)
    else:
        calls_with_objects(process, process.threads[0])


def test_cancelled_waits(record):
    lines, (process,) = record("cancel")
    check_told(lines, process)


def test_forks(record):
    lines, processes = record("forks")
    found = collections.Counter((name, len(objects)) for process in processes for thread in process.threads
                                for name, objects in calls_with_objects(process, thread) if objects)
    assert len(processes) == 2 and found["pthread_mutex_trylock", 1] == 1 and found["pthread_mutex_lock", 1] >= 1


def test_losses(record, ada):
    """Where the buffer is too small a call may lack its object, and no object lacks its call."""
    _, (process,) = record("churn", 300000, options=["--index-buffer=1M", "--detail=off"])
    assert process.manifest["index_lane"]["lost"] > 0


def test_answers(record, ada, tmp_path):
    lines, (process,) = record("all")
    session = Session(tmp_path / "out").path
    rows = json.loads(ada("query", "--format=json", session, "SELECT thread, index_seq, kind, object, function, depth FROM events "
                          "WHERE kind = 'object' ORDER BY thread, index_seq").stdout)["rows"]
    own = [(t.id, seq, e[1], e[4]) for t in process.threads for seq, e in enumerate(t.events) if e[3] == OBJECT]
    assert [(r["thread"], r["index_seq"], r["object"], r["depth"]) for r in rows] == own
    assert all(row["function"] is None for row in rows)
    dumped = [json.loads(line) for line in ada("dump", "--format=json", session).stdout.splitlines()]
    assert sorted((r["thread"], r["index_seq"], r["object"]) for r in dumped if r.get("kind") == "object") == [o[:3] for o in own]


def test_waits_for_ada(record, ada, tmp_path):
    """--on-full=block: how long the program waited stands where it waited, and is no call's time."""
    _, (process,) = record("churn", 200000, options=["--index-buffer=1M", "--on-full=block", "--detail=off"])
    assert process.manifest["index_lane"]["lost"] == 0
    expected, waited = {}, 0
    for thread in process.threads:
        begun = {}
        for seq, (time, value, _, kind, depth, _) in enumerate(thread.events):
            if kind == RECORDER:
                assert value > 0 and time > value
                waited += value
                begun = {d: (start, inside + value, first) for d, (start, inside, first) in begun.items()}
            elif kind == CALL:
                begun[depth] = (time, 0, seq)
            elif kind in (RETURN, EXCEPTION):
                start, inside, first = begun.pop(depth)
                expected[thread.id, first] = max(time - start - inside, 0)
    assert waited > 0
    rows = json.loads(ada("query", "--format=json", Session(tmp_path / "out").path, "SELECT thread, index_seq, duration_ns FROM calls "
                          "WHERE duration_ns > 100000").stdout)["rows"]
    assert {(r["thread"], r["index_seq"]): r["duration_ns"] for r in rows} == {k: ns for k, ns in expected.items() if ns > 100000}


def test_objects_are_shown_with_their_calls_alone(record, ada, tmp_path):
    """`dump` shows what a call works on where it shows the call."""
    _, (process,) = record("all")
    session = Session(tmp_path / "out").path

    def dumped(*options):
        lines = [json.loads(line) for line in ada("dump", "--format=json", *options, session).stdout.splitlines()]
        return [line for line in lines if "kind" in line]

    functions = collections.defaultdict(set)
    for thread in process.threads:
        for name, objects in calls_with_objects(process, thread):
            functions[name] |= set(objects)
    for name in ("pthread_mutex_lock", "pthread_cond_wait"):
        rows = dumped(f"--function={name}")
        assert {row["function"] for row in rows if row["kind"] == "call"} == {name}
        assert {row["object"] for row in rows if row["kind"] == "object"} == functions[name]
    assert [row["kind"] for row in dumped("--function=main", "--limit=1")] == ["call"]
    assert not [row for row in dumped("--function=main") if row["kind"] == "object"]
    assert not [row for row in dumped("--module=objects_program") if row["kind"] == "object"]      # all are of libc's functions
    assert not dumped("--function=nosuch") and not dumped("--module=nosuch")
    assert max(row["depth"] for row in dumped("--max-depth=1")) == 0
