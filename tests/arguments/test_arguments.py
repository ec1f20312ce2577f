"""Arguments, results and source lines as `ada dump` says them, of programs that pass values known beforehand."""
import csv
import io
import json
import pathlib
import re
import shutil
import subprocess

import pytest

from harness import CALL, RETURN, Session, check_recording
from recording import Process

HERE = pathlib.Path(__file__).resolve().parent
POINTER = "a pointer"
UNKNOWN = "(not known)"
NOT_DECODED = "(not decoded)"
R = "rrrr"

# Function: its arguments, its result.
C = {
    "integers": ({"a": "-5", "b": "250", "c": "-300", "d": "65535", "e": "-70000", "f": "4000000000"}, "-294971816"),
    "longs": ({"a": "-1", "b": "18446744073709551615", "c": "1099511627776", "d": "-9223372036854775808"}, "1"),
    "truth": ({"yes": "true", "no": "false"}, "true"),
    "characters": ({"a": "'x'", "b": r"'\n'", "c": r"'\0'", "d": "-1"}, "'x'"),
    "colours": ({"a": "RED (2)", "b": "BLUE (200)", "c": "9"}, "BLUE (200)"),
    "signs": ({"a": "MINUS (-1)", "b": "PLUS (1)"}, "MINUS (-1)"),
    "flagged": ({"a": "F_READ|F_APPEND (5)", "b": "F_WRITE|0x20 (34)", "c": "0"}, "F_SYNC (16)"),
    "reals": ({"a": "1.5", "b": "-0.1", "between": "7", "c": "1e+300"}, "1e+300"),
    "narrow": ({"a": "0.1"}, "0.1"),
    "pointers": ({"a": "NULL", "b": POINTER, "c": POINTER, "d": POINTER, "e": POINTER}, "NULL"),
    "texts": ({"on_stack": r'"on the \"stack\"\n"', "constant": '"a constant"', "heap": POINTER + " (not captured)",
               "none": "NULL"}, '"a constant"'),
    "stacked": ({"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": "6", "g": "-7", "h": '"eighth"', "i": "9.5", "j": "10"},
                "-7"),
    "by_value": ({"a": "{x=3, y=-4}", "b": "{real=2.5, whole=-9}", "c": "{a=1, b=2, c=3}", "d": "{a=[11, 12, 13, 14, 15]}",
                  "e": "16"}, "{x=3, y=-4}"),
    "local": ({"a": "29", "unused_here": "30", "p": POINTER}, "32"),
    "mixed": ({"a": "0.25"}, "{real=0.25, whole=7}"),
    "hidden": ({"a": "17", "b": '"behind the place for the result"'}, "{a=[17, 0, 0, 0, 0]}"),
    "wide": ({"a": "-18446744073709551616", "b": "1267650600228229401496703205376", "c": "18"}, "-18446744073709551616"),
    "extended": ({"a": "1.25", "b": "19"}, "(not captured)"),
    "fields": ({"a": "{a=5, b=-7, c=549755813889, d=true, e=BLUE (200)}", "b": "20"},
               "{a=5, b=-7, c=549755813889, d=true, e=BLUE (200)}"),
    "tagged": ({"a": '{name="name", kind=-20}'}, '{name="name", kind=-20}'),
    "either": ({"a": "{number=21, real=2.94273e-44}"}, "{number=21, real=2.94273e-44}"),
    "unions": ({"a": "{text=0x70006 (not captured), number=458758, {low=6, high=7}}", "b": "{text=NULL, number=0, {low=0, high=0}}",
                "c": "{kind=1, {whole=3, real=4.2039e-45}}", "d": "0x123"}, "{kind=1, {whole=3, real=4.2039e-45}}"),
    "complexes": ({"a": NOT_DECODED, "b": "22.5"}, NOT_DECODED),
    "variadic": ({"format": '"%d %s"', "first": "23"}, "23"),
    "nothing": ({}, None),
    "unnamed": ({"a": "24", "b": "25"}, "25"),
    "unused": ({"a": "26", "b": "27", "c": "28"}, "28"),
}
TYPES = {
    "integers": ["int8_t", "uint8_t", "short int", "small", "int", "unsigned int"],
    "colours": ["enum colour"] * 3,
    "pointers": ["void *", "struct point *", "const int *", "callback", "struct point **"],
    "texts": ["const char *"] * 4,
    "by_value": ["struct point", "struct mixed", "struct reals", "struct big", "int"],
    "reals": ["float", "double", "int", "double"],
}
CXX = {
    "shapes::references": ({"a": POINTER, "b": POINTER, "c": POINTER}, "15"),
    "shapes::summed": ({"a": "{x=1, y=2}", "b": "{x=16, y=17}"}, "{x=17, y=19}"),
    "shapes::viewed": ({"view": '"viewed"', "after": "10"}, "10"),
    "shapes::painted": ({"a": "green (7)", "": "{}", "b": "11"}, "green (7)"),
    "shapes::owned": ({"a": "{x=12}", "b": "{x=13}", "c": "14"}, "39"),
    "shapes::made": ({"x": "15"}, "{x=15}"),
    "shapes::same<double>": ({"value": "18.5"}, "18.5"),
    "shapes::same<unsigned char>": ({"value": "200"}, "200"),
    "shapes::listed": ({"all": POINTER, "none": "NULL"}, "3"),
    "shapes::Counter::add": ({"this": POINTER, "by": "19", "": '"why"'}, "19"),
    "shapes::Counter::twice": ({"what": "20"}, "40"),
    "shapes::Square::area": ({"this": POINTER, "scale": "1"}, "9"),
    "shapes::thrower": ({"what": "21"}, None),
    "shapes::letters": ({"a": "'é'", "b": "'😀'", "c": "119"}, "true"),
}
RUST = {
    "values::integers": ({"a": "-1", "b": "2", "c": "-3", "d": "4", "e": "-5"}, "-6"),
    "values::texts": ({"a": '"first text"', "number": "7", "b": '"second"'}, "7"),
    "values::reals": ({"a": "1.5", "b": "-2.25"}, "-2.25"),
    "values::others": ({"yes": "true", "letter": "'é'", "colour": "Green (7)"}, "true"),
    "values::points": ({"a": "{x=8, y=-9}", "after": "10"}, "{x=8, y=-9}"),
    "values::metres": ({"a": "{0.5}", "after": "11"}, "11"),
    "values::large": ({"a": "{a=[1, 1, 1, 1, 1]}", "after": "12"}, "12"),
    "values::made": ({"x": "13"}, "{a=[13, 13, 13, 13, 13]}"),
    "values::references": ({"a": POINTER, "b": POINTER, "c": "0x0"}, "15"),
    "values::array": ({"a": "[7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7]", "after": "17"}, "[7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7]"),
    "values::three": ({"after": "18"}, "{1, 2, 18}"),
    "values::Point::scaled": ({"self": POINTER, "by": "2"}, "50"),
}


