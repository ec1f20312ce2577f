"""The protocol's own client (npm's @modelcontextprotocol/sdk, of the versions in sdk/package-lock.json) as the peer."""
import json
import pathlib
import shutil
import subprocess

import pytest

SDK = pathlib.Path(__file__).parent / "sdk"


@pytest.fixture(scope="module")
def installed(build_dir):
    """Where the client is; installed once a build directory and lock file. Skips where npm is absent or can't reach its registry."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("needs node and npm")
    where = build_dir / "tests" / "mcp" / "sdk"
    lock = (SDK / "package-lock.json").read_text()
    if (where / "installed").exists() and (where / "installed").read_text() == lock:
        return where
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(SDK / name, where)
    try:
        result = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"], cwd=where,
                                capture_output=True, timeout=150)
        errors = [line for line in result.stderr.decode(errors="replace").splitlines() if line.lower().startswith("npm err")]
        failed = result.returncode and " ".join(errors[:2] or ["npm says nothing"])
    except subprocess.TimeoutExpired:
        failed = "npm took longer than 150 s"
    if failed:
        shutil.rmtree(where, ignore_errors=True)
        pytest.skip("npm can't install the client here: " + failed)
    (where / "installed").write_text(lock)
    return where


def test_the_protocol_s_own_client_understands_it(ada, installed, make, tmp_path):
    make("rules", tmp_path / "session_1")
    result = subprocess.run(["node", SDK / "peer.mjs", ada.path, tmp_path, "session_1"], cwd=installed, capture_output=True, timeout=60)
    assert result.returncode == 0, result.stderr.decode()
    got = json.loads(result.stdout)
    assert got["errors"] == []
    assert got["server"]["name"] == "ada" and got["capabilities"] == {"tools": {}} and got["instructions"]
    assert {"list_sessions", "report", "dump"} <= {tool["name"] for tool in got["tools"]}
    assert [row["session"] for row in got["sessions"]["structuredContent"]["rows"]] == ["session_1"]
    command = ada("report", "--format=json", "--sort=total", "--limit=50", tmp_path / "session_1").stdout.decode().rstrip("\n")
    assert got["report"]["content"] == [{"type": "text", "text": command}]
    assert got["report"]["structuredContent"] == json.loads(command)
    assert got["failed"]["isError"] is True and "ada report: " in got["failed"]["content"][0]["text"]
    assert [len(answer["structuredContent"]["rows"]) for answer in got["together"]] == list(range(1, 9))
    assert got["refused"]["code"] == -32602 and "no tool 'nothing'" in got["refused"]["message"]
    assert got["cancelled"] == "cancelled" and got["ended"] is True
