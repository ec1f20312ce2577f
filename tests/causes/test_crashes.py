"""Programs that crash for one known reason: the headline names function, object and culprit, in text and JSON; without the reason nobody."""
import json
import pathlib
import re
import subprocess

import pytest

from harness import Session

pytestmark = pytest.mark.traces
HERE = pathlib.Path(__file__).parent
# kind, the function, the signal; what the JSON and the headline say besides
PROGRAMS = {
    "freed": ("freed", "handle", "SIGSEGV", {"argument": "session", "culprit_function": "free",
                                             "culprit_path": ["closer", "close_session", "free"]},
              r"its argument session, 0x[0-9a-f]+, points to a block that thread \d+ had freed .* before, in closer > close_session > free\."),
    "double": ("double-free", "close_session", "SIGABRT", {"culprit_function": "free",
                                                           "culprit_path": ["main", "expire", "close_session", "free"]},
               r"^close_session freed 0x[0-9a-f]+ twice: thread 0 had freed it \S+ \w+ before, in main > expire > close_session > free; "
               r"SIGABRT ended the process\."),
    "null": ("null", "value_of", "SIGSEGV", {"argument": "entry", "culprit_function": "look_up",
                                             "culprit_path": ["main", "serve", "look_up"]},
             r"its argument entry is null, as look_up had returned it .* before, in main > serve > look_up\."),
    "unset": ("null", "strlen", "SIGSEGV", {"argument": "s", "culprit_function": "getenv", "culprit_path": ["main", "serve", "getenv"]},
              r"^strlen crashed with SIGSEGV at address 0x0: its argument s is null, as getenv had returned it .* before, in main > serve > getenv\."),
    "overflow": ("overflow", "walk", "SIGSEGV", {"argument": None},
                 r"walk used up the stack of thread \d+: it was in itself [\d,]+ times, with \S+ MiB of stack, when SIGSEGV ended the process\."),
    "overflow_within": ("overflow", "walk", "SIGSEGV", {"argument": None}, r"^walk used up the stack of thread 0: it was in itself [\d,]+ times, with "),
    "overflow_late": ("overflow", "walk", "SIGSEGV", {"argument": None}, r"^walk used up the stack of thread 0: it was in itself [\d,]+ times, with "),
    "holder": ("null", "value_of", "SIGSEGV", {"argument": "entry", "culprit_function": "look_up", "culprit_path": ["main", "hold", "serve", "look_up"]},
               r"its argument entry is null, as look_up had returned it .* before, in main > hold > serve > look_up\."),
    "thrown": ("exception", "check(int)", "SIGABRT", {"type": "std::out_of_range", "text": "3 is more than there is"},
               r"check threw an exception that nobody caught: std::out_of_range, what\(\): 3 is more than there is\."),
    "checked": ("exception", "check(unsigned long)", "SIGABRT",
                {"type": "std::out_of_range", "text": "check: at (which is 9) >= size (which is 3)"},
                r"^check threw an exception that nobody caught: std::out_of_range, what\(\): check: at \(which is 9\) >= size \(which is 3\)\."),
    "noexcept": ("noexcept", "serve(int)", "SIGABRT", {"type": "std::runtime_error", "text": "no such file", "culprit_function": "open_file(int)",
                                                       "culprit_path": ["main", "serve(int)", "open_file(int)"]},
                 r"^open_file threw an exception that could not leave a noexcept function, serve or one without events within it: "
                 r"std::runtime_error, what\(\): no such file\."),
    "division": ("division", "divide", "SIGFPE", {"argument": None},
                 r"^divide crashed with SIGFPE at address 0x[0-9a-f]+: an integer division by zero\."),
    "assert": ("assertion", "apply", "SIGABRT", {"text": 'balance >= 0 && "no debts"', "file": str(HERE / "crash_assert.c"), "line": 7},
               r'An assertion failed in apply: balance >= 0 && "no debts" \(crash_assert\.c:7\)\.'),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("crashes")
    for name in PROGRAMS:
        source = next(HERE.glob(f"crash_{name}.c*"))
        compiler = ["c++", "-std=c++2b"] if source.suffix == ".cc" else ["cc"]
        for level in "01":
            subprocess.run([*compiler, "-g", "-D_GNU_SOURCE", f"-O{level}", "-fno-optimize-sibling-calls", "-o", directory / f"{name}{level}",
                            source, "-pthread"], check=True)
    return directory


@pytest.fixture
def record(ada, programs, tmp_path):
    def run(name, mode, level=1, crashes=True):
        result = ada.trace(tmp_path, [programs / f"{name}{level}", mode])
        assert (result.status != 0) == crashes, result.stderr.decode()
        return Session(tmp_path).path
    return run


def told(ada, session):
    return json.loads(ada("narrate", "--format=json", session).stdout)["rows"]


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("mode", ["cause", "crowd"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_mistake_is_named(ada, record, name, mode, level):
    kind, function, signal, more, text = PROGRAMS[name]
    session = record(name, mode, level)
    rows = told(ada, session)
    headline = next(r for r in rows if r["window"] == 0)
    assert "crash" in headline, rows[:12]
    crash = headline["crash"]
    assert headline["kind"] == "headline" and re.search(text, headline["text"]), headline["text"]
    assert (crash["kind"], crash["function"], crash["signal"]) == (kind, function, signal)
    assert {key: crash[key] for key in more} == more
    assert "decoy" not in headline["text"]
    assert headline["text"] in " ".join(ada("narrate", session).stdout.decode().split())
    # what it cites is there
    main = [e for e in headline["evidence"] if e.get("thread") == crash["thread"]]
    assert main and main[0]["first"] == crash["index_seq"]
    assert crash["culprit_thread"] is None or headline["evidence"][-1]["first"] == crash["culprit_index_seq"]
    if name == "holder":
        assert any(re.search(r"A call of pthread_mutex_lock has not returned for .* it waits for mutex 0x\w+ that thread 0 has held .* in main > hold",
                             r["text"]) for r in rows if r["kind"] == "cause")
    if kind == "freed":
        assert crash["culprit_thread"] != crash["thread"] and crash["object"]
    if kind == "overflow":
        assert crash["depth"] > 10000 and 2 << 20 < crash["stack_bytes"] <= 10 << 20 or level == 0 and crash["depth"] > 1000


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("name", PROGRAMS)
def test_nobody_is_accused_of_another_crash(ada, record, name, level):
    """Blocks that were freed and given out anew, null that was asked for, exceptions that were caught, a recursion that came back."""
    session = record(name, "innocent", level)
    headline = next(r for r in told(ada, session) if r["window"] == 0)
    assert headline["crash"]["kind"] == "unknown" and headline["crash"]["culprit_function"] is None
    assert re.search(r" crashed with SIG\w+( at address 0x[0-9a-f]+)?\.$", headline["text"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_told_where_nothing_crashed(ada, record, name):
    assert not [r for r in told(ada, record(name, "control", crashes=False)) if "crash" in r["kind"] or "crash" in r]


@pytest.fixture(scope="module")
def tail(tmp_path_factory):
    path = tmp_path_factory.mktemp("tail") / "tail"
    subprocess.run(["cc", "-g", "-D_GNU_SOURCE", "-O2", "-o", path, HERE / "crash_tail.c", "-pthread"], check=True)
    assert re.search(rb"<serve>:(?:(?!\n\n).)*jmp +[0-9a-f]+ <value_of>", subprocess.run(["objdump", "-d", path], check=True, capture_output=True).stdout,
                     re.DOTALL)
    return path


@pytest.mark.parametrize("mode", ["cause", "crowd"])
@pytest.mark.parametrize("way, caller, blamed", [(0, "serve", True), (1, "serve_twice", True), (2, "serve_default", False),
                                                 (3, "serve_other", False)])
def test_a_null_that_a_jump_passed_on_is_told(ada, tail, tmp_path, way, caller, blamed, mode):
    """serve calls look_up, and jumps to value_of with what it returned."""
    assert ada.trace(tmp_path, [tail, mode, str(way)]).status == 128 + 11
    headline = next(r for r in told(ada, Session(tmp_path).path) if r["window"] == 0)
    crash = headline["crash"]
    assert (crash["kind"], crash["function"]) == ("null" if blamed else "unknown", "value_of"), headline["text"]
    assert crash["culprit_path"] == (["main", caller, "look_up"] if blamed else None)
    argument = "its argument entry is null, as look_up had returned it"
    assert (argument in headline["text"]) == blamed and crash["argument"] == ("entry" if blamed else None)


@pytest.fixture(scope="module", params=[[], ["-fno-plt"], ["-fcf-protection=none"]], ids=["plt", "no-plt", "no-ibt"])
def linked(tmp_path_factory, request):
    directory = tmp_path_factory.mktemp("linked")
    source = HERE / "crash_linked.c"
    subprocess.run(["cc", "-g", "-O2", "-DLIBRARY", "-fPIC", "-shared", "-o", directory / "liblinked.so", source], check=True)
    subprocess.run(["cc", "-g", "-D_GNU_SOURCE", "-O2", *request.param, "-o", directory / "linked", source, "-pthread", directory / "liblinked.so",
                    f"-Wl,-rpath,{directory}"], check=True)
    code = subprocess.run(["objdump", "-d", directory / "linked"], check=True, capture_output=True).stdout
    jump = rb"jmp +\*0x[0-9a-f]+\(%rip\)" if request.param == ["-fno-plt"] else rb"jmp +[0-9a-f]+ <value_of@plt>"
    assert re.search(rb"<serve>:(?:(?!\n\n).)*" + jump, code, re.DOTALL), code
    return directory / "linked"


@pytest.mark.parametrize("way, caller, blamed", [(0, "serve", True), (1, "serve_or_check", True), (2, "serve_other", False)])
def test_a_null_that_a_jump_into_a_library_passed_on_is_told(ada, linked, tmp_path, way, caller, blamed):
    """The code doesn't say whose function the jump leads to: the null has to be in the register at each such jump."""
    assert ada.trace(tmp_path, [linked, "cause", str(way)], "--modules=liblinked.so").status == 128 + 11
    headline = next(r for r in told(ada, Session(tmp_path).path) if r["window"] == 0)
    crash = headline["crash"]
    assert (crash["kind"], crash["function"]) == ("null" if blamed else "unknown", "value_of"), headline["text"]
    assert crash["culprit_path"] == (["main", caller, "look_up"] if blamed else None)
    assert ("its argument entry is null, as look_up had returned it" in headline["text"]) == blamed


@pytest.fixture(scope="module", params=[0, 1, 2])
def bare(tmp_path_factory, request):
    path = tmp_path_factory.mktemp("bare") / "bare"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-Wno-use-after-free", f"-O{request.param}", "-fno-optimize-sibling-calls", "-o", path, HERE / "crash_bare.c",
                    "-pthread"], check=True)
    return path


@pytest.mark.parametrize("mode", ["cause", "crowd"])
@pytest.mark.parametrize("how, function", [("freed", "handle"), ("stale", "handle_wild"), ("anew", "handle"), ("before", "handle_and_close")])
def test_a_freed_block_is_told_without_debug_information(ada, bare, tmp_path, how, function, mode):
    """The code shows what it reads through which register; a register that holds a freed block, and isn't read, accuses nobody."""
    assert ada.trace(tmp_path, [bare, mode, how]).status == 128 + 11
    headline = next(r for r in told(ada, Session(tmp_path).path) if r["window"] == 0)
    crash = headline["crash"]
    assert (crash["kind"], crash["function"]) == ("freed" if how == "freed" else "unknown", function), headline["text"]
    assert crash["culprit_path"] == (["closer", "close_session", "free"] if how == "freed" else None)
    words = (r"its argument 2, 0x[0-9a-f]+, points to a block that thread \d+ had freed .* before, in closer > close_session > free\.$")
    assert bool(re.search(words, headline["text"])) == (how == "freed"), headline["text"]


TEXT = "3 is more than there is"
MADE = f', which was made with "{TEXT}"; what its what() says is not known.'
OWN = {
    "deep": ("Deep", "std::runtime_error", f", derived from std::runtime_error, what(): {TEXT}."),
    "both": ("Both", "std::logic_error", f", derived from std::logic_error, what(): {TEXT}."),
    "own": ("Own", "std::runtime_error", f", derived from std::runtime_error{MADE}"),
    "behind": ("Behind", None, "."),
    "texted": ("Texted", None, f', with a pointer to "{TEXT}".'),
    "plain": ("Plain", None, "."),
    "known": ("std::system_error", None, f", what(): {TEXT}"),
    "nested": ("std::_Nested_exception<Failure>", "std::runtime_error", f", derived from std::runtime_error, what(): {TEXT}."),
}


@pytest.fixture(scope="module", params=[[], ["-no-pie"], ["-O0"], ["-Wl,-z,pack-relative-relocs"]], ids=["pie", "fixed", "O0", "relr"])
def own(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "own"
    subprocess.run(["c++", "-std=c++17", "-g", "-O1", *request.param, "-o", path, HERE / "thrown_own.cc"], check=True)
    return path


@pytest.mark.parametrize("how", ["throws", "passes", "keeps"])
@pytest.mark.parametrize("which", OWN)
def test_exceptions_of_own_classes_are_told_as_far_as_they_are_known(ada, own, tmp_path, which, how):
    kind, base, text = OWN[which]
    assert ada.trace(tmp_path, [own, which, *([how] * (how != "throws"))]).status == 128 + 6
    headline = next(r for r in told(ada, Session(tmp_path).path) if r["window"] == 0)
    assert "crash" in headline, rows[:12]
    crash = headline["crash"]
    assert crash["kind"] == "exception"
    if how == "throws" or how == "passes" and which == "plain":        # which pass_on doesn't catch
        thrower = r"(check|std::throw_with_nested.*) threw an exception that nobody caught"      # the library's is inlined, or not
    else:
        thrower = rf"{how[:-1].replace('passe', 'pass_on')} rethrew an exception that nobody caught, which thread 0 threw \d\S* \ws before, in main > .*"
    assert re.search(rf"^{thrower}: {re.escape(kind + text[:-1])}", headline["text"]), headline["text"]
    assert (crash["type"], crash["base"]) == (kind, base) and crash["text"] in (TEXT, f"{TEXT}: Connection timed out", None)
    nested = "; nested in it: std::out_of_range, what(): inner."
    assert headline["text"].endswith(nested) == (which == "nested")
    assert (crash["nested_type"], crash["nested_text"]) == (("std::out_of_range", "inner") if which == "nested" else (None, None))


KEPT = {
    "again": r"^again rethrew an exception that nobody caught, which thread 0 threw .* before, in main > again > keep > check: Deep, derived from "
             rf"std::runtime_error, what\(\): {TEXT}\.$",
    "elsewhere": r"^\S+ rethrew an exception that nobody caught, which thread 1 threw .* before, in .*check: Deep, derived from "
                 rf"std::runtime_error, what\(\): {TEXT}\.$",
    "replaces": r"^replaces rethrew an exception that nobody caught, which thread 0 threw .* before, in main > replaces( > [^:]*(::[^:]*)*)?: "
                r"std::out_of_range, what\(\): vector::_M_range_check: ",
    "makes": r"^makes rethrew an exception that nobody caught, which thread 0 made .* before, in main > makes( > \S+)?: Failure, derived from "
             r"std::runtime_error\.$",
}


@pytest.mark.parametrize("how", KEPT)
def test_exceptions_that_were_kept_are_followed_to_their_throw(ada, own, tmp_path, how):
    """Over threads, several times, and not to what was thrown before at the same address."""
    assert ada.trace(tmp_path, [own, "deep", how]).status == 128 + 6
    headline = next(r for r in told(ada, Session(tmp_path).path) if r["window"] == 0)
    assert re.search(KEPT[how], headline["text"]), headline["text"]


def test_own_classes_of_a_stripped_program(ada, tmp_path):
    """Whether what() is another is not known there."""
    own = tmp_path / "own"
    subprocess.run(["c++", "-std=c++17", "-O1", "-s", "-o", own, HERE / "thrown_own.cc"], check=True)
    assert ada.trace(tmp_path / "out", [own, "deep"]).status == 128 + 6
    headline = next(r for r in told(ada, Session(tmp_path / "out").path) if r["window"] == 0)
    assert f"Deep, derived from std::runtime_error{MADE}" in headline["text"]


def test_frames_and_registers_are_told(ada, record):
    """Arguments and the line of each frame, as a debugger has them."""
    rows = told(ada, record("null", "cause", 0))
    lines = {key: i for i, line in enumerate((HERE / "crash_null.c").read_text().splitlines(), 1)
             for key in ("return entry->value", "value_of(look_up", "caused ?") if key in line}
    frames = next(r for r in rows if r["kind"] == "crash-frames")
    assert frames["text"].startswith(
        f'The frames, innermost first: #0 value_of(entry=NULL) at crash_null.c:{lines["return entry->value"]}; '
        f'#1 serve(key="three") at crash_null.c:{lines["value_of(look_up"]}; #2 main(argc=2, argv=0x')
    assert frames["text"].endswith(f'at crash_null.c:{lines["caused ?"]}.') and len(frames["evidence"]) == 3
    registers = next(r for r in rows if r["kind"] == "crash-registers")
    names = re.findall(r"(\w+)=0x[0-9a-f]+", registers["text"])
    assert len(names) == 18 and {"rax", "rsp", "rip", "rflags"} <= set(names)


@pytest.mark.parametrize("mode", ["cause", "innocent"])
def test_the_address_of_an_instruction_is_the_programs(ada, record, mode):
    """The function runs as a copy of ada's: what crashed is told to be where the file has it."""
    session = record("division", mode)
    crash = next(r for r in told(ada, session) if "crash" in r)["crash"]
    manifest = json.loads(next(session.glob("*/manifest.json")).read_text())
    assert crash["address"] == manifest["crash"]["faultAddress"] == manifest["crash"]["registers"]["rip"]
    assert f"at address {crash['address']}" in ada("narrate", session).stdout.decode()


@pytest.mark.parametrize("name, text", [("assert", r"^main called abort, and crashed with SIGABRT\.$"),
                                        ("double", r"^log_out > close_session called free, which crashed with SIGABRT\.$")])
def test_a_librarys_function_is_told_with_who_called_it(ada, record, name, text):
    """And a signal that was sent has no address."""
    headline = next(r for r in told(ada, record(name, "innocent")) if r["window"] == 0)
    assert re.search(text, headline["text"]), headline["text"]
    assert headline["crash"]["address"] is None


def test_long_arguments_do_not_widen_the_story(ada, tmp_path):
    (tmp_path / "long.c").write_text("""#include <stdlib.h>
__attribute__((noinline)) void give_up(const char *text, int number) { if (number) abort(); __asm__ volatile("" : : "r"(text)); }
int main(int argc, char **argv) { give_up("%s", argc); }
""" % ("\\x01" * 200))
    subprocess.run(["cc", "-g", "-o", tmp_path / "long", tmp_path / "long.c"], check=True)
    assert ada.trace(tmp_path / "session", [tmp_path / "long"]).status != 0
    story = ada("narrate", Session(tmp_path / "session").path, env={"COLUMNS": "120"}).stdout.decode()
    assert max(map(len, story.splitlines())) <= 120 and re.search(r'give_up\(text="(\\x01)+"\.\.\.,\s+number=1\)', story)


def test_a_crash_without_a_window_is_told_alike(ada, programs, tmp_path):
    assert ada.trace(tmp_path, [programs / "overflow1", "cause"], "--detail=off").status != 0
    rows = told(ada, Session(tmp_path).path)
    cause = next(r for r in rows if "crash" in r)
    assert cause["section"].startswith("Crash of ") and cause["kind"] == "crash-cause" and cause["window"] is None
    assert cause["crash"]["kind"] == "overflow" and cause["crash"]["depth"] > 10000 and cause["crash"]["stack_bytes"] is None
    assert re.search(r"walk used up the stack of thread 0: it was in itself [\d,]+ times, when SIGSEGV ended the process\.", cause["text"])
    assert not [r for r in rows if r["kind"] == "headline"]


@pytest.mark.parametrize("level", "02")
@pytest.mark.parametrize("path", [["fail", "__cxa_throw"], ["give_up", "abort"], ["trap"], ["check", "__cxa_throw"], ["through", "check", "__cxa_throw"]],
                         ids=lambda path: path[0])
def test_each_open_call_has_the_line_that_a_debugger_shows(ada, tmp_path, path, level):
    """The last call of a function that never returns; code that is kept apart from its function; a call within inlined code."""
    source = (HERE / "ended.cc").read_text().splitlines()
    lines = {line.split("// MARK ")[1]: i for i, line in enumerate(source, 1) if "// MARK " in line}
    subprocess.run(["c++", "-g", f"-O{level}", "-fno-optimize-sibling-calls", "-o", tmp_path / "ended", HERE / "ended.cc"], check=True)
    assert ada.trace(tmp_path / "session", [tmp_path / "ended", path[0][0] if path[0] != "through" else "i"]).status != 0
    rows = told(ada, Session(tmp_path / "session").path)
    frames = next(r for r in rows if r["kind"] == "crash-frames")["text"]
    called = next(r for r in rows if r["kind"] == "open-frames")["text"]
    for name, key in [("main", f"main-{path[0]}"), (path[0], path[0]), ("check", "check")]:
        if name in ("main", *path):
            assert re.search(rf"#\d {name}\([^;]*?\) at ended\.cc:{lines[key]}\b", frames), (name, frames)
            assert f"{name} (ended.cc:{lines[key]})" in called
    assert len(re.findall("#", frames)) == len(path) + 1
    inlined = f", in inlined ask (ended.cc:{lines['ask']})"
    assert (inlined in frames) == (path[0] == "through"), frames


STRAYED = {
    "found": ("null", "look_up", r"^run_found crashed with SIGSEGV at address 0x0: it called a null pointer that look_up had returned .* before, "
                                 r"in main > run_found > look_up\.$"),
    "given": ("null", "look_up", r"^run_given crashed with SIGSEGV at address 0x0: its argument given is null, as look_up had returned it .* before, "
                                 r"in main > look_up\.$"),
    "unset": ("jump", None, r"^run_unset crashed with SIGSEGV at address 0x0: it called a function through a null pointer\.$"),
    "garbage": ("jump", None, r"^run_at crashed with SIGSEGV at address 0x12345678: it called a function through a pointer that holds 0x12345678, "
                              r"where no code is\.$"),
    "long": ("jump", None, r"^run_at crashed with SIGSEGV.*: it called a function through a pointer that holds 0x4141414141414141, where no code is\.$"),
    "data": ("jump", None, r"^run_at crashed with SIGSEGV at address (0x[0-9a-f]+): it called a function through a pointer that holds \1, where no code is\.$"),
    "return": ("smashed-stack", None, r"^smash crashed with SIGSEGV.*: its return address was overwritten, with 0x4141414141414141\.$"),
    "guard": ("smashed-stack", None, r"^The stack frame of guard was written over: its guard had changed when it was to return; SIGABRT ended the process\.$"),
    "constant": ("read-only", None, r"^put crashed with SIGSEGV at address 0x[0-9a-f]+: it wrote to read-only data of strayed \(limits\)\.$"),
    "relocated": ("read-only", None, r"^put_word crashed with SIGSEGV at address 0x[0-9a-f]+: it wrote to read-only data of strayed \(words\)\.$"),
    "literal": ("read-only", None, r'^main > put_text called strcpy, which crashed with SIGSEGV at address 0x[0-9a-f]+: it wrote to read-only data '
                                   r'of strayed \("a literal"\)\.$'),
    "unmapped": ("freed", "munmap", r"^put crashed with SIGSEGV at address 0x[0-9a-f]+0a0: thread 0 had unmapped what was there .* before, "
                                    r"in main > let_go > munmap\.$"),
    "remapped": ("unknown", None, r"^put crashed with SIGSEGV at address 0x[0-9a-f]+000\.$"),
    "page": ("unknown", None, r"^put crashed with SIGSEGV at address 0x[0-9a-f]+\.$"),
    "read": ("unknown", None, r"^put crashed with SIGSEGV at address 0x12345678\.$"),
    "word": ("unknown", None, r"^put crashed with SIGSEGV; the kernel does not say at which address, as where a pointer holds a value that is no address\.$"),
}


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def strayed(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("strayed") / "strayed"
    subprocess.run(["cc", "-g", request.param, "-U_FORTIFY_SOURCE", "-fstack-protector-strong", "-fno-optimize-sibling-calls", "-fno-builtin-strcpy",
                    "-fcf-protection=none", "-o", path, HERE / "strayed.c"], check=True)
    return path


@pytest.mark.parametrize("how", STRAYED)
def test_calls_to_no_code_smashed_stacks_and_writes_to_constants(ada, strayed, tmp_path, how):
    kind, culprit, text = STRAYED[how]
    assert ada.trace(tmp_path, [strayed, how]).status != 0
    rows = told(ada, Session(tmp_path).path)
    headline = next(r for r in rows if r["window"] == 0)
    assert re.search(text, headline["text"]), headline["text"]
    assert (headline["crash"]["kind"], headline["crash"]["culprit_function"]) == (kind, culprit)
    lines = {line.split("/* MARK ")[1].split()[0]: i for i, line in enumerate((HERE / "strayed.c").read_text().splitlines(), 1) if "/* MARK " in line}
    place = lines.get({"constant": "put", "page": "put", "unmapped": "put", "remapped": "put", "read": "put", "garbage": "at", "data": "at", "long": "at"}.get(how, how))
    frames = next(r for r in rows if r["kind"] == "crash-frames")["text"]
    assert place is None or re.search(rf"#0 \w+\([^;]*\) at strayed\.c:{place}[;,]", frames), frames


@pytest.mark.parametrize("name", ["freed", "overflow"])
def test_text_leaves_out_whole_sentences_alone(ada, record, name):
    """What it leaves out isn't found out at all, as it takes reading the whole recording: what it tells is the same."""
    session = record(name, "crowd")
    text = " ".join(ada("narrate", session).stdout.decode().split())
    kinds = {"session", "process", "lost", "waited", "headline", "crash", "crash-address", "crash-cause", "crash-frames", "open-frames", "last-calls"}
    rows = told(ada, session)
    assert {"thread", "window"} <= {r["kind"] for r in rows} - kinds
    assert [r["kind"] for r in rows if r["kind"] in kinds and r["text"] not in text] == []
    assert [r["kind"] for r in rows if r["kind"] not in kinds | {"cause"} and r["text"] in text] == []
