"""Fixtures of the tests of ada export."""

import pytest

import perfetto


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
