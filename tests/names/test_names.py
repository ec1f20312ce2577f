"""Every form of a name, in every option that takes names: what is shown can be asked for."""
import json
import pathlib
import re
import subprocess

import pytest
from harness import Session, check_recording

pytestmark = pytest.mark.traces
SOURCE = pathlib.Path(__file__).with_name("names.cc")
# Mangled name: what people may call it. PLACE and ADDRESS stand for where it is.
FORMS = {
    "plain": ["plain", "'plain'", "pl?in", "[p]lain", "re:^plain$", "PLACE", "ADDRESS"],
    "outer.isra.0": ["outer.isra.0", "outer", "out?r", "re:^outer$", "outer.*", "re:/isra/", "PLACE", "ADDRESS"],
    "_ZN2ns4workEi.constprop.0": ["ns::work(int) [clone .constprop.0]", "ns::work(int)", "ns::work", "_ZN2ns4workEi", "ns::w*", "*[clone *",
                                  "_ZN2ns4workEi.constprop.0", "re:work", "PLACE"],
    "_ZN2ns6taggedB5cxx11Ei": ["ns::tagged[abi:cxx11](int)", "ns::tagged[abi:cxx11]", "ns::tagged", "*[abi:cxx11]*", "_ZN2ns6taggedB5cxx11Ei",
                               "re:abi:cxx11", "ns::t*"],
    "_ZN2ns4pairIicEEvT_T0_": ["ns::pair<int, char>", "void ns::pair<int, char>(int, char)", "ns::pair<..>", "*pair<*", "re:/pair<int, char>/",
                               "_ZN2ns4pairIicEEvT_T0_"],
    "_ZNK2ns3boxixEi": ["ns::box::operator[](int) const", "ns::box::operator[]", "ns::box::operator[*", "'ns::box::operator[]'", "PLACE"],
    "_ZNK2ns3boxltEi": ["ns::box::operator<(int) const", "ns::box::operator<", "'ns::box::operator<'", "re:/operator</"],
}
CASES = [(mangled, form) for mangled, forms in FORMS.items() for form in forms]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("names") / "named"
    subprocess.run(["g++", "-O1", "-g", "-o", path, SOURCE], check=True)
    return path


@pytest.fixture(scope="module")
def addresses(program):
    lines = subprocess.run(["nm", program], capture_output=True, check=True, text=True).stdout.splitlines()
    found = {name: int(address, 16) for address, _, name in (line.split(maxsplit=2) for line in lines if line[0] != " ")}
    assert set(FORMS) <= set(found)
    return found


@pytest.fixture
def spelled(addresses):
    def spell(mangled, form):
        return {"PLACE": f"named+{addresses[mangled]:#x}", "ADDRESS": f"{addresses[mangled]:#x}"}.get(form, form)
    return spell


def record(ada, program, out, *options):
    result = ada.trace(out, [program], *options)
    assert result.status == 0
    return Session(out).path, result.stderr.decode()


@pytest.fixture(scope="module")
def recorded(ada, program, tmp_path_factory):
    out = tmp_path_factory.mktemp("recorded") / "out"
    assert ada.trace(out, [program], "--trigger=symbol=plain").status == 0
    return check_recording(ada, out).path


def rows(ada, path, statement):
    result = ada("query", "--format=json", path, statement)
    assert result.status == 0, result.stderr.decode()
    return json.loads(result.stdout)["rows"]


@pytest.fixture(scope="module")
def shown(ada, recorded):
    """What answers call each of the functions."""
    names = {row["mangled"]: row["name"] for row in rows(ada, recorded, "SELECT mangled, name FROM functions")}
    return {mangled: names[mangled] for mangled in FORMS}


def called(ada, path, shown):
    """Which of them a recording has calls of."""
    names = {row["function"] for row in rows(ada, path, "SELECT DISTINCT function FROM calls")}
    return {mangled for mangled, name in shown.items() if name in names}


def events(ada, path, *options):
    result = ada("dump", "--format=json", *options, path)
    assert result.status == 0, result.stderr.decode()
    return {row["function"] for row in map(json.loads, result.stdout.splitlines()) if row.get("function")}


