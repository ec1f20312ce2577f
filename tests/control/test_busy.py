"""Commands to sessions of several threads and processes at full rate: nothing lost, nothing torn."""
import os
import re
import subprocess
import time

import pytest
from harness import CALL, Session, check_recording

THREADS = 4
BETWEEN = 20000             # events between two changes of the policy, however fast they come: each rule marks, and the session stays small


@pytest.fixture(scope="session")
def threads(tmp_path_factory):
    """Four threads that call named() and others until the input ends; says how often each called named(). With an argument they do so for
    100,000 events for each byte of their input: however slow a recorder is to answer, there is no end of events else."""
    path = tmp_path_factory.mktemp("threads") / "threads"
    source = r"""#include <pthread.h>
        #include <stdatomic.h>
        #include <stdio.h>
        #include <time.h>
        #include <unistd.h>
        static atomic_int over, left = 1;
        static int counted;
        static unsigned long calls[4];
        __attribute__((noinline)) int named(int n) { __asm__ volatile("" ::: "memory"); return n * 3 + 1; }
        __attribute__((noinline)) int other(int n) { __asm__ volatile("" ::: "memory"); return n * 5 + 1; }
        static void *work(void *argument) {
            struct timespec pause = { .tv_nsec = 1000000 };
            while (!over) {
                if (left > 0) for (int i = 0; i < 500; i++) { named(i); ++*(unsigned long *)argument; other(i); }
                left -= left > 0 && counted;
                nanosleep(&pause, NULL);
            }
            return NULL; }
        int main(int count, char **words) {
            pthread_t threads[4]; char byte;
            counted = count > 1;
            for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, &calls[i]);
            puts("ready"); fflush(stdout);
            while (read(0, &byte, 1) > 0) left += 50;
            over = 1;
            for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
            for (int i = 0; i < 4; i++) printf("%lu\n", calls[i]);
            return 3; }"""
    subprocess.run(["gcc", "-O2", "-pthread", "-x", "c", "-", "-o", path], input=source.encode(), check=True)
    return path


def calls_of(session, name):
    """How often each thread called a function, from the index files themselves."""
    table = next(session.path.glob("pid_*/modules/*.tsv"))
    modules = {int(t.stem): t.read_text().splitlines()[1:] for t in table.parent.glob("*.tsv")}
    ids = {module << 32 | int(line.split("\t")[0]) for module, lines in modules.items() for line in lines if line.split("\t")[3] == name}
    return [sum(kind == CALL and function in ids for _, function, _, kind, *_ in Session.events(thread))
            for thread in session.threads()]


def test_rules_change_under_four_threads(live, threads, ada):
    session = live("--on-full=block", "--no-libcalls", "--trigger=manual", "--post-roll-events=0", "--pre-roll-events=0",
                   command=[threads, "counted"])
    for number in range(60):
        status = session.request("status")
        session.say("x")
        session.request("trigger-add", rule=f"symbol=named@every={1000 + number}")
        if len(status["policy"]["rules"]) > 2:
            session.request("trigger-remove", id=status["policy"]["rules"][1]["id"])
        while session.request("status")["events"] < status["events"] + BETWEEN:
            time.sleep(0.002)
    session.process.stdin.close()
    expected = [int(session.line()) for _ in range(THREADS)]
    assert session.process.wait(60) == 3
    recorded = check_recording(ada, session.output)
    assert recorded.lost() == 0
    assert sorted(calls_of(recorded, "named")) == sorted([0] * (len(recorded.threads()) - THREADS) + expected)
    manifest, = recorded.manifests().values()
    versions = {rule["id"]: rule for rule in manifest["marking_policy"]["rules"]}
    for window in manifest["detail_lane"]["windows"]:
        for mark in window["marks"]:
            assert versions.get(mark["rule"], {"kind": mark["kind"]})["kind"] == mark["kind"]
    assert any(window["markedCount"] for window in manifest["detail_lane"]["windows"])


def test_stop_at_full_rate(live, threads, ada):
    """A window is open on every thread; all that is in it is in the files."""
    session = live("--no-libcalls", "--trigger=manual", "--pre-roll-sec=0.2", "--post-roll-sec=60", "--on-full=block",
                   "--index-buffer=1M", command=[threads])
    session.wait_for(lambda s: s["events"] > 100000, "events come")
    session.control("mark --no-wait", "the last")
    before = session.status()["events"]        # the buffer may hold 32,704 more that came before the mark
    session.wait_for(lambda s: s["events"] > before + 40000, "events come behind the mark")
    session.control("stop")
    recorded = check_recording(ada, session.output, states=("stopped",))
    manifest, = recorded.manifests().values()
    windows = manifest["detail_lane"]["windows"]       # several where the disk didn't keep up: each says so
    assert all(window["shortReason"] for window in windows) and sum(window["eventCount"] for window in windows) > 1000
    assert [mark["label"] for window in windows for mark in window["marks"]] == ["the last"]
    assert session.process.wait(60) == 0


def test_marks_in_every_process(live, tmp_path, ada):
    program = tmp_path / "family"
    source = r"""#include <stdio.h>
        #include <sys/wait.h>
        #include <unistd.h>
        __attribute__((noinline)) int step(int n) { __asm__ volatile("" ::: "memory"); return n * 3 + 1; }
        int main(void) {
            int pipes[2]; char byte;
            pipe(pipes);
            for (int i = 0; i < 2; i++)
                if (!fork()) { close(pipes[1]); step(1); read(pipes[0], &byte, 1); step(2); _exit(0); }
            puts("ready"); fflush(stdout);
            while (read(0, &byte, 1) > 0) { }
            return 3; }"""
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", program], input=source.encode(), check=True)
    session = live("--trigger=manual", command=[program])
    session.wait_for(lambda s: s["processes"] == 3, "the children are there")
    for times in range(1, 6):
        told = session.control("mark", "all of you").splitlines()
        assert told[0] == "marked in 3 processes"
        if "not complete yet" not in told[1] or os.getloadavg()[0] <= os.cpu_count():
            break           # else the machine is full, and the recorder may have been held up for longer than the command waits
    assert times > 1 or told[1].startswith("windows 0, 1, 2: `ada narrate "), told
    assert re.match(r"windows \d+, \d+, \d+: `ada narrate ", told[1]), told
    assert len(session.status()["providers"]) == 3
    assert session.end() == 3
    manifests = check_recording(ada, session.output).manifests().values()
    assert [[mark["label"] for window in m["detail_lane"]["windows"] for mark in window["marks"]] for m in manifests] == \
        [["all of you"] * times] * 3
