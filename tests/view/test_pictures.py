"""tools/pictures makes what docs/pictures shows."""
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import needs_browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs" / "pictures"


@pytest.mark.traces
def test_pictures_can_be_taken_anew(ada, tmp_path):
    needs_browser()
    subprocess.run([sys.executable, ROOT / "tools" / "pictures", f"--output={tmp_path}", ada.path.parent], check=True, timeout=240)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in DOCS.iterdir())
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.glob("*.png"))
    screens = re.compile(r"(?<=: begin -->\n)```\n(.*?)\n```\n", re.DOTALL)
    made, shown = (screens.findall((place / "README.md").read_text()) for place in (tmp_path, DOCS))
    assert len(made) == len(shown) == 5 and all("sell" in text or "handle_request" in text for text in made)
