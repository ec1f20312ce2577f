"""Programs with a handler of their own for what they crash of: the crash is what that handler was called for, and not its raise() or abort();
there is one, too, where the handler exits.
And it is not what a handler was called for that has long done its work."""
import json
import re
import subprocess

import pytest

from harness import Session, run, shell_status

pytestmark = pytest.mark.traces
HEAD = """
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define OUT __attribute__((noinline, noclone))
volatile long sink;
struct node { char room[40]; int value; };
OUT struct node *find(int key) { static struct node one; return key ? &one : (struct node *)NULL; }
OUT int use(int key) { struct node *n = find(key); return n->value; }
OUT int deep(int n) { volatile char room[200]; room[0] = (char)n; return deep(n + 1) + room[0]; }
OUT int give_up(int n) { if (n) return give_up(n - 1) + 1; abort(); }
OUT int hollow(int n) { volatile char room[100000]; room[n] = 1; abort(); }
OUT void say(const char *text) { write(2, text, strlen(text)); }
static sigjmp_buf out;
static char *page;
static char stack[65536];
"""
MAIN = """
static void on(int number, void (*handler)(int), int flags) {
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	sigaction(number, &action, NULL);
}
static void use_stack(void) { stack_t own = { .ss_sp = stack, .ss_size = sizeof stack }; sigaltstack(&own, NULL); }
int main(int argc, char **argv) { begin(); sink = work(argc - 1); say("went on\\n"); return 0; }
"""
NULL = r"^use crashed with SIGSEGV at address 0x28: a null pointer that find had returned "