@pytest.fixture(scope="session")
def compiled(build_dir):
    """compiled(NAME, COMMAND..., SOURCE): the program, made once."""
    out = build_dir / "arguments"
    out.mkdir(exist_ok=True)
    made = {}

    def make(name, *command):
        if name not in made:
            made[name] = out / name
            subprocess.run([*command, "-o", made[name]], check=True, cwd=out, capture_output=True)
        return made[name]
    return make


@pytest.fixture(scope="session")
def plain(compiled):
    return compiled("plain", "gcc", "-O0", "-g", "-w", HERE / "values.c")


def record(ada, program, output, *options):
    result = ada.trace(output, [program], "--trigger=symbol=mark", "--post-roll-events=100000", "--stack-bytes=256",
                       "--on-full=block", *options)
    assert result.status == 0, result.stderr.decode()
    return check_recording(ada, output).path


def dump(ada, session, *options):
    result = ada("dump", "--detail", "--format=json", *options, session)
    assert result.status == 0, result.stderr.decode()
    return [json.loads(line) for line in result.stdout.splitlines()][:-1]


def bare(function):
    """Without return type, parameters and what optimisation made of it."""
    name = re.sub(r"( \[clone .*|\.(isra|constprop|part).*)$", "", function)
    name = name.removesuffix(" const")
    depth, end = 0, len(name)
    if name.endswith(")"):
        for at in range(len(name) - 1, -1, -1):
            depth += (name[at] == ")") - (name[at] == "(")
            if not depth:
                end = at
                break
    return re.sub(r"^(double|unsigned char) (?=shapes)", "", name[:end])


