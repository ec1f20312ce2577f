"""Sessions whose answers are known (tests/query/synth_main.c makes them)."""
import subprocess

import pytest


@pytest.fixture(scope="module")
def session(build_dir, tmp_path_factory):
    """session(SCENARIO): its directory; shared by the tests of a file, which must not change it."""
    made = {}

    def make(scenario):
        if scenario not in made:
            made[scenario] = tmp_path_factory.mktemp(scenario.replace(":", "_")) / "session"
            subprocess.run([build_dir / "tests" / "query" / "synth", scenario, made[scenario]], check=True)
        return made[scenario]
    return make
