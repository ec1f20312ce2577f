"""Fixtures of the tests of ada export."""
import shutil
import subprocess

import pytest

import perfetto


@pytest.fixture(scope="session")
def session(build_dir, tmp_path_factory):
    """session(SCENARIO): its directory, shared by all tests, which must not change it. Of random:... expected.json lies beside."""
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
def export(ada):
    """export(FORMAT, SESSION, ...): what is written to standard output."""
    def run(form, session, *arguments, **options):
        result = ada("export", "--quiet", f"--format={form}", *arguments, session, **options)
        assert result.status == 0 and not result.stderr, result.stderr.decode()
        return result.stdout
    return run


@pytest.fixture(scope="session")
def perfetto_proto(tmp_path_factory):
    return perfetto.load(tmp_path_factory.mktemp("proto"))


@pytest.fixture
def export_perfetto(export, perfetto_proto):
    return lambda session, *arguments: perfetto.read(perfetto_proto, export("perfetto", session, *arguments))