def is_clone(function):
    return re.search(r"\.(isra|constprop|part)\.", function) is not None


def calls(rows):
    """{function: (its row of the call, of the return)} of the first call of each that has detail."""
    found, open_calls = {}, []
    for row in rows:
        if row["kind"] == "call":
            open_calls.append(row)
        elif row["kind"] in ("return", "exception"):
            call = open_calls.pop()
            if call["detail"]:
                found.setdefault(bare(call["function"]), (call, row))
    return found


def fits(expected, text):
    if expected.startswith(POINTER):
        return re.fullmatch("0x[0-9a-f]+" + re.escape(expected.removeprefix(POINTER)), text) is not None
    return expected == text


def check(found, expected, sure=True):
    """Each value is as expected; not sure: or not known, and never another one. Returns how many were known."""
    known = 0
    for function, (arguments, result) in expected.items():
        call, back = found[function]
        here = sure and not is_clone(call["function"])
        args = call["detail"]["args"]
        assert args is not None and call["detail"]["result"] is None, call
        assert [a["name"] for a in args] == list(arguments), function
        values = [*zip(arguments.values(), args)]
        if back["kind"] == "return":
            got = back["detail"]["result"]
            assert back["detail"]["args"] is None
            if result is None or not got:
                assert not got and (result is None or is_clone(call["function"])), f"{function}: {got}"
            else:
                assert got["name"] == "result"
                values.append((result, got))
        for value, argument in values:
            text = argument["text"]
            outside = not here and (text == UNKNOWN or text.endswith("(not captured)") or fits(POINTER, text))
            assert fits(value, text) or outside, f"{function}: {argument['name']} is {text}, not {value}"
            assert argument["captured"] == (not text.endswith("(not captured)") and text != UNKNOWN), argument
            known += fits(value, text) and value != UNKNOWN
    return known


@pytest.mark.parametrize("name, command, sure, least", [
    ("gcc-O0", ["gcc", "-O0", "-g"], True, 0),
    ("gcc-O2", ["gcc", "-O2", "-g"], True, 0),
    ("gcc-dwarf-4", ["gcc", "-O0", "-gdwarf-4", "-no-pie"], True, 0),
    ("gcc-split", ["gcc", "-O0", "-g", "-gsplit-dwarf"], True, 0),
    ("gcc-lto", ["gcc", "-O2", "-g", "-flto", "-DF=__attribute__((noipa))"], True, 0),
    ("gcc-type-units", ["gcc", "-O1", "-g", "-fdebug-types-section"], True, 0),
    ("clang-O0", ["clang", "-O0", "-g"], True, 0),
    ("clang-O2", ["clang", "-O2", "-g"], False, 40),
    ("clang-dwarf-4", ["clang", "-O1", "-gdwarf-4"], False, 40),
])
def test_c(ada, compiled, tmp_path, name, command, sure, least):
    program = compiled(name, *command, "-w", HERE / "values.c")
    found = calls(dump(ada, record(ada, program, tmp_path)))
    assert check(found, C, sure) >= least


