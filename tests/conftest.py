"""Options and fixtures of the tests that run ada: tests/programs, tests/real, tests/errors.

    /usr/bin/python3 -m pytest tests/programs --build-dir build [--group NAME] [--untraced] [--all-variants]
"""
import contextlib
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import zlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
sys.dont_write_bytecode = True
# In one test of so many ada's memory is filled, as Meson wants it (tools/run-pytest), and, where it is sanitized, searched for leaks at its
# end: for short commands, as most are here, either is dearer than what they do.
PERTURB, ASAN_OPTIONS, ONE_IN = os.environ.pop("ADA_PERTURB", None), os.environ.get("ASAN_OPTIONS", ""), 4
# Programs under test inherit what is ignored: by nohup, or in the background of a shell.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

import harness  # noqa: E402  (the path is set above)
from harness import Ada  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--build-dir", default=str(ROOT / "build"), help="where ada is; compiled test programs are kept there too")
    parser.addoption("--group", help="tests/programs: the only directory to run")
    parser.addoption("--untraced", action="store_true", help="test the tests: run the programs without ada")
    parser.addoption("--all-variants", action="store_true", help="the long form: PIE and not for every compiler and level (default: in turn), "
                     "every round of what is otherwise repeated less often (rounds), no --sample and no --crossed")
    parser.addoption("--strict-needs", action="store_true", help="a package that is absent is a failure, not a skip")
    parser.addoption("--sanitized", action="store_true", help="leave out the tests that trace a program (pytest.mark.traces), three of "
                     "four that have a browser, and half of those with one case")
    parser.addoption("--trace-option", action="append", default=[], metavar="OPTION", help="tests/programs and real: for each `ada trace`, too")
    parser.addoption("--storm", metavar="US", help="tests/programs: a signal every so many microseconds, without ada and with it. "
                     "With --all-variants: 100 rounds, of one in 25 cases each")
    parser.addoption("--sample", type=int, default=1, metavar="N", help="run one in N cases of each test, among them its first")
    parser.addoption("--crossed", type=int, default=1, metavar="N", help="the same, of tests whose parameters are crossed: each value runs, with "
                     "one in N of the others'")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    number = zlib.crc32(item.nodeid.encode())
    chosen = number % ONE_IN == 0
    harness.PERTURB = PERTURB if chosen else None
    harness.PERTURB_TRACED = number % (ONE_IN * ONE_IN) == 0
    os.environ["ASAN_OPTIONS"] = ASAN_OPTIONS if chosen else ASAN_OPTIONS + ":detect_leaks=0"


@pytest.fixture(scope="session", autouse=True)
def cpu(record_testsuite_property):
    """Into the junit file: how long all processors were busy for these tests, the commands that they ran included."""
    yield
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    record_testsuite_property("cpu", round(sum(usage.ru_utime + usage.ru_stime for usage in usages), 2))


def plain_library(build):
    """libatf.so, for this process: a sanitized one wants to be loaded first, so that a sanitized build takes the plain build's."""
    own = build / "src" / "atf" / "libatf.so"
    if not own.exists() or b"__asan_init" not in own.read_bytes():
        return own
    return build.parent / os.environ.get("BUILD", "build") / "src" / "atf" / "libatf.so"


def pytest_configure(config):
    config.addinivalue_line("markers", "traces: traces a program, with the agent")
    harness.LIBATF = plain_library(pathlib.Path(config.getoption("--build-dir")).resolve())
    config.addinivalue_line("markers", "shares: of --sample=N takes its part itself, in each of its cases")


def sampled_out(item, sample, crossed):
    """Parameters that are crossed count by the sum of their numbers: of N cases in a row, whichever of them changes, one runs."""
    indices = dict(item.callspec.indices) if hasattr(item, "callspec") else {}
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
        for name in names[1:]:      # they change together
            del indices[name.strip()]
    return sum(indices.values()) % (max(sample, crossed) if len(indices) > 1 else sample)


def left_out_if_sanitized(item, every):
    one_in = 1 if every else ONE_IN if "browser" in item.fixturenames else 1 if hasattr(item, "callspec") else 2
    return item.get_closest_marker("traces") or zlib.crc32(item.name.encode()) % one_in