# name: handler, begin, work; signal that ends it, kind, headline
CRASHES = {
    "raises-anew": ("say(\"crashed\\n\"); signal(n, SIG_DFL); raise(n);", "on(SIGSEGV, handle, 0);", "use(n)", "SIGSEGV", "null", NULL),
    "kills-itself": ("signal(n, SIG_DFL); say(\"crashed\\n\"); kill(getpid(), n);", "on(SIGSEGV, handle, 0);", "use(n)", "SIGSEGV", "null", NULL),
    "raises-at-once": ("signal(n, SIG_DFL); say(\"crashed\\n\"); raise(n);", "on(SIGSEGV, handle, SA_NODEFER);", "use(n)", "SIGSEGV", "null", NULL),
    "returns": ("signal(n, SIG_DFL); say(\"crashed\\n\");", "on(SIGSEGV, handle, 0);", "use(n)", "SIGSEGV", "null", NULL),
    "once": ("say(\"crashed\\n\");", "on(SIGSEGV, handle, SA_RESETHAND);", "use(n)", "SIGSEGV", "null", NULL),
    "aborts": ("say(\"crashed\\n\"); abort();", "on(SIGSEGV, handle, 0);", "use(n)", "SIGABRT", "null", NULL),
    "aborts-on-a-stack-of-its-own": ("say(\"crashed\\n\"); abort();", "use_stack(); on(SIGSEGV, handle, SA_ONSTACK);", "use(n)", "SIGABRT",
                                     "null", NULL),
    "crashes-itself": ("say(\"crashed\\n\"); sink = *(volatile int *)16;", "on(SIGSEGV, handle, SA_RESETHAND | SA_NODEFER);", "use(n)", "SIGSEGV",
                       "null", NULL),
    "handles-what-overflowed": ("say(\"crashed\\n\"); signal(n, SIG_DFL); raise(n);", "use_stack(); on(SIGSEGV, handle, SA_ONSTACK | SA_NODEFER);",
                                "deep(n)", "SIGSEGV", "overflow", r"^deep used up the stack of thread 0: it was in itself [\d,]+ times"),
    "handles-abort": ("say(\"gave up\\n\"); signal(n, SIG_DFL); raise(n);", "on(SIGABRT, handle, SA_NODEFER);", "give_up(3)", "SIGABRT",
                      "unknown", r"^give_up > give_up called abort, and crashed with SIGABRT\.$"),
    "jumped-out-of": ("siglongjmp(out, 1);", "on(SIGSEGV, handle, 0);", "sigsetjmp(out, 1) ? give_up(20) : use(n)", "SIGABRT", "unknown",
                      r"^give_up > give_up called abort, and crashed with SIGABRT\.$"),
    "jumped-out-of-a-stack-of-its-own": ("siglongjmp(out, 1);", "use_stack(); on(SIGSEGV, handle, SA_ONSTACK);",
                                         "sigsetjmp(out, 1) ? give_up(20) : use(n)", "SIGABRT", "unknown", r"^give_up > give_up called abort, and crashed with SIGABRT\.$"),
    "jumped-out-of-what-nobody-wrote-over": ("siglongjmp(out, 1);", "on(SIGSEGV, handle, 0);", "sigsetjmp(out, 1) ? hollow(0) : use(n)", "SIGABRT",
                                             "unknown", r"^work > hollow called abort, and crashed with SIGABRT\.$"),
    "another-at-the-same-place": ("say(\"took it\\n\");", "on(SIGSEGV, handle, 0); on(SIGABRT, SIG_DFL, 0);",
                                  "(raise(n ? SIGABRT : SIGSEGV), raise(n ? SIGSEGV : SIGABRT))", "SIGABRT", "unknown",
                                  r"^main > work called raise, and crashed with SIGABRT\.$"),
    "mended": ("mprotect(page, 4096, PROT_READ | PROT_WRITE);",
               "page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); on(SIGSEGV, handle, 0);", "(page[8] = 1, give_up(20))",
               "SIGABRT", "unknown", r"^give_up > give_up called abort, and crashed with SIGABRT\.$"),
}
# name: handler, begin, work; status that it exits with, signal, kind, headline
EXITS = {
    "exits-at-once": ("say(\"crashed\\n\"); _exit(3);", "on(SIGSEGV, handle, 0);", "use(n)", 3, 11, "null", NULL),
    "exits-in-order": ("say(\"crashed\\n\"); exit(3);", "on(SIGSEGV, handle, 0);", "use(n)", 3, 11, "null", NULL),
    "exits-well": ("_exit(0);", "on(SIGSEGV, handle, SA_NODEFER);", "use(n)", 0, 11, "null", NULL),
    "exits-on-a-stack-of-its-own": ("say(\"crashed\\n\"); _exit(3);", "use_stack(); on(SIGSEGV, handle, SA_ONSTACK);", "deep(n)", 3, 11, "overflow",
                                    r"^deep used up the stack of thread 0: .*, when a signal handler ended the process\.$"),
    "exits-for-abort": ("_exit(4);", "on(SIGABRT, handle, 0);", "give_up(3)", 4, 6, "unknown", r"^give_up > give_up called abort, and crashed with SIGABRT\.$"),
}
# name: handler, begin, work; status
OTHER_EXITS = {
    "was-asked-to": ("_exit(0);", "on(SIGABRT, handle, 0);", "raise(SIGABRT)", 0),
    "jumped-out": ("siglongjmp(out, 1);", "on(SIGSEGV, handle, 0);", "(sigsetjmp(out, 1) ? _exit(3) : (void)(sink = use(n)), 0)", 3),
    "jumped-out-of-a-stack-of-its-own": ("siglongjmp(out, 1);", "use_stack(); on(SIGSEGV, handle, SA_ONSTACK);",
                                         "(sigsetjmp(out, 1) ? _exit(3) : (void)(sink = use(n)), 0)", 3),
    "mended": ("mprotect(page, 4096, PROT_READ | PROT_WRITE);",
               "page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); on(SIGSEGV, handle, 0);", "(page[8] = 1, _exit(3), 0)", 3),
    "a-child-that-shares-its-memory": ("if (!vfork()) _exit(3); signal(n, SIG_DFL); mprotect(page, 4096, PROT_READ | PROT_WRITE);",
                                       "page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); on(SIGSEGV, handle, 0);",
                                       "(page[8] = 1, _exit(3), 0)", 3),
}