ASSIGNED = {
    **{name: {"a": "41", "b": "43"} for name in ("copied", "copied_back", "constant", "counted", "swapped", "own_copied", "own_swapped",
                                                 "real_unread")},
    **{name: {"a": "41", "b": "42", "c": "43"} for name in ("own_unread", "unread")},
    "half": {"a": "{x=41, y=42}", "c": "43"}, "halves": {"a": "{a=41, b=42}", "c": "43"}, "own_halves": {"a": "{a=41, b=42}", "c": "43"},
}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3", "-Os"])
def test_parameters_that_are_assigned_or_not_read(ada, compiled, tmp_path, compiler, level):
    """What a function does with its parameters first looks in debug information as if it were handed over."""
    program = compiled("assigned-" + compiler + level, compiler, level, "-g", "-w", "-falign-functions=32", HERE / "assigned.c")
    found = calls(dump(ada, record(ada, program, tmp_path)))
    known = 0
    for function in ASSIGNED.keys() & found.keys():      # GCC makes one of two that are the same
        call, _ = found[function]
        for argument, value in zip(call["detail"]["args"], ASSIGNED[function].values()):
            unsure = compiler == "clang" or is_clone(call["function"])
            assert argument["text"] == value or (unsure and argument["text"] == UNKNOWN), f"{function}: {argument}, not {value}"
            known += argument["text"] == value
    assert known >= 10


def test_types_are_named(ada, plain, tmp_path):
    found = calls(dump(ada, record(ada, plain, tmp_path)))
    for function, types in TYPES.items():
        assert [a["type"] for a in found[function][0]["detail"]["args"]] == types
    assert found["hidden"][1]["detail"]["result"]["type"] == "struct big"


def test_json_values(ada, plain, tmp_path):
    found = calls(dump(ada, record(ada, plain, tmp_path)))

    def values(function):
        return [a["value"] for a in found[function][0]["detail"]["args"]]
    assert values("longs") == [-1, 2**64 - 1, 2**40, -2**63]
    assert values("reals") == [1.5, -0.1, 7, 1e300]
    assert values("truth") == [1, 0] and values("colours") == [2, 200, 9]
    assert values("texts")[:2] == ['on the "stack"\n', "a constant"] and values("texts")[3] == "0x0"
    assert values("by_value")[0] is None
    large, = found["large"][0]["detail"]["args"]
    assert large["text"] == '"' + large["value"] + '"...' and set(large["value"]) == {"r"} and len(large["value"]) > 100


def test_agrees_with_the_registers(ada, plain, tmp_path):
    """The records as they lie in the file say the same."""
    session = record(ada, plain, tmp_path)
    found = calls(dump(ada, session))
    process, = [Process(p) for p in Session(tmp_path).processes()]
    (_, seq, _), = process.find("longs")
    records = {r.index_seq: r for r in process.threads[0].details}
    values = [a["value"] for a in found["longs"][0]["detail"]["args"]]
    assert [v & 2**64 - 1 for v in values] == list(records[seq].x[:4])
    (_, seq, _), = process.find("longs", RETURN)
    assert records[seq].x[0] == found["longs"][1]["detail"]["result"]["value"] == 1
    (_, seq, _), = process.find("stacked", CALL)
    assert records[seq].stack[0:2] == (-7).to_bytes(2, "little", signed=True) and records[seq].stack[16] == 10


def test_without_stack(ada, plain, tmp_path):
    found = calls(dump(ada, record(ada, plain, tmp_path, "--stack-bytes=0")))
    texts = {a["name"]: a for a in found["texts"][0]["detail"]["args"]}
    assert fits(POINTER + " (not captured)", texts["on_stack"]["text"]) and not texts["on_stack"]["captured"]
    assert texts["constant"]["text"] == '"a constant"'
    stacked = {a["name"]: a["text"] for a in found["stacked"][0]["detail"]["args"]}
    assert [stacked[n] for n in "afgij"] == ["1", "6", "(not captured)", "9.5", "(not captured)"]


@pytest.mark.parametrize("name, command, sure, least", [
    ("g++-O0", ["g++", "-O0", "-g"], True, 0),
    ("g++-O2", ["g++", "-O2", "-g"], True, 0),
    ("g++-dwarf-4", ["g++", "-O0", "-gdwarf-4"], True, 0),
    ("clang++-O0", ["clang++", "-O0", "-g"], False, 34),
    ("clang++-O2", ["clang++", "-O2", "-g"], False, 28),
])
def test_cxx(ada, compiled, tmp_path, name, command, sure, least):
    program = compiled(name, *command, "-w", "-std=c++17", HERE / "values.cc")
    found = calls(dump(ada, record(ada, program, tmp_path, "--no-libcalls")))
    assert check(found, CXX, sure) >= least
    call, _ = found["shapes::joined"]
    short = {a["name"]: a["text"] for a in call["detail"]["args"]}
    assert short["a"] == '"inline text"' and short["b"] == '"second"', short
    assert short["c"] == '"third"' or short["c"].endswith("(not captured)")
    assert {a["type"] for a in call["detail"]["args"]} >= {"const std::string &"} or "string" in str(call["detail"]["args"])


