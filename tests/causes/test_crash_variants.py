"""Small crashes of one reason each, in a form that the programs of test_crashes.py don't have: the headline names the reason; or nobody, where
somebody who has nothing to do with it could be taken for it."""
import json
import pathlib
import re
import subprocess

import pytest

from harness import Session

pytestmark = pytest.mark.traces
HEAD = """
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define OUT __attribute__((noinline, noclone))
volatile long sink;
struct node { char room[40]; int value; };
struct node *volatile wild;
OUT struct node *find(int key) { static struct node one; return key ? &one : (struct node *)NULL; }
"""
MAIN = "int main(int argc, char **argv) { run(argc - 1); return 0; }"


def steps(count):
    """Functions that call each other in turn, without end."""
    return "".join(f"int f{i}(int n);" for i in range(count)) + "".join(
        f"OUT int f{i}(int n) {{ volatile char room[100]; room[0] = (char)n; return f{(i + 1) % count}(n + 1) + room[0]; }}" for i in range(count))


# name: language, source, kind, headline
def libc_has_debug_information():
    notes = subprocess.run(["readelf", "-n", "/lib/x86_64-linux-gnu/libc.so.6"], capture_output=True, text=True, check=True).stdout
    begin, rest = re.search(r"Build ID: (..)(\w+)", notes).groups()
    return pathlib.Path(f"/usr/lib/debug/.build-id/{begin}/{rest}.debug").exists()


