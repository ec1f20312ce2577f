"""random_session(SEED, THREADS, EVENTS[, MUTATION]): a synthesised session, and what is true of it."""
import json
import shutil
import subprocess

import pytest

from mutate import mutate
from oracle import Recording


@pytest.fixture(scope="session")
def random_session(build_dir, tmp_path_factory):
    made = {}

    def make(seed, threads, events, mutation=None):
        key = (seed, threads, events, mutation)
        if key not in made:
            root = tmp_path_factory.mktemp("agreement")
            subprocess.run([build_dir / "tests" / "query" / "synth", f"random:{seed}:{threads}:{events}", root / "session",
                            root / "expected.json"], check=True)
            if mutation:
                mutate(root / "session", mutation, seed)
            recording = Recording(root / "session")
            recording.mutation = mutation
            recording.expected = json.loads((root / "expected.json").read_text())
            made[key] = recording
        return made[key]
    yield make
    for recording in made.values():
        shutil.rmtree(recording.path.parent, ignore_errors=True)
