"""serve(ARGUMENT...): an `ada mcp` to talk to; sessions for it."""
import subprocess

import pytest

from client import VERSIONS, Server


@pytest.fixture(scope="session")
def make(build_dir):
    """make(SCENARIO, DIRECTORY): a synthesised session."""
    return lambda scenario, path: subprocess.run([build_dir / "tests" / "query" / "synth", scenario, path], check=True)


@pytest.fixture(scope="session")
def traces(make, tmp_path_factory):
    """A directory of sessions with known answers, which no test changes."""
    root = tmp_path_factory.mktemp("mcp") / "traces"
    root.mkdir()
    for number, scenario in enumerate(["plain", "lossy", "processes", "names", "empty", "rules", "large", "running", "detail"]):
        make(scenario, root / f"session_20260101_00000{number}_{scenario}")
    return root


@pytest.fixture(scope="session")
def session(traces):
    """session(SCENARIO): the name of one."""
    return lambda scenario: next(traces.glob(f"*_{scenario}")).name


@pytest.fixture
def stuck(tmp_path, make):
    """A directory with the session that client.ENDLESS asks."""
    make("plain", tmp_path / "stuck")
    return tmp_path


@pytest.fixture
def serve(ada):
    """serve(ARGUMENT...): starts a server, initialized unless version is None."""
    started = []

    def start(*arguments, version=VERSIONS[0], **options):
        started.append(Server(ada, *arguments, **options))
        if version:
            started[-1].initialize(version)
        return started[-1]
    yield start
    for server in started:
        server.close()


@pytest.fixture
def server(serve, traces):
    return serve(traces)