STREAM = "stream" if libc_has_debug_information() else "file"      # as the C library calls fprintf's argument, or ada's own table
CRASHES = {
    "delete-twice": ("c++", "OUT void drop(int *p) { delete[] p; } void run(int n) { int *p = new int[10]; p[n] = 1; drop(p); drop(p); }",
                     "double-free", r"^drop freed 0x[0-9a-f]+ twice: thread 0 had freed it "),
    "realloc-of-freed": ("c", "OUT void grow(char *p) { sink = (long)realloc(p, 5000); }"
                         "void run(int n) { char *p = malloc(2000), *q = malloc(2000); p[n] = q[n] = 1; sink = (long)q; free(p); grow(p); }",
                         "double-free", r"^grow freed 0x[0-9a-f]+ twice: thread 0 had freed it "),
    "no-stream": ("c", 'OUT void print_it(int n) { FILE *f = fopen("/nowhere/at-all", "r"); fprintf(f, "%d\\n", n); } void run(int n) { print_it(n); }',
                  "null", r"crashed with SIGSEGV at address 0x[0-9a-f]+: its argument ARGUMENT is null, as fopen had returned it .* in main > run > print_it > fopen\.".replace("ARGUMENT", STREAM)),
    "no-number": ("c", 'OUT long number(int n) { return strtol(getenv("ADA_NOBODY_SETS_THIS"), NULL, 10) + n; } void run(int n) { sink = number(n); }',
                  "null", r"^strtol crashed with SIGSEGV at address 0x0: a null pointer that getenv had returned .* in main > run > number > getenv\."),
    "ten-in-turn": ("c", steps(10) + "void run(int n) { f0(n); }", "overflow", r"^f\d used up the stack of thread 0: it was in itself [\d,]+ times, with "),
    "a-parser": ("c", "int value(unsigned n); OUT int list(unsigned n) { volatile char room[64]; room[0] = 1; return value(n) + room[0]; }"
                 "OUT int member(unsigned n) { return value(n) + 1; } OUT int object(unsigned n) { return member(n) + 1; }"
                 "OUT int value(unsigned n) { n = n * 1103515245u + 12345; return (n >> 16 & 3 ? list : object)(n) + 1; } void run(int n) { value(n + 7); }",
                 "overflow", r"^value used up the stack of thread 0: it was in itself [\d,]+ times, when SIGSEGV ended the process\.$"),
    "larger-and-larger": ("c", "OUT int grow(int n) { volatile char *p = alloca(1000 + n); memset((char *)p, n, 1000 + n); return grow(n + 1) + p[0]; }"
                          "void run(int n) { grow(n); }", "overflow",
                          r"^grow used up the stack of thread 0: it was in itself [\d,]+ times, when SIGSEGV ended the process\.$"),
    "free-twice-beside-getline": ("c", 'OUT void drop(char *p) { free(p); }'
                                  'void run(int n) { FILE *f = tmpfile(); size_t size = 0; char *p = malloc(100), *line = NULL;'
                                  'fprintf(f, "%030d\\n", 3); rewind(f); p[n] = 1; drop(p); getline(&line, &size, f); drop(p); }',
                                  "double-free", r"^drop freed 0x[0-9a-f]+ twice: thread 0 had freed it "),
    "given-out-by-getline": ("c", 'OUT int first(char *line) { struct node *n = find(line[0] == 51); return n[1000000].value + line[0]; }'
                             'void run(int n) { FILE *f = tmpfile(); size_t size = 0; char *p = malloc(120), *line = NULL;'
                             'fprintf(f, "%0100d\\n", 3); rewind(f); p[n] = 1; free(p); getline(&line, &size, f); sink = first(line); }',
                             "unknown", r"^first crashed with SIGSEGV at address 0x[0-9a-f]+\.$"),
    "a-global-beside-what-was-freed": ("c", "OUT void forget(void *key) { sink += wild->value; sink = (long)key; }"
                                       "void run(int n) { char *p = malloc(100); p[n] = 1; free(p); forget(p); }", "unknown",
                                       r"^forget crashed with SIGSEGV at address 0x28\.$"),
    "no-such-cast": ("c++", "#include <typeinfo>\nstruct base { virtual ~base() {} int v = 1; }; struct derived : base { int w = 2; };"
                     "OUT int cast(base &b) { return dynamic_cast<derived &>(b).w; } void run(int n) { base b; sink = cast(b) + n; }", "exception",
                     r"^cast threw an exception that nobody caught: std::bad_cast\.$"),
    "more-than-there-is": ("c++", "OUT char *make(size_t n) { return new char[n]; } void run(int n) { sink = (long)make((1ull << 60) + n); }", "exception",
                           r"^make threw an exception that nobody caught: std::bad_alloc\.$"),
    "a-damaged-heap": ("c++", "OUT char *make(size_t n) { return new char[n]; }"
                       "void run(int n) { char *p = make(24 + n); for (int i = 24; i < 80; i++) ((volatile char *)p)[i] = -1; sink = (long)make(2000000); sink = (long)make(5000); }", "unknown",
                       r"^run > make called operator new\[\](\(unsigned long\))?, and crashed with SIGABRT\.$|^run > make called operator new\[\], which crashed"),
    "set-by-another": ("c", "OUT int make(struct node **out) { *out = NULL; return 0; }"
                       "OUT int use(int key) { struct node *n = find(key); if (make(&n)) return 1; return n->value; } void run(int n) { sink = use(n); }",
                       "unknown", r"^use crashed with SIGSEGV at address 0x28\.$"),
}


@pytest.mark.parametrize("level", ["-O0", "-O1"])
@pytest.mark.parametrize("name", CRASHES)
def test_the_reason_is_named(ada, tmp_path, name, level):
    language, source, kind, text = CRASHES[name]
    file = tmp_path / f"{name}.{'cc' if language == 'c++' else 'c'}"
    file.write_text(HEAD + source.replace("void run(", "OUT void run(", 1) + MAIN)
    subprocess.run(["c++" if language == "c++" else "cc", "-g", "-w", level, "-fno-optimize-sibling-calls", "-o", tmp_path / "program", file],
                   check=True)
    assert ada.trace(tmp_path / "out", [tmp_path / "program"]).status != 0
    rows = json.loads(ada("narrate", "--format=json", Session(tmp_path / "out").path).stdout)["rows"]
    headline = next(r for r in rows if r["window"] == 0)
    assert headline["kind"] == "headline" and "crash" in headline, rows[:6]
    assert headline["crash"]["kind"] == kind and re.search(text, headline["text"]), headline["text"]