@pytest.mark.parametrize("level, sure", [("0", True), ("2", False)])
def test_rust(ada, compiled, tmp_path, level, sure):
    program = compiled(f"rust-O{level}", "rustc", "-C", f"opt-level={level}", "-g", "--crate-name=values", HERE / "values.rs")
    found = calls(dump(ada, record(ada, program, tmp_path)))
    known = check(found, {f: e for f, e in RUST.items() if sure or f in found}, False)
    detail = found["values::slices"][0]["detail"]
    slices = {a["name"]: a["text"] for a in detail["args"]}
    # A String in the caller's frame, more or less far up; optimised, it isn't where the convention has it.
    far = f"{detail['rdx']} (not captured)"
    assert slices["b"] in (UNKNOWN, far) or "len=5" in slices["b"]
    if sure:
        version = subprocess.run(["rustc", "--version"], capture_output=True, check=True, text=True).stdout
        assert known >= (36 if re.match(r"rustc 1\.[0-7]\d\.", version) else 37)     # older ones place one value less
        many = [a["text"] for a in found["values::many"][0]["detail"]["args"]]
        assert many == ["19", "20", "21", "22", "23", UNKNOWN, UNKNOWN]


def test_separate_debug_file(ada, compiled, plain, tmp_path):
    linked, bare_one = tmp_path / "linked", tmp_path / "bare"
    shutil.copy(plain, linked)
    for command in (["objcopy", "--only-keep-debug", linked, tmp_path / "linked.debug"], ["strip", "--strip-debug", linked],
                    ["cp", linked, bare_one], ["objcopy", f"--add-gnu-debuglink={tmp_path}/linked.debug", linked]):
        subprocess.run(command, check=True)
    session = record(ada, linked, tmp_path / "one")
    check(calls(dump(ada, session)), C)
    (tmp_path / ".debug").mkdir()
    (tmp_path / "linked.debug").rename(tmp_path / ".debug" / "linked.debug")
    check(calls(dump(ada, session)), C)
    # Another file's is not taken
    other = compiled("other", "gcc", "-O1", "-g", "-w", HERE / "values.c")
    subprocess.run(["objcopy", "--only-keep-debug", other, tmp_path / ".debug" / "linked.debug"], check=True)
    assert {json.dumps(r["detail"]["args"]) for r in dump(ada, session) if r["module"] == "linked"} == {"null"}
    # Nothing known
    rows = dump(ada, record(ada, bare_one, tmp_path / "two"), "--source")
    own = [r for r in rows if r["module"] == "bare"]
    assert own and all(r["detail"]["args"] is None and r["detail"]["result"] is None and r["file"] is None for r in own)


def test_another_file_is_not_believed(ada, compiled, plain, tmp_path):
    """Recompiled since: its types and constants may be others."""
    program = tmp_path / "program"
    shutil.copy(plain, program)
    session = record(ada, program, tmp_path / "out")
    check(calls(dump(ada, session)), C)
    shutil.copy(compiled("other", "gcc", "-O1", "-g", "-w", HERE / "values.c"), program)
    rows = [r for r in dump(ada, session, "--source") if r["module"] == "program"]
    assert all(r["detail"]["args"] is None and r["detail"]["result"] is None and r["file"] is None for r in rows)
    # Without build-id: what is newer than the recording
    subprocess.run(["gcc", "-O0", "-g", "-w", "-Wl,--build-id=none", HERE / "values.c", "-o", program], check=True)
    session = record(ada, program, tmp_path / "again")
    check(calls(dump(ada, session)), C)
    program.touch()
    assert {json.dumps(r["detail"]["args"]) for r in dump(ada, session) if r["module"] == "program"} == {"null"}
    program.unlink()
    assert {json.dumps(r["detail"]["args"]) for r in dump(ada, session) if r["module"] == "program"} == {"null"}


