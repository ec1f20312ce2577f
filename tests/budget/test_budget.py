"""--budget: functions that cost too much are let go of while the program runs, and every answer says so; the program doesn't notice. The
counts are the program's own (program.cc)."""
import ctypes
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from harness import Session, check_recording
from live import Live

QUICK = 2000                # calls of `quick` in one of `above`
STOP_NS = 5_500_000         # of CPU time: a tenth more than 5 ms
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
FLIP_S = 60                 # at most, until one more hook went or came back while eight threads never rest
ROUNDS, ROUNDS_S = 10_000, 3000     # with --all-variants, and how long they may take


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def trace(ada, build_dir, tmp_path):
    def one(name, options, words):
        output = tmp_path / name
        result = ada.trace(output, [build_dir / "tests/budget/budget_program", *words], *options)
        assert result.status == 0, result.stderr.decode()
        session = check_recording(ada, output)
        process, = session.processes()
        return session, json.loads((process / "manifest.json").read_text()), result.stdout.decode()
    return one


def ask(ada, session, statement):
    result = ada("query", "--format=json", session.path, statement)
    assert result.status == 0, result.stderr.decode()
    return json.loads(result.stdout)["rows"]


def muted(ada, session):
    return {row["function"] for row in ask(ada, session, "SELECT DISTINCT function FROM mutes")}


def completeness(ada, session, *words):
    return json.loads(ada("report", "--format=json", session.path, *words).stdout)["completeness"]


def came_back(session):
    """How often a hook was out, and is in again: as the manifest says, also while it is written anew every now and then."""
    return sum(one["toNs"] is not None for manifest in session.glob("pid_*/manifest.json")
               for one in json.loads(manifest.read_text())["muted"])


def stops(session):
    """How often all threads were stopped, and hooks taken out and put back: as the manifest says."""
    return sum(json.loads(manifest.read_text())["ledger"]["stops"] for manifest in session.glob("pid_*/manifest.json"))


def await_flips(session, enough, patience):
    """However long it takes until there are enough, as long as there come more."""
    most, limit = 0, time.monotonic() + patience
    while not enough():
        if (now := came_back(session) + stops(session)) > most:
            most, limit = now, time.monotonic() + patience
        assert time.monotonic() < limit, f"hooks went and came back {most} times, and then no more"
        time.sleep(0.05)


def check_stress(said):
    words = said.split()
    assert words[0] == "wrong" and int(words[1]) == 0, said
    assert int(words[3]) == int(words[5]) > 0, said


@pytest.mark.parametrize("options", [("--debug-flip",), ("--debug-flip", "--detail=off"), ("--debug-flip", "--debug-poison"), ("--budget=1%",)])
def test_eight_threads_in_hot_code(ada, build_dir, tmp_path, request, options):
    """With signals, exceptions, jumps and a library that comes and goes beside. However long it takes until hooks went and came back."""
    every = request.config.getoption("--all-variants")
    rounds = 10 if not every else ROUNDS if options == ("--debug-flip",) else ROUNDS // 10
    least = time.monotonic() + (60 if every else 1)
    awaited = "--debug-flip" in options     # a budget may find no moment in which eight threads stop soon enough
    live = Live(ada, tmp_path / "ada", [build_dir / "tests/budget/budget_program", "stress",
                                        build_dir / "tests/budget/libada-tests-budget-plugin.so"], "--modules=*plugin*", *options,
                *(["--disk-limit=512M"] if every else []))
    try:
        time.sleep(max(0, least - time.monotonic()))
        if awaited:
            await_flips(live.session, lambda: came_back(live.session) and stops(live.session) >= rounds, FLIP_S)
        check_stress(live.end()[0])
    finally:
        live.close()
    if every:
        assert ada("verify", live.session, timeout=ROUNDS_S).status == 0
    else:
        check_recording(ada, tmp_path / "ada")
    assert came_back(live.session) or not awaited


