"""Fixtures of tests/errors: a refusal is one line on stderr, a status, and no trace of itself on disk."""
import glob
import re

import pytest


def leftovers():
    """What ada may leave outside the output directory, on any machine."""
    return set(glob.glob("/dev/shm/ada-*") + glob.glob("/tmp/ada-*") + glob.glob("/run/user/*/ada-*"))


@pytest.fixture
def refused(ada, tmp_path, monkeypatch):
    """refused(STATUS, PATTERN, ARGUMENT...): runs ada in an empty directory; it must refuse, say why, and leave nothing."""
    if ada is None:
        pytest.skip("tests ada itself")
    place = tmp_path / "empty"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()

    def check(status, pattern, *arguments, **options):
        before = leftovers()
        result = ada(*arguments, cwd=place, timeout=20, **options)
        text = result.stderr.decode()
        assert result.status == status, text
        assert result.stdout == b""
        assert text.endswith("\n") and text.count("\n") == 1, f"not one line: {text!r}"
        assert text.startswith("ada") and re.search(pattern, text), text
        assert not list(place.iterdir()) and not list((tmp_path / "tmp").iterdir()), "something was left behind"
        assert leftovers() == before
        return text
    return check