@pytest.mark.parametrize("mangled, form", CASES)
def test_answers(ada, recorded, shown, spelled, mangled, form):
    name, word = shown[mangled], spelled(mangled, form)
    assert events(ada, recorded, f"--function={word}") == {name}
    assert events(ada, recorded) - events(ada, recorded, f"--exclude={word}") == {name}
    listed = json.loads(ada("report", "--format=json", f"--function={word}", recorded).stdout)["rows"]
    assert [row["function"] for row in listed] == [name]
    tree = ada("graph", f"--function={word}", recorded)
    assert tree.status == 0 and b"No function" not in tree.stdout
    quoted = word.replace("'", "''")
    assert [row["caller"] for row in rows(ada, recorded, f"SELECT function AS caller FROM callers('{quoted}')")] == ["main"]
    if not form.startswith(("re:", "'")):
        judged = ada("trigger", "test", "--format=json", recorded, f"symbol={word}")
        assert judged.status == 0 and f'"{name}"' in judged.stdout.decode(), judged.stdout.decode()


@pytest.mark.parametrize("mangled, form", CASES)
def test_recordings(ada, program, tmp_path, shown, spelled, mangled, form):
    """What is asked for, marked and left out, and nothing else of them."""
    word = spelled(mangled, form)
    path, said = record(ada, program, tmp_path / "only", f"--functions={word}", f"--trigger=symbol={word}", "--no-libcalls")
    assert called(ada, path, shown) == {mangled} and "called" not in said
    marked = rows(ada, path, "SELECT c.function FROM marks m JOIN calls c USING (thread, index_seq)")
    assert [row["function"] for row in marked] == [shown[mangled]]
    path, said = record(ada, program, tmp_path / "without", f"--exclude={word}", "--no-libcalls")
    assert called(ada, path, shown) == set(FORMS) - {mangled} and "called" not in said


@pytest.mark.parametrize("word, meant", [
    ("tagged", "ns::tagged"),               # without its namespace, as people say it
    ("tagd", None),                         # two slips of four letters
    ("pair", "ns::pair<..>"),
    ("ns::pair<long>", "ns::pair<..>"),
    ("bx::operator[]", "ns::box::operator[]")])
def test_a_name_without_its_namespaces_is_near(ada, program, recorded, tmp_path, word, meant):
    near = f"; near it: {meant}" if meant else ""
    _, said = record(ada, program, tmp_path / "out", f"--trigger=symbol='{word}'", "--functions=main")
    assert f"no function is called {word}{near}: it may be loaded later" in said
    near = f" (near it: {meant})" if meant else ""
    assert f"No function of the recording is called '{word}'{near}: " in ada("dump", f"--function='{word}'", recorded).stdout.decode()
    _, said = record(ada, program, tmp_path / "functions", f"--functions=main,'{word}'")
    assert f"--functions: no function is called {word}{'; ' * bool(meant)}{near[2:-1]}\n" in said


def test_lists(ada, program, recorded, tmp_path, shown):
    words = "plain,ns::pair<int, char>,re:/^outer$/,'ns::box::operator<',ns::t*"
    meant = {"plain", "outer.isra.0", "_ZN2ns6taggedB5cxx11Ei", "_ZN2ns4pairIicEEvT_T0_", "_ZNK2ns3boxltEi"}
    assert events(ada, recorded, f"--function={words}") == {shown[mangled] for mangled in meant}
    path, _ = record(ada, program, tmp_path / "out", f"--functions={words}", "--no-libcalls")
    assert called(ada, path, shown) == meant


def test_a_clone_has_other_arguments(ada, program, tmp_path, shown):
    """What reads them means it only by its own name, and says so; what drops them drops all."""
    path, said = record(ada, program, tmp_path / "function", "--trigger=arg=outer:2>5", "--capture=outer:1=str")
    assert not rows(ada, path, "SELECT * FROM windows")
    assert sorted(re.findall(r"no function is called (\S+); near it: (\S+?)(?=:|\n)", said)) == [("outer", "outer.isra.0")] * 2, said
    path, said = record(ada, program, tmp_path / "clone", "--trigger=arg=outer.isra.0:2>5", "--capture=outer.isra.0:1=str")
    kept = rows(ada, path, "SELECT function, captured, rsi FROM detail WHERE kind = 'call' AND function LIKE 'outer%'")
    assert [(row["function"], json.loads(row["captured"])[0]["text"], row["rsi"]) for row in kept] == [("outer.isra.0", "a", 7)]
    assert "called" not in said
    path, said = record(ada, program, tmp_path / "dropped", "--trigger=symbol=outer", "--redact=outer:2", "--capture=outer.isra.0:1=str")
    kept = rows(ada, path, "SELECT captured, rdi, rsi, r9, rax FROM detail WHERE kind = 'call' AND function LIKE 'outer%'")
    assert [(row["captured"], row["rdi"], row["rsi"], row["r9"]) for row in kept] == [(None, None, None, None)]