def test_a_loop_that_comes_back_into_the_patch(ada, build_dir, tmp_path):
    """The copy of a loop that begins within a patch's bytes holds all of it: whoever is in the original when the patch is put back would come into it."""
    live = Live(ada, tmp_path / "ada", [build_dir / "tests/budget/budget_program", "loops"], "--debug-flip")

    def enough():
        assert live.process.poll() is None, live.end()
        return came_back(live.session) >= 350           # of some sixty, each as often as the others

    try:
        await_flips(live.session, enough, FLIP_S)
        assert live.end()[0] == "wrong 0\n"
    finally:
        live.close()


def test_a_dear_function_goes_and_all_answers_say_so(ada, trace):
    # Where the recorder has no processor for a while, all that comes until the mute might not fit into its memory.
    session, manifest, said = trace("ada", ("--budget", "--on-full=block"), ("calls", 10000, 10**9))
    assert said == f"sum {10000 * QUICK}\n"
    assert "quick" in muted(ada, session)
    counts = {row["function"]: row["calls"] for row in ada.rows("report", session.path)}
    assert counts["above"] == 10000 and 0 < counts["quick"] < 10000 * QUICK / 2, (counts, muted(ada, session), manifest["index_lane"])
    said = completeness(ada, session)["muted"]
    assert said["functions"] == len(muted(ada, session)) and 0 < said["callsShare"] < 1
    assert b"muted (about" in ada("report", session.path).stdout
    marks = {row["function"]: row["muted"] for row in json.loads(ada("report", "--format=json", session.path).stdout)["rows"]}
    assert marks["quick"].startswith("calls") and "self" in marks["above"]
    assert b"muted for some of the time" in ada("narrate", "--all", session.path).stdout
    for one in manifest["muted"]:
        assert manifest["startNs"] <= one["fromNs"] < manifest["endNs"] and one["callsPerSecond"] > 0
    # The next run begins with what this one has learnt
    again, second, _ = trace("again", ("--budget",), ("calls", 10000, 10**9))
    assert "quick" in muted(ada, again)


def test_a_process_that_cannot_be_stopped_is_muted_all_the_same(ada, build_dir, tmp_path):
    """A debugger has it, so no word of its memory changes: its hooks let calls pass, until a rule names the function."""
    live = Live(ada, tmp_path / "ada", [build_dir / "tests/budget/budget_program", "serve"], "--budget=1%", "--on-full=block")
    libc = ctypes.CDLL(None, use_errno=True)
    told = 0
    try:
        pid = live.request("status")["providers"][0]["pid"]
        assert libc.ptrace(PTRACE_SEIZE, pid, None, None) == 0, os.strerror(ctypes.get_errno())
        budget = {"muted": 0}
        while not budget["muted"]:
            assert told < 200 * 500, "nothing is muted"
            live.tell("500\n")
            told += 500
            budget = live.request("status")["providers"][0]["budget"]
        live.tell("5000\n")
        assert ada("trigger", "add", live.session, "latency=quick>10s").status == 0
        before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        live.tell("100\n")
        assert libc.ptrace(PTRACE_INTERRUPT, pid, None, None) == 0 and os.waitpid(pid, 0)[0] == pid and libc.ptrace(PTRACE_DETACH, pid, None, None) == 0
        live.end()
    finally:
        live.close()
    session = check_recording(ada, tmp_path / "ada")
    manifest, = session.manifests().values()
    assert manifest["ledger"]["stops"] == 0, manifest["ledger"]
    counts = ask(ada, session, f"SELECT SUM(start_ns < {before}) AS before, SUM(start_ns >= {before}) AS behind FROM calls WHERE function = 'quick'")
    assert counts[0]["behind"] == 100 * QUICK and 0 < counts[0]["before"] < (told + 5000) * QUICK - 4000 * QUICK, counts
    assert "quick" in muted(ada, session)


def test_who_costs_less_loses_nothing(ada, trace):
    session, manifest, _ = trace("ada", ("--budget=10000%",), ("calls", 200, 10**9))
    assert manifest["muted"] == [] and "muted" not in completeness(ada, session)
    counts = {row["function"]: row["calls"] for row in ada.rows("report", session.path)}
    assert counts["quick"] == 200 * QUICK