def pytest_collection_modifyitems(config, items):
    """What tests/meson.build leaves out of a sanitized build."""
    every, chosen, left = config.getoption("--all-variants"), [], []
    steps = [1 if every else config.getoption(name) for name in ("--sample", "--crossed")]
    for item in items:
        few = sampled_out(item, *steps) and not item.get_closest_marker("shares")
        leave = few or config.getoption("--sanitized") and left_out_if_sanitized(item, every)
        (left if leave else chosen).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = chosen


@pytest.fixture(scope="session")
def build_dir(pytestconfig):
    return pathlib.Path(pytestconfig.getoption("--build-dir")).resolve()


@pytest.fixture(scope="session")
def ada(build_dir, pytestconfig):
    """The command; None where only the tests themselves are tested."""
    if pytestconfig.getoption("--untraced"):
        return None
    path = build_dir / "ada"
    assert path.exists(), f"{path} is missing: run make first"
    return Ada(path)


@pytest.fixture(scope="session")
def ada_of_all(ada, build_dir):
    """The same command where every user may run it, as if installed: the build may lie in a home that is closed to others."""
    with tempfile.TemporaryDirectory(prefix="ada-tests-", dir="/tmp") as place:
        for source, name in (ada.path, "bin/ada"), (build_dir / "src" / "agent" / "libada-agent.so", "lib/ada/libada-agent.so"):
            copy = pathlib.Path(place) / name
            copy.parent.mkdir(parents=True)
            shutil.copyfile(source, copy)
            for path in (copy, *copy.parents[:len(pathlib.Path(name).parts)]):
                path.chmod(0o755)
        yield Ada(pathlib.Path(place) / "bin" / "ada")


@pytest.fixture(scope="session")
def session(build_dir, tmp_path_factory):
    """session(SCENARIO): a session whose answers are known (tests/query/synth_main.c makes it): its directory. It is shared by all
    tests, which must not change it. Of random:... expected.json lies beside it."""
    made = {}

    def make(scenario):
        if scenario not in made:
            made[scenario] = tmp_path_factory.mktemp(scenario.replace(":", "-")) / "session"
            subprocess.run([build_dir / "tests" / "query" / "synth", scenario, made[scenario]], check=True)
        return made[scenario]
    yield make
    for path in made.values():
        shutil.rmtree(path.parent, ignore_errors=True)


@pytest.fixture
def copy(session, tmp_path):
    """copy(SCENARIO): a copy of its session, to be damaged."""
    return lambda scenario: shutil.copytree(session(scenario), tmp_path / "copy")


@pytest.fixture
def tmp_path(tmp_path):
    """As pytest's, but gone with the test: recordings are large."""
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture(scope="session")
def rounds(pytestconfig):
    """rounds(WHOLE, SAMPLE): how often something is repeated: so often in `make soak`, and in `make check`."""
    return lambda whole, sample: whole if pytestconfig.getoption("--all-variants") else sample


@pytest.fixture
def need(pytestconfig):
    """need(condition, what): skips, or fails where the packages must be there."""
    def check(condition, what):
        if not condition:
            (pytest.fail if pytestconfig.getoption("--strict-needs") else pytest.skip)(f"needs {what}")
    return check


@pytest.fixture
def group(need):
    """A control group with 128 MB, and swap for none of it: its directory."""
    own = dict(reversed(line.split(":", 2)[1:]) for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines())
    for path, controllers in own.items():
        if "memory" in controllers.split(","):
            root, limit = pathlib.Path("/sys/fs/cgroup/memory" + path), "memory.limit_in_bytes"
            break
        if not controllers:
            root, limit = pathlib.Path("/sys/fs/cgroup" + path), "memory.max"
    directory = root / f"ada-test-{os.getpid()}"
    try:
        directory.mkdir()
        (directory / limit).write_text(str(128 << 20))
    except OSError:
        with contextlib.suppress(OSError):
            directory.rmdir()
        need(False, "a control group of memory to make another in")
    yield directory
    directory.rmdir()
