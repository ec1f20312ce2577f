"""The programs and how each is compiled. One file is one hazard; its head comment says why and carries directives:

    expect: LINE        a line of stdout; as many as there are lines
    run: ARGS -> N      arguments and exit status (-N: killed by signal N); default: no arguments, 0
    flags: / libs:      for the compiler, before and after the sources
    library: OUT SOURCE [FLAGS]   a shared library, built before the program into the same directory
    env: NAME=VALUE     {dir} is the directory of the compiled program
    stdin: TEXT         one line of standard input
    compilers:, levels: fewer than gcc clang, -O0 -O2;    pie: yes or no where only one makes sense
    needs: FLAG...      of /proc/cpuinfo; or root; or mount, the right to have a mount namespace of its own
    trace: OPTIONS      for `ada trace`
    counts: yes         stdout has lines `calls FUNCTION N`: the recording must hold exactly as many
    counts: kept        the same, though of what else it calls events may be lost, where they can't be recorded
    known: REASON    ada does not manage this yet: its failure is expected (xfail), and so counted
    states: STATE... what manifest.json may say of the recording (default: complete)
    returns: some       of other calls no return is recorded
    storm: no           it counts what signal handlers add to
    threads: open       the program ends with threads inside calls, so not every call has an end

Names: GROUP/NAME.{c,cc,rs,S}; what libraries are made of lies in GROUP/lib/.
"""
import fcntl
import hashlib
import pathlib
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
DIRECTIVE = re.compile(r"^(?:\s*\*|//|#|/\*)\s?(expect|run|flags|libs|library|env|stdin|compilers|levels|pie|needs|trace|"
                       r"counts|known|states|returns|threads|storm): ?(.*?)\s*(?:\*/)?$")
COMPILERS = {"gcc": {".c": "gcc", ".S": "gcc", ".cc": "g++"}, "clang": {".c": "clang", ".S": "clang", ".cc": "clang++"}}
STANDARD = {".c": ["-std=gnu11"], ".S": [], ".cc": ["-std=c++20"]}


@dataclass
class Program:
    source: pathlib.Path
    expect: str = ""
    runs: list = field(default_factory=list)        # of (arguments, status)
    directives: dict = field(default_factory=dict)

    @property
    def name(self):
        return f"{self.source.parent.name}/{self.source.stem}"

    def words(self, key, default=""):
        return shlex.split(self.directives.get(key, [default])[0])

    def lines(self, key):
        return self.directives.get(key, [])


@dataclass(frozen=True)
class Variant:
    compiler: str
    level: str
    pie: bool

    def __str__(self):
        return f"{self.compiler}{self.level}-{'pie' if self.pie else 'nopie'}"


def parse(source):
    program = Program(source)
    for line in source.read_text().splitlines():
        match = DIRECTIVE.match(line)
        if match:
            program.directives.setdefault(match[1], []).append(match[2])
        elif "*/" in line or not line.strip():
            break
    program.expect = "".join(line + "\n" for line in program.lines("expect"))
    for line in program.lines("run"):
        arguments, _, status = line.partition("->")
        program.runs.append((shlex.split(arguments), int(status)))
    program.runs = program.runs or [([], 0)]
    return program


def programs(group=None):
    sources = [s for s in sorted(HERE.glob("*/*")) if s.suffix in (".c", ".cc", ".rs", ".S")]
    return [parse(s) for s in sources if group in (None, s.parent.name)]


def variants(program, every):
    """Each compiler and each level, each of both with one of the other's; PIE in turn (a program's turn depends on its name). All of them
    with all where `every`."""
    if program.source.suffix == ".rs":
        return [Variant("rustc", level, True) for level in ("-O0", "-O2")]
    chosen = []
    turn = sum(program.source.stem.encode())
    compilers, levels = program.words("compilers", "gcc clang"), program.words("levels", "-O0 -O2")
    for place, compiler in enumerate(compilers):
        for number, level in enumerate(levels):
            if not every and len(compilers) == len(levels) == 2 and (turn // 2 + place + number) % 2:
                continue
            fixed = program.words("pie")
            kinds = [fixed[0] == "yes"] if fixed else [False, True] if every else [(turn + number + (compiler == "gcc")) % 2 == 0]
            chosen += [Variant(compiler, level, pie) for pie in kinds]
    return chosen


def commands(program, variant, directory):
    """The compilations of a program, in order."""
    if variant.compiler == "rustc":
        level = variant.level[-1]
        return [["rustc", f"-Copt-level={level}", "-Cdebuginfo=0", "-o", directory / "program", program.source]]
    drivers = COMPILERS[variant.compiler]
    common = [variant.level, "-w", "-g1", "-D_GNU_SOURCE", f"-I{HERE}"]
    made = []
    for line in program.lines("library"):
        out, source, *flags = shlex.split(line)
        source = program.source.parent / source
        made.append([drivers[source.suffix], *common, *STANDARD[source.suffix], "-fPIC", "-shared", f"-Wl,-soname,{out}",
                     "-o", directory / out, source, f"-L{directory}", "-Wl,-rpath,$ORIGIN", *flags])
    suffix = program.source.suffix
    pie = ["-fPIE", "-pie"] if variant.pie else ["-fno-pie", "-no-pie"]
    flags = [f.replace("{dir}", str(directory)) for f in program.words("flags")]
    made.append([drivers[suffix], *common, *STANDARD[suffix], *pie, *flags, "-o", directory / "program",
                 program.source, f"-L{directory}", "-Wl,-rpath,$ORIGIN", *program.words("libs")])
    return made


def compile_storm(build_dir):
    """storm.c as a library to be preloaded."""
    library = build_dir / "test-programs" / "storm.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    with open(library.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists() or library.stat().st_mtime < (HERE / "storm.c").stat().st_mtime:
            subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-fPIC", "-shared", "-o", library, HERE / "storm.c"], check=True)
    return library


def compile_program(program, variant, build_dir):
    """Compiles unless the directory has the product of these very commands and sources. Returns the program's path."""
    directory = build_dir / "test-programs" / program.name / str(variant)
    work = [[str(word) for word in command] for command in commands(program, variant, directory)]
    parts = [program.source, *sorted((program.source.parent / "lib").glob("*")), *sorted(HERE.glob("*.h"))]
    key = hashlib.sha256(repr(work).encode() + b"".join(p.read_bytes() for p in parts)).hexdigest()
    stamp = directory / "stamp"
    directory.parent.mkdir(parents=True, exist_ok=True)
    with open(directory.with_suffix(".lock"), "w") as lock:     # another run may want the same program
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text() == key:
            return directory / "program"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        for command in work:
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, f"{shlex.join(command)}\n{done.stderr}"
        stamp.write_text(key)
    return directory / "program"