@pytest.mark.parametrize("option", ["--keep=quick", "--trigger=latency=quick>10s"])
def test_what_is_named_stays(ada, trace, option):
    session, manifest, _ = trace("ada", ("--budget", "--on-full=block", option), ("calls", 3000, 10**9))
    assert "quick" not in muted(ada, session)
    counts = {row["function"]: row["calls"] for row in ada.rows("report", session.path)}
    assert counts["quick"] == 3000 * QUICK


def test_a_rule_above_muted_functions_marks_the_same_calls(ada, trace):
    for name, budget in ("without", ()), ("with", ("--budget",)):
        session, manifest, _ = trace(name, (*budget, "--on-full=block", "--trigger=latency=above>300ms"), ("calls", 4000, 1000))
        marked = sum(window["markedCount"] for window in manifest["detail_lane"]["windows"])
        over, = ask(ada, session, "SELECT COUNT(*) AS calls FROM calls WHERE function = 'above' AND duration_ns > 300000000")
        assert bool(manifest["muted"]) == bool(budget)
        assert marked == over["calls"] >= 4     # four sleep; a busy machine may hold up others


def settled_windows(live):
    return sum(window["settled"] for path in live.session.glob("pid_*/manifest.json")
               for window in json.loads(path.read_text())["detail_lane"]["windows"])


@pytest.mark.parametrize("mode, rule, function", [("path", "latency=rare>20ms", "outer"), ("cause", "latency=waiter>20ms", "holder")])
@pytest.mark.parametrize("ruled", [True, False])
def test_what_a_window_names_stays(ada, build_dir, tmp_path, mode, rule, function, ruled):
    """The caller of the marked call, or who held the lock that it waited for: dear as anything later on, and muted where no window names it."""
    options = ("--budget=1%", "--budget-forget", *([f"--trigger={rule}@pre=1ms,post=1ms"] if ruled else []))
    live = Live(ada, tmp_path / "ada", [build_dir / "tests/budget/budget_program", mode], *options)
    limit = time.monotonic() + FLIP_S
    try:
        while ruled and not settled_windows(live):
            assert time.monotonic() < limit, "no window settles"
            time.sleep(0.02)
        budget = None
        while not budget or budget["muted"] < (1 if ruled else 2):
            assert time.monotonic() < limit, "nothing is muted"
            live.tell("100000\n")
            budget = live.request("status")["providers"][0]["budget"]
        for _ in range(5):
            live.tell("100000\n")
        live.end()
    finally:
        live.close()
    gone = muted(ada, check_recording(ada, tmp_path / "ada"))
    assert "leaf" in gone and (function in gone) == (not ruled), gone


def test_a_rule_that_comes_brings_back_what_was_muted(ada, build_dir, tmp_path):
    live = Live(ada, tmp_path / "ada", [build_dir / "tests/budget/budget_program", "serve"], "--budget=1%", "--on-full=block")
    try:
        for _ in range(200):
            live.tell("500\n")
            status = live.request("status")["providers"][0]["budget"]
            if status["muted"]:
                break
        assert status["muted"] and status["share"] == 0.01
        assert b"muted" in ada("status", live.session).stdout
        assert ada("trigger", "add", live.session, "latency=quick>10s").status == 0
        before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        live.tell("100\n")
        live.end()
    finally:
        live.close()
    count, = ask(ada, check_recording(ada, tmp_path / "ada"),
                 f"SELECT COUNT(*) AS calls FROM calls WHERE function = 'quick' AND start_ns >= {before}")
    assert count["calls"] == 100 * QUICK


