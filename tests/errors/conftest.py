"""Fixtures of tests/errors: a refusal is one line on stderr, a status, and no trace of itself on disk."""
import glob
import pathlib
import re

import pytest


def leftovers(pid):
    """What an ada with that process id, and gone, left outside its output directory. Another one may be running."""
    listening = pathlib.Path("/proc/net/unix").read_text()
    sockets = [name for name in glob.glob("/tmp/ada-*") + glob.glob("/run/user/*/ada-*") if f"{name}/" not in listening]
    return set(glob.glob(f"/dev/shm/ada-{pid}-*") + sockets)


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
        before = leftovers(0)
        result = ada(*arguments, cwd=place, timeout=20, **options)
        text = result.stderr.decode()
        assert result.status == status, text
        assert result.stdout == b""
        assert text.endswith("\n") and text.count("\n") == 1, f"not one line: {text!r}"
        assert text.startswith("ada") and re.search(pattern, text), text
        assert not list(place.iterdir()) and not list((tmp_path / "tmp").iterdir()), "something was left behind"
        assert leftovers(result.pid) <= before
        return text
    return check