def test_modules(ada, program, recorded, tmp_path):
    own = events(ada, recorded, "--module=named")
    assert "main" in own and own < events(ada, recorded)
    for words in (str(program), "n?med", "re:/named$/", "libx,named"):
        assert events(ada, recorded, f"--module={words}") == own
    _, said = record(ada, program, tmp_path / "out", "--modules=libc.so.6,libv.so.6,libn*,libzzzzzz.so", "--functions=main")
    assert [line for line in said.splitlines() if "--modules" in line] == [
        "ada: --modules: no library is called libv.so.6; near it: libc.so.6", "ada: --modules: no library is called libn*",
        "ada: --modules: no library is called libzzzzzz.so"]


@pytest.mark.parametrize("option, line", [
    ("--function=plian", "No function of the recording is called 'plian' (near it: plain): "),
    ("--exclude=ns::tagge", "No function of the recording is called 'ns::tagge' (near it: ns::tagged): "),
    ("--module=nmed", "No program or library of the recording is called 'nmed' (near it: named): "),
    ("--module=libc", "No program or library of the recording is called 'libc' (near it: libc.so.6): "),
    ("--module=x*", "No program or library of the recording is called 'x*': ")])
@pytest.mark.parametrize("calls", [[], ["--calls"]])
def test_what_fits_nothing_is_told(ada, recorded, option, line, calls):
    told = ada("dump", *calls, option, recorded).stdout.decode().splitlines()
    assert [each for each in told if each.startswith("No ")] and told[-2].startswith(line), told[-3:]


LONG = r"""
#include <map>
#include <string>
template <class T> __attribute__((noinline)) int hold(const T &held) { return static_cast<int>(held.size()) + 1; }
int main()
{
    using Inner = std::map<std::string, std::map<std::string, std::string>>;
    return hold(std::map<std::string, std::map<Inner, Inner>>()) - 1;
}
"""


def test_long_names_are_short_in_tables(ada, tmp_path):
    """In text, where they are longer than a line; not elsewhere, and not where they are asked for. What is shown is taken."""
    (tmp_path / "long.cc").write_text(LONG)
    subprocess.run(["g++", "-O1", "-g", "-o", tmp_path / "long", tmp_path / "long.cc"], check=True)
    path, _ = record(ada, tmp_path / "long", tmp_path / "out", "--trigger=symbol=hold<..>")
    full, = (row["name"] for row in rows(ada, path, "SELECT name FROM functions WHERE name LIKE 'hold<%' OR name LIKE 'int hold<%'"))
    assert len(full) > 500
    for words in ("report", "--limit=1000"), ("report", f"--diff={path}"), ("top", "--once"), ("windows",):
        text = ada(*words, path).stdout.decode()
        assert "hold<..>" in text and max(map(len, text.splitlines())) < 500, words
    assert full in ada("report", "--full-names", path).stdout.decode() and full in ada("report", "--format=json", path).stdout.decode()
    assert json.loads(ada("report", "--format=json", "--function=hold<..>", path).stdout)["rows"][0]["function"] == full


SHORT_LIVED = """
#include <pthread.h>
void named(void) { __asm__ volatile(""); }
static void *run(void *name) { named(); pthread_setname_np(pthread_self(), name); return NULL; }
int main(void)
{
	static char names[8][16] = { "worker 0", "worker 1", "worker 2", "worker 3", "worker 4", "worker 5", "worker 6", "worker 7" };
	pthread_t thread;

	for (int i = 0; i < 8; i++)
		if (pthread_create(&thread, NULL, run, names[i]) || pthread_join(thread, NULL))
			return 1;
	return 0;
}
"""


def test_threads_that_end_at_once_have_the_names_that_they_gave_themselves(ada, tmp_path):
    """Each is over before the recorder looks again, and its first event came before its name."""
    program = tmp_path / "short"
    subprocess.run(["gcc", "-O0", "-D_GNU_SOURCE", "-x", "c", "-o", program, "-", "-pthread"], input=SHORT_LIVED, text=True, check=True)
    assert ada.trace(tmp_path / "out", [program]).status == 0
    path = check_recording(ada, tmp_path / "out").path
    assert [row["name"] for row in rows(ada, path, "SELECT name FROM threads ORDER BY thread")][1:] == [f"worker {i}" for i in range(8)]