def test_prototypes(ada, tmp_path):
    """Of a library without debug information."""
    library, program = tmp_path / "libjemalloc_not.so", tmp_path / "program"
    subprocess.run(["gcc", "-O0", "-w", "-g0", "-shared", "-fPIC", "-fno-builtin", HERE / "proto.c", "-o", library], check=True)
    subprocess.run(["gcc", "-O0", "-w", "-g0", "-fno-builtin", HERE / "proto_user.c", library, "-o", program], check=True)
    found = calls(dump(ada, record(ada, program, tmp_path / "out")))
    check(found, {
        "mkdir": ({"path": '"/a/directory"', "mode": "493"}, "-1"),
        "pread": ({"fd": "-1", "buffer": POINTER, "count": "16", "offset": "8589934592"}, "16"),
        "pow": ({"x": "2", "y": "1.5"}, "3"),
        "printf": ({"format": '"text on the stack"'}, "5"),
    })
    assert found["of_its_own"][0]["detail"]["args"] is None
    assert found["mark"][0]["detail"]["args"] is None


def test_text(ada, plain, tmp_path):
    session = record(ada, plain, tmp_path)
    lines = ada("dump", "--detail", session).stdout.decode().splitlines()
    assert sum(line.endswith("> reals(a=1.5, b=-0.1, between=7, c=1e+300)") for line in lines) == 1
    assert sum("< reals = 1e+300  " in line for line in lines) == 1
    assert sum(line.endswith("> nothing()") for line in lines) == 1
    assert sum('> variadic(format="%d %s", first=23, ...)' in line for line in lines) == 1
    without = ada("dump", session).stdout.decode().splitlines()
    assert sum(line.endswith("> reals") for line in without) == 1 and not any("=" in line for line in without)


def test_csv(ada, plain, tmp_path):
    session = record(ada, plain, tmp_path)
    text = ada("dump", "--detail", "--source", "--format=csv", session).stdout.decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert text.splitlines()[0].endswith(",stack,arguments,result,file,line")
    call, back = [r for r in rows if r["function"] == "texts"]
    assert call["arguments"].startswith('on_stack="on the \\"stack\\"\\n", constant="a constant"') and call["result"] == ""
    assert (back["arguments"], back["result"]) == ("", '"a constant"')


@pytest.mark.parametrize("name, command, source, functions", [
    ("plain", ["gcc", "-O0", "-g", "-w"], "values.c", ["integers", "texts", "main", "local"]),
    ("g++-O2", ["g++", "-O2", "-g", "-w", "-std=c++17"], "values.cc", ["viewed", "made", "main", "thrower"]),
    ("rust-O0", ["rustc", "-C", "opt-level=0", "-g", "--crate-name=values"], "values.rs", ["integers", "points"]),
])
def test_source(ada, compiled, tmp_path, name, command, source, functions):
    program = compiled(name, *command, HERE / source)
    session = record(ada, program, tmp_path, "--no-libcalls")
    lines = (HERE / source).read_text().splitlines()
    rows = [json.loads(line) for line in ada("dump", "--format=json", "--source", session).stdout.splitlines()][:-1]
    places = {bare(r["function"]).rpartition("::")[2]: (r["file"], r["line"]) for r in rows if r["file"]}
    for function in functions:
        expected, = [n for n, line in enumerate(lines, 1) if re.match(rf"(F|static F|int|fn)\b.*\b{function}\(", line)
                     and not line.endswith(";")]
        file, line = places[function]
        assert pathlib.Path(file) == HERE / source and line == expected, function
    text = ada("dump", "--source", session).stdout.decode()
    assert re.search(rf"> .*{functions[0]}.*  at {re.escape(str(HERE / source))}:{places[functions[0]][1]}\n", text)
    assert "detail" not in rows[0]