def build(tmp_path, name, level, handler, begin, work):
    file, program = tmp_path / f"{name}.c", tmp_path / "program"
    file.write_text(f"{HEAD}static void handle(int n) {{ {handler} }}\nstatic void on(int, void (*)(int), int); static void use_stack(void);\n"
                    f"static void begin(void) {{ {begin} }}\nOUT long work(int n) {{ return {work}; }}\n{MAIN}")
    subprocess.run(["cc", "-g", "-w", level, "-fno-optimize-sibling-calls", "-o", program, file], check=True)
    return program


def crash_marks(manifest):
    return [m for w in manifest["detail_lane"]["windows"] for m in w["marks"] if m["kind"] == "crash"]


def headline(ada, session):
    return next((r for r in json.loads(ada("narrate", "--format=json", session).stdout)["rows"] if r["window"] == 0), None)


@pytest.mark.parametrize("level", ["-O0", "-O1"])
@pytest.mark.parametrize("name", EXITS)
def test_what_a_handler_exits_for_is_a_crash(ada, tmp_path, name, level):
    handler, begin, work, status, signal, kind, text = EXITS[name]
    program = build(tmp_path, name, level, handler, begin, work)
    plain, traced = run([program]), ada.trace(tmp_path / "out", [program])
    assert (traced.status, traced.stderr) == (status, plain.stderr) and plain.status == status
    session = Session(tmp_path / "out")
    manifest, = session.manifests().values()
    assert manifest["exit"] == {"kind": "exited", "status": status} and manifest["crash"]["signal"] == signal
    assert len(crash_marks(manifest)) == 1
    told = headline(ada, session.path)
    assert told["kind"] == "headline" and told["crash"]["kind"] == kind and re.search(text, told["text"]), told["text"]
    assert ada("verify", session.path).status == 0


@pytest.mark.parametrize("name", OTHER_EXITS)
def test_what_exits_without_a_fault_is_no_crash(ada, tmp_path, name):
    handler, begin, work, status = OTHER_EXITS[name]
    program = build(tmp_path, name, "-O1", handler, begin, work)
    assert run([program]).status == ada.trace(tmp_path / "out", [program]).status == status
    manifest, = Session(tmp_path / "out").manifests().values()
    assert manifest["crash"] is None and crash_marks(manifest) == []


@pytest.mark.parametrize("options", [[], ["--exclude=*"]], ids=["in-a-call", "in-no-call"])
@pytest.mark.parametrize("leave", ["_exit(5)", "abort()"])
def test_a_child_of_the_handler_did_not_crash_of_it(ada, tmp_path, leave, options):
    """As where it is to write a report, and can't."""
    program = build(tmp_path, "forks", "-O1", f"if (!fork()) {leave}; wait(NULL); _exit(3);", "on(SIGSEGV, handle, 0);", "use(n)")
    assert ada.trace(tmp_path / "out", [program], *options).status == run([program]).status == 3
    parent, child = sorted(Session(tmp_path / "out").manifests().values(), key=lambda manifest: manifest["exit"].get("status") != 3)
    assert (parent["crash"]["signal"], len(crash_marks(parent))) == (11, 1)
    assert (child["crash"] or {}).get("signal") == (6 if leave == "abort()" else None)


@pytest.mark.parametrize("level", ["-O0", "-O1"])
@pytest.mark.parametrize("name", CRASHES)
def test_the_first_signal_is_the_crash(ada, tmp_path, name, level):
    handler, begin, work, end, kind, text = CRASHES[name]
    program = build(tmp_path, name, level, handler, begin, work)
    plain, traced = run([program]), ada.trace(tmp_path / "out", [program])
    assert (traced.status, traced.stderr) == (shell_status(plain.status), plain.stderr)
    session = Session(tmp_path / "out")
    manifest, = session.manifests().values()
    assert manifest["exit"]["signal"] == {"SIGSEGV": 11, "SIGABRT": 6}[end]
    assert len(crash_marks(manifest)) == 1
    first = headline(ada, session.path)
    assert first["kind"] == "headline" and "crash" in first, first
    assert first["crash"]["kind"] == kind and re.search(text, first["text"]), first["text"]
