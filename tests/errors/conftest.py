"""Fixtures of tests/errors: a refusal is one line on stderr, a status, and no trace of itself on disk."""
import os
import re
import tempfile

import pytest


@pytest.fixture
def refused(ada, tmp_path):
    """refused(STATUS, PATTERN, ARGUMENT...): runs ada in an empty directory; it must refuse, say why, and leave nothing."""
    if ada is None:
        pytest.skip("tests ada itself")
    place = tmp_path / "empty"
    place.mkdir()

    def check(status, pattern, *arguments, **options):
        # A socket's path is short, so the directory for it is too; elsewhere other adas of this machine come and go.
        with tempfile.TemporaryDirectory(prefix="errors-", dir="/tmp") as runtime:
            result = ada(*arguments, cwd=place, timeout=20, env={**os.environ, "XDG_RUNTIME_DIR": runtime}, **options)
            assert not os.listdir(runtime), "something was left behind in XDG_RUNTIME_DIR"
        text = result.stderr.decode()
        assert result.status == status, text
        assert result.stdout == b""
        assert text.endswith("\n") and text.count("\n") == 1, f"not one line: {text!r}"
        assert text.startswith("ada") and re.search(pattern, text), text
        assert not list(place.iterdir()), "something was left behind"
        return text
    return check