def test_a_slot_that_came_back_goes_out_again(ada, build_dir, tmp_path):
    """Also where all slots were looked at anew while it was out, for a library came: then it isn't seen among them."""
    live = Live(ada, tmp_path / "ada", [build_dir / "tests/budget/budget_slots", next(build_dir.glob("tests/budget/libada-tests-budget-plugin*"))],
                "--budget=1%", "--functions=labs")

    def out_by(stops):
        """By so many stops at least: a slot that is hushed leads to its hook."""
        limit = time.monotonic() + FLIP_S
        while time.monotonic() < limit:
            live.tell("1000000\n")
            budget = live.request("status")["providers"][0]["budget"]
            if budget["muted"] and budget["stops"] >= stops:
                return True
        return False
    try:
        assert out_by(1)
        live.tell("load\n")
        for _ in range(500):         # half a second of its time: the budget looks at the process again
            live.tell("1000000\n")
        rule = ada("trigger", "add", live.session, "latency=labs>10s")
        assert rule.status == 0
        limit = time.monotonic() + FLIP_S       # the answer isn't held up for long where a full machine makes a stop late
        while not live.request("status")["providers"][0]["budget"]["cameBack"]:
            assert time.monotonic() < limit, "it never came back"
            time.sleep(0.01)
        rules = live.request("status")["policy"]["rules"]
        assert ada("trigger", "remove", live.session, str(rules[-1]["id"])).status == 0
        assert out_by(3)
        live.say("\n")
        live.end()
    finally:
        live.close()
    assert muted(ada, check_recording(ada, tmp_path / "ada")) == {"labs"}


def test_status_says_what_goes_out_and_comes_back(ada, build_dir, tmp_path):
    live = Live(ada, tmp_path / "ada", [build_dir / "tests/budget/budget_program", "serve"], "--budget=1%", "--on-full=block")
    watch = subprocess.Popen([ada.path, "status", "--watch", live.session], stdout=subprocess.PIPE, text=True)
    try:
        budget = None
        while not budget or not budget["muted"] or not budget["stops"]:     # hooks let calls pass before the first stop
            live.tell("500\n")
            budget = live.request("status")["providers"][0]["budget"]
        assert budget["wentOut"] >= budget["muted"] > 0 and budget["cameBack"] == 0
        assert budget["stops"] > 0 and budget["stoppedNs"] > 0 and budget["cost"] >= 0
        assert re.search(rb"budget: recording costs \d\S* % of the program's own time, and may cost 1 %; \d+ functions? (is|are) muted; "
                         rb"it stood still \S+ [mu]s in \d+ stops?", ada("status", live.session).stdout)
        assert ada("trigger", "add", live.session, "latency=quick>10s").status == 0
        assert live.request("status")["providers"][0]["budget"]["cameBack"] > 0
        # The last line of a watch is told of its end: until then one says that something came back
        while not re.search(r"\d+ functions? muted \([1-9]\d* went out, [1-9]\d* came back\)", line := watch.stdout.readline()):
            assert line, "the watch has ended"
        live.end()
    finally:
        live.close()
        watch.wait(60)


def test_stops_are_few_and_short_with_many_threads(ada, build_dir, tmp_path):
    """None begins where the work for all before it took more than 15 ms and a five hundredth of the time, or all of them more than 60 ms and as
    much, since the machine interrupts some; however many threads are to be stopped."""
    for i in range(5):          # on a full machine the program may be over before 64 threads could be stopped in time
        result = ada.trace(tmp_path / str(i), [build_dir / "tests/budget/budget_program", "crowd", 64, 300], "--budget=1%", "--budget-forget")
        assert result.status == 0 and result.stdout == f"sum {64 * 300 * QUICK}\n".encode(), result.stderr.decode()
        process, = check_recording(ada, tmp_path / str(i)).processes()
        manifest = json.loads((process / "manifest.json").read_text())
        ledger, lasted = manifest["ledger"], manifest["endNs"] - manifest["startNs"]
        if ledger["stops"]:
            break
    assert ledger["stops"] > 0 and 0 < ledger["longestStopNs"] <= ledger["stoppedNs"]
    assert 0 < ledger["dearestStopNs"] <= ledger["stopsCpuNs"] <= ledger["stoppedNs"]
    assert ledger["stopsCpuNs"] - ledger["dearestStopNs"] <= 15e6 + lasted / 500
    assert ledger["stoppedNs"] - ledger["longestStopNs"] <= 60e6 + lasted / 500


