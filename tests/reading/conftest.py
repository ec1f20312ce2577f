"""Fixtures of the matrix of bad input: sessions to read, and every way to read them."""
import resource
import shutil
import subprocess

import pytest

from asking import Asker


@pytest.fixture(scope="session")
def synth(build_dir, tmp_path_factory):
    """synth(SCENARIO): the session's directory; shared, so a test must not change it."""
    made = {}

    def make(scenario):
        if scenario not in made:
            made[scenario] = tmp_path_factory.mktemp("synth") / "session"
            subprocess.run([build_dir / "tests" / "query" / "synth", scenario, made[scenario]], check=True)
        return made[scenario]
    yield make
    for path in made.values():
        shutil.rmtree(path.parent, ignore_errors=True)


@pytest.fixture
def copy(synth, tmp_path):
    """A session of a test's own, to be damaged."""
    def make(scenario, name="copy"):
        return shutil.copytree(synth(scenario), tmp_path / name)
    return make


@pytest.fixture
def ask(ada, tmp_path, pytestconfig):
    return Asker(ada, tmp_path, pytestconfig.getoption("--sample"))


@pytest.fixture(scope="session", autouse=True)
def limits(ada):
    """Inherited by what the tests run: what runs away ends before the machine does. Sanitizers need the room."""
    before = {what: resource.getrlimit(what) for what in (resource.RLIMIT_AS, resource.RLIMIT_CORE)}
    resource.setrlimit(resource.RLIMIT_CORE, (0, before[resource.RLIMIT_CORE][1]))
    if not ada.sanitized:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, before[resource.RLIMIT_AS][1]))
    yield
    for what, limit in before.items():
        resource.setrlimit(what, limit)