def all_out_and_back(ada, program, output):
    """Two thousand functions go out, each in a page of its own, and come back all at once: more than one stop has time for. The ledger."""
    live = Live(ada, output, program, "--budget=0.1%", "--disk-limit=64M")

    def comes(what):
        limit = time.monotonic() + FLIP_S / 3
        while not what(live.request("status")["providers"][0]["budget"]) and time.monotonic() < limit:
            time.sleep(0.05)
    try:
        comes(lambda budget: budget["muted"] >= 1500 and budget["stops"])       # a full machine lets fewer go out in that time, or none
        assert ada("trigger", "add", live.session, "latency=many_*>10s").status == 0
        comes(lambda budget: budget["cameBack"] and budget["muted"] < 100)      # likewise
        budget = live.request("status")["providers"][0]["budget"]
        assert budget["cameBack"] <= budget["wentOut"], "what is back already comes back again, before others"
        assert live.end()[0] == "sum right\n"
    finally:
        live.close()
    assert ada("verify", live.session).status == 0
    ledger, = (json.loads(path.read_text())["ledger"] for path in live.session.glob("pid_*/manifest.json"))
    return ledger


def stolen():
    """What the host took of this guest's processors."""
    return int(pathlib.Path("/proc/stat").read_text().split()[8])


@pytest.mark.parametrize("threads", [8, 64])
def test_no_stop_is_longer_than_it_may_be(ada, build_dir, tmp_path, threads):
    """How long ada works in a stop is its own doing; how long it waits for a processor meanwhile the machine's. What a host takes of a guest's
    processors counts as work, though: a run in which it took some has two more goes."""
    for attempt in range(3):
        before = stolen()
        ledger = all_out_and_back(ada, [build_dir / "tests/budget/budget_many", threads], tmp_path / f"ada{attempt}")
        print(f"{ledger['stops']} stops, dearest {ledger['dearestStopNs']}, longest {ledger['longestStopNs']} ns, {stolen() - before} stolen")
        if ledger["dearestStopNs"] <= STOP_NS or stolen() == before:
            break
    assert ledger["stops"] and 0 < ledger["dearestStopNs"] <= STOP_NS


def test_a_call_that_is_made_later_goes_out_too(ada, build_dir, tmp_path):
    """Calls that were never made stay bound when their function goes out; one that is made then passes its hook, and soon needs none."""
    output = tmp_path / "out"
    result = ada.trace(output, [build_dir / "tests/budget/budget_later"], "--budget=1%", "--budget-forget")
    assert result.status == 0 and result.stdout.decode() == "first: bound, out\nsecond: bound, out\n", result.stdout + result.stderr
    check_recording(ada, output)


def test_a_later_run_knows_what_is_called(ada, build_dir, tmp_path):
    """A call that nobody has made goes out at once where an earlier run made it: a server's parent spares all its children the first second."""
    for name, found in (("first", "bound"), ("again", "out")):
        result = ada.trace(tmp_path / name, [build_dir / "tests/budget/budget_later"], "--budget=1%")
        assert result.status == 0 and result.stdout.decode() == f"first: bound, out\nsecond: {found}, out\n", result.stdout + result.stderr
        check_recording(ada, tmp_path / name)


def test_what_cannot_be_taken_out_is_muted_all_the_same(ada, build_dir, tmp_path):
    """A function whose words can't change while the program runs: its hook lets calls pass, and no stop is made for it."""
    calls = 100_000_000
    output = tmp_path / "out"
    result = ada.trace(output, [build_dir / "tests/budget/budget_pages", calls], "--budget=1%", "--on-full=block")
    assert result.status == 0 and result.stdout.decode() == f"calls {calls}\n", result.stderr
    session = check_recording(ada, output)
    assert muted(ada, session) >= {"across"}
    counts = {row["function"]: row["calls"] for row in ada.rows("report", session.path)}
    assert 0 < counts["across"] < calls / 2
    assert {row["function"]: row["muted"] for row in json.loads(ada("report", "--format=json", session.path).stdout)["rows"]}["across"]


@pytest.mark.parametrize("options, calls, least, most", [(("--budget=1%", "--keep=*"), 1000, 1, 6), (("--budget=20%", "--keep=above"), 2_000_000, 7, 64),
                                                         ((), 1000, 40, 64)])
def test_history_grows_when_a_process_costs_what_it_may(trace, options, calls, least, most):
    """Of the 64 MiB that a process's detail may have: what costs too much is about to go, and its history would cost more than itself."""
    _, manifest, _ = trace("ada", options, ("calls", calls, 10**9))
    memory = manifest["buffering"]["detail"]["memoryBytes"]
    assert least << 20 <= memory <= most << 20, manifest["buffering"]


def test_a_window_says_that_history_had_not_grown_yet(trace):
    """A larger buffer would not help: of this one, too, a process that costs too much has a small part."""
    _, manifest, _ = trace("ada", ("--budget=1%", "--keep=*", "--trigger=latency=above>300ms@pre=1000s,post=1ev", "--on-full=block"), ("calls", 2000, 1000))
    window = manifest["detail_lane"]["windows"][-1]
    said = re.fullmatch(r"the history of detail reached back only (\S+) s of the 1000 s asked; with --budget it grows second by second while the process "
                        r"costs no more than it may, up to the detail buffer of 65472K", window["shortReason"])
    assert said and float(said[1]) == pytest.approx(window["preRollSec"], rel=1e-4), window["shortReason"]


def test_a_child_begins_with_what_its_siblings_let_go_of(ada, build_dir, tmp_path):
    """The second child never calls what the first one let go of; but it may, as anyone knows who has seen the first."""
    live = Live(ada, tmp_path / "ada", [build_dir / "tests/budget/budget_program", "family"], "--budget=1%", "--budget-forget")
    known = {"leaf", "target_10", "target_25"}

    def let_go():
        """What each child has let go of, the first one's first."""
        rows = ask(ada, Session(tmp_path / "ada"), "SELECT process, function FROM mutes")
        processes = sorted(live.session.glob("pid_*"), key=lambda process: json.loads((process / "manifest.json").read_text())["startNs"])
        return [{row["function"] for row in rows if row["process"] == process.name} for process in processes[1:]]

    def settled(child):
        """A child without a processor costs nothing for a moment: of the second one it is asked what it has let go of."""
        budgets = [one["budget"] for one in live.request("status")["providers"][1:]]
        return len(budgets) == child and budgets[-1]["muted"] and \
            (budgets[-1]["cost"] <= 0.01 if child == 1 else len(found := let_go()) == 2 and known | {"quick"} <= found[1])
    try:
        for child in (1, 2):
            live.say("\n")
            limit = time.monotonic() + FLIP_S
            while not settled(child):
                assert time.monotonic() < limit, f"the child doesn't settle: {let_go()}"
                time.sleep(0.02)
        assert live.end()[0] == "done\n"
    finally:
        live.close()
    check_recording(ada, tmp_path / "ada")
    first, second = let_go()
    assert known <= first and "quick" in second
    assert known <= second


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_parent_that_forks_again_begins_its_children_without(ada, build_dir, tmp_path):
    """The parent calls none of it, and waits: its children need no stops of their own."""
    live = Live(ada, tmp_path / "ada", [build_dir / "tests/budget/budget_program", "family"], "--budget=1%", "--budget-forget")
    limit = time.monotonic() + FLIP_S

    def await_budgets(is_so):
        while True:
            budgets = [one["budget"] for one in live.request("status")["providers"]]
            assert time.monotonic() < limit, f"it doesn't settle: {budgets}"
            if is_so(budgets):
                return
            time.sleep(0.02)

    try:
        live.say("\n")
        await_budgets(lambda found: len(found) == 2 and found[1]["muted"] and found[1]["cost"] <= 0.01)
        assert not live.request("status")["providers"][0]["budget"]["muted"], "it may be the only child"
        live.say("\n")
        await_budgets(lambda found: len(found) == 3 and found[0]["muted"] >= found[2]["muted"] > 0)
        live.say("\n")
        await_budgets(lambda found: len(found) == 4 and found[3]["muted"])
        while cpu_s(live.request("status")["providers"][3]["pid"]) < 0.5:       # several looks
            assert time.monotonic() < limit
            time.sleep(0.02)
        assert live.end()[0] == "done\n"
    finally:
        live.close()
    session = check_recording(ada, tmp_path / "ada")
    manifests = sorted((json.loads((process / "manifest.json").read_text()) for process in session.processes()), key=lambda one: one["startNs"])
    last = {one["functionId"]: one for one in manifests[3]["muted"] if one["fromNs"] == manifests[3]["startNs"]}
    names = {row["function"] for row in ask(ada, session, f"SELECT function FROM mutes WHERE pid = {manifests[3]['pid']} "
                                            f"AND from_ns = {manifests[3]['startNs']}")}
    assert {"leaf", "target_10", "target_25"} <= names      # which the first child calls, and the last one never does
    assert sum(one["callsPerSecond"] for one in last.values()) > 1000
    # What it costs is known from the parent, so that nothing comes back at once, to go again.
    assert not [one for one in last.values() if one["toNs"] is not None and one["toNs"] < manifests[3]["startNs"] + 4_000_000_000]


def crash_under_a_budget(ada, program, output):
    """What was muted at the crash, the path that is told, and all that was muted at any time."""
    result = ada.trace(output, [program, "crash", 30_000_000], "--budget")
    assert result.status == 128 + signal.SIGSEGV, result.stderr.decode()
    session = check_recording(ada, output)
    told = {row["kind"]: row["text"] for row in json.loads(ada("narrate", "--all", "--format=json", session.path).stdout)["rows"]}
    path = [frame.split()[0] for frame in told["open-frames"].split(": ", 1)[1].rstrip(".").split(" > ")]
    out = told["crash-muted"].split(": ", 1)[1].rstrip(".").split(", ") if "crash-muted" in told else []
    return out, path, muted(ada, session)


def test_a_crash_lacks_muted_frames_only(ada, build_dir, tmp_path):
    """A machine that is full takes more than five seconds for it: then what is muted may be on trial just then, and the path is whole."""
    for i in range(3):
        out, path, ever = crash_under_a_budget(ada, build_dir / "tests/budget/budget_program", tmp_path / str(i))
        assert "step" in ever and set(out) <= ever
        assert [name for name in ("main", "way", "step", "fall") if name not in out] == path
        if "step" in out:
            break
    assert "step" in out


def test_a_crash_in_a_muted_function_says_so(ada, build_dir, tmp_path):
    """The innermost call that is recorded isn't the one that crashed, and no caller is new that only seems to be one."""
    for i in range(3):          # on a full machine one of them may be on trial just then
        result = ada.trace(tmp_path / str(i), [build_dir / "tests/budget/budget_fall", 30_000_000], "--budget")
        assert result.status == 128 + signal.SIGSEGV, result.stderr.decode()
        session = check_recording(ada, tmp_path / str(i)).path
        told = {row["kind"]: row for row in json.loads(ada("narrate", "--format=json", session).stdout)["rows"]}
        if told["headline"]["crash"]["muted_function"]:
            break
    assert told["headline"]["text"] == "outermost crashed in inner, which was muted, with SIGSEGV at address 0x0."
    assert told["headline"]["crash"]["muted_function"] == "inner" and told["headline"]["crash"]["function"] == "outermost"
    assert told["crash-muted"]["text"].startswith("2 functions were muted at that time, whose calls would be missing among these: ")
    text = ada("narrate", session).stdout.decode()
    assert "would be missing among these" in text and "for the first time" not in text


@pytest.mark.parametrize("text", ["0", "x", "-1%", "5%%", "20000"])
def test_bad_budgets(ada, tmp_path, text):
    result = ada.trace(tmp_path / "ada", ["/bin/true"], f"--budget={text}")
    assert result.status == 125 and b"must be percents" in result.stderr and result.stderr.count(b"\n") == 1


def test_a_budget_needs_the_streaming_index(ada, tmp_path):
    result = ada.trace(tmp_path / "ada", ["/bin/true"], "--budget", "--index-mode=circular")
    assert result.status == 125 and b"streaming" in result.stderr
