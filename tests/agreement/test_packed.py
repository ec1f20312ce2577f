"""`ada pack` and `ada unpack`: every answer about a packed session is the plain one's, byte for byte; what is unpacked is what was packed,
byte for byte; and what ends packing half-way loses nothing."""
import json
import os
import pathlib
import signal
import struct
import subprocess
import time

import pytest

from harness import Session

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPORTS = ["perfetto", "chrome", "speedscope", "folded", "svg", "csv", "rowbinary"]
QUERIES = ["SELECT * FROM events", "SELECT * FROM calls", "SELECT * FROM threads", "SELECT * FROM losses", "SELECT * FROM windows",
           "SELECT * FROM fn_stats()", "SELECT * FROM events ORDER BY timestamp_ns DESC LIMIT 1000",
           "SELECT COUNT(*), SUM(depth) FROM events WHERE kind = 'call'", "SELECT * FROM events WHERE index_seq % 9973 = 0"]


@pytest.fixture(scope="module", params=["7:1:130000", "8:3:120000", "2:1:1"])
def session(request, build_dir, tmp_path_factory):
    root = tmp_path_factory.mktemp("packed")
    subprocess.run([build_dir / "tests" / "query" / "synth", f"random:{request.param}", root / "session"], check=True)
    return root / "session"


def files(session, pattern):
    return {path.relative_to(session): path.read_bytes() for path in sorted(session.glob(pattern))}


def moments(ada, session):
    """Two times, a tenth of the recording apart; and a stack to ask for."""
    result = ada("query", "--format=json", session, "SELECT MIN(timestamp_ns) AS first, MAX(timestamp_ns) AS last FROM events")
    row = json.loads(result.stdout)["rows"][0]
    low = row["first"] + (row["last"] - row["first"]) * 4 // 10
    return low, low + (row["last"] - row["first"]) // 10


def unpacked_info(text):
    """info's answer but for what it says of packed files."""
    answer = json.loads(text)
    assert {thread.pop("packed") for thread in answer["threads"]}
    return answer


def answers(ada, session, tmp_path):
    """{question: what ada said}"""
    low, high = moments(ada, session)
    part = [f"--from={low}", f"--to={high}"]
    asked = [["info"], ["windows"], ["report"], ["report", *part], ["graph"], ["graph", *part], ["dump"], ["dump", *part], ["narrate"]]
    asked += [["query", question] for question in QUERIES]
    asked += [["query", f"SELECT * FROM stack_at(0, {seq})"] for seq in (0, 1, 32767, 32768, 100000)]
    said = {}
    for words in asked:
        name, rest = words[0], words[1:]
        result = ada(name, "--format=json", *([session, *rest] if name == "query" else [*rest, session]))
        said[" ".join(words)] = (result.status, unpacked_info(result.stdout) if words == ["info"] else result.stdout, result.stderr)
    for format in EXPORTS:
        for options in [], part:
            target = tmp_path / "export"
            result = ada("export", f"--format={format}", f"--output={target}", "--quiet", *options, session)
            said[f"export {format} {options}"] = (result.status, target.read_bytes() if target.exists() else None, result.stderr)
            target.unlink(missing_ok=True)
    return said


@pytest.fixture(scope="module")
def plain(ada, session, tmp_path_factory):
    """Its answers before any test packs it. Each test unpacks it again, and the first holds that it is then what it was."""
    return answers(ada, session, tmp_path_factory.mktemp("answers"))


def test_answers_are_the_same(ada, session, plain, tmp_path):
    plain_files = files(session, "pid_*/thread_*/*.atf")
    manifests = {path: json.loads(text) for path, text in files(session, "pid_*/manifest.json").items()}
    result = ada("pack", session)
    assert result.status == 0, result.stderr.decode()
    assert not list(session.glob("pid_*/thread_*/index*.atf")) and not list(session.glob("pid_*/thread_*/*.tmp"))
    for path, before in manifests.items():
        now = json.loads((session / path).read_text())
        for thread, old in zip(now["threads"], before["threads"]):
            assert thread["segments"] == [{**segment, "file": segment["file"].replace(".atf", ".atp"), "packed": True}
                                          for segment in old["segments"]]
    packed = answers(ada, session, tmp_path)
    for question, answer in plain.items():
        assert packed[question] == answer, question
    verified = ada("verify", session)
    assert verified.status == 0, verified.stdout.decode()
    assert ada("pack", session).stdout.decode().endswith("nothing to pack\n")
    result = ada("unpack", session)
    assert result.status == 0, result.stderr.decode()
    assert files(session, "pid_*/thread_*/*.at[fp]") == plain_files
    for path, before in manifests.items():
        now = json.loads((session / path).read_text())
        before.pop("checksum", None), now.pop("checksum", None)
        assert now == before


def test_some_segments_packed(ada, session, plain, tmp_path):
    """As a recording that goes on packed after its first segment."""
    whole = files(session, "pid_*/thread_*/index.atf")
    assert ada("pack", session).status == 0
    for path, content in whole.items():
        (session / path).write_bytes(content)
        (session / path).with_suffix(".atp").unlink()
    mixed = answers(ada, session, tmp_path)
    assert [question for question in plain if mixed[question] != plain[question]] == []
    assert ada("unpack", session).status == 0


def test_raw_blocks_are_compressed(ada, session, plain, build_dir, tmp_path):
    """What a recorder under pressure wrote without zstd: packing once more makes up for it, and nobody else sees a difference."""
    def size():
        return sum(len(content) for content in files(session, "pid_*/thread_*/index*.atp").values())
    whole = files(session, "pid_*/thread_*/index*.atf")
    for lane in {path.parent for path in whole}:
        subprocess.run([build_dir / "tests" / "agreement" / "raw_lane", session / lane], check=True)
    raw, large = answers(ada, session, tmp_path), size()
    assert ada("verify", session).status == 0
    result = ada("pack", session)
    assert result.status == 0, result.stderr.decode()
    if large > 1000:        # one event has nothing to compress
        assert size() < large and "bytes an event" in result.stdout.decode()
    squeezed = answers(ada, session, tmp_path)
    assert [question for question in plain if not plain[question] == raw[question] == squeezed[question]] == []
    assert ada("verify", session).status == 0 and ada("pack", session).stdout.decode().endswith("nothing to pack\n")
    assert ada("unpack", session).status == 0 and files(session, "pid_*/thread_*/index*.atf") == whole


def test_a_damaged_raw_block_stays(ada, build_dir, tmp_path):
    subprocess.run([build_dir / "tests" / "query" / "synth", "random:7:1:100000", tmp_path / "session"], check=True)
    lane, = {path.parent for path in (tmp_path / "session").glob("pid_*/thread_*/index.atf")}
    subprocess.run([build_dir / "tests" / "agreement" / "raw_lane", lane], check=True)
    content = bytearray((lane / "index.atp").read_bytes())
    content[1000] ^= 4
    (lane / "index.atp").write_bytes(content)
    result = ada("pack", tmp_path / "session")
    assert result.status == 125 and b"damaged" in result.stderr and result.stderr.count(b"\n") == 1
    assert (lane / "index.atp").read_bytes() == content and not list(lane.glob("*.tmp"))


@pytest.mark.traces
def test_recorded_packed(ada, build_dir, tmp_path):
    """Recorded so, with four threads, losses, windows and segments: the same answers as once it is unpacked."""
    result = ada.trace(tmp_path / "out", [build_dir / "tests" / "books" / "books_program", tmp_path / "book", 4, 4000, 1], "--pack=always",
                       "--segment-size=2M", "--index-buffer=1M", "--functions=counted_*", "--no-libcalls", "--stack-bytes=0",
                       "--trigger=symbol=counted_*@every=5000,pre=20ev,post=20ev")
    assert result.status == 0, result.stderr.decode()
    session = Session(tmp_path / "out").path
    assert ada("verify", session).status == 0
    packed = answers(ada, session, tmp_path)
    assert not files(session, "pid_*/thread_*/index*.atf") and len(files(session, "pid_*/thread_*/index*.atp")) >= 4
    result = ada("unpack", session)
    assert result.status == 0, result.stderr.decode()
    plain = answers(ada, session, tmp_path)
    assert [question for question in plain if packed[question] != plain[question]] == []


@pytest.mark.traces
@pytest.mark.parametrize("options, resolution", [([], 8), (["--clock-resolution=1"], 1), (["--clock-resolution=256"], 256)])
def test_times_have_the_resolution_asked_for(options, resolution, ada, build_dir, tmp_path):
    """Of events and of what was captured of them, which says the same; in the manifest it is said."""
    result = ada.trace(tmp_path / "out", [build_dir / "tests" / "books" / "books_program", tmp_path / "book", 2, 4000, 1],
                       "--functions=counted_*", "--trigger=symbol=counted_*@every=1000,pre=20ev,post=20ev", *options)
    assert result.status == 0, result.stderr.decode()
    session = Session(tmp_path / "out")
    assert {one["clock"]["resolutionNs"] for one in session.manifests().values()} == {resolution}
    rest = f"SUM((timestamp_ns & {resolution - 1}) != 0) AS finer, SUM((timestamp_ns & {2 * resolution - 1}) != 0) AS steps, COUNT(*) AS all_"
    for table in ("events", "detail"):
        row, = json.loads(ada("query", "--format=json", session.path, f"SELECT {rest} FROM {table}").stdout)["rows"]
        assert row["finer"] == 0 and 0 < row["steps"] < row["all_"] and row["all_"] > 100, (table, row)
    both = "SELECT COUNT(*) AS n FROM detail d JOIN events e USING (thread, index_seq) WHERE d.timestamp_ns != e.timestamp_ns"
    assert json.loads(ada("query", "--format=json", session.path, both).stdout)["rows"] == [{"n": 0}], both
    assert ada("verify", session.path).status == 0


def raw_blocks(path):
    """Of a finished packed file, by its directory: blocks of which no column is compressed."""
    data = path.read_bytes()
    if data[-64:-60] != b"2PTA":
        return 0
    count, = struct.unpack_from("<I", data, len(data) - 64 + 40)
    heads = [data[len(data) - 64 - 256 * (count - i):][:256] for i in range(count)]
    return sum(head[80:112] == head[112:144] and sum(struct.unpack_from("<8I", head, 80)) > 4096 for head in heads)


def squeezed(ada, paced, out):
    """Records calls that come faster than zstd packs, until all that was written raw is compressed; returns how many blocks were raw at once.
    None may have been: where others have the processors, a program calls no faster than zstd packs."""
    command = [ada.path, "trace", "--quiet", f"--output={out}", "--pack=always", "--detail=off", "--on-full=block",
               "--segment-size=8M", "--", "/bin/sh", "-c", f"{paced} 20000000 2 0.4; exec /bin/sleep 1000"]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    try:
        deadline, seen, raw, over = time.monotonic() + 120, 0, 0, False
        while raw or not over:
            assert time.monotonic() < deadline, (over, raw)
            time.sleep(0.05)
            manifests = [json.loads(path.read_text()) for path in out.glob("session_*/pid_*/manifest.json")]
            over = any(manifest["program"].endswith("/paced") and manifest["finalized"] for manifest in manifests)
            raw = sum(raw_blocks(path) for path in out.glob("session_*/pid_*/thread_*/index*.atp"))
            seen = max(seen, raw)
        assert ada("verify", out / "latest").status == 0
    finally:
        process.terminate()
        process.wait()
    session = Session(out)
    assert ada("verify", session.path).status == 0 and not list(session.path.glob("pid_*/thread_*/*.tmp")) and session.lost() == 0
    return seen


@pytest.mark.traces
def test_raw_segments_are_compressed_later(ada, tmp_path):
    """Of a program that calls faster than zstd packs, once it is over and the recording goes on."""
    paced = tmp_path / "paced"
    subprocess.run(["gcc", "-O2", "-pthread", ROOT / "bench" / "paced.c", "-o", paced], check=True)
    if not any(squeezed(ada, paced, tmp_path / f"out{i}") for i in range(6)):
        pytest.skip("others have the processors: nothing was written raw")


@pytest.mark.traces
def test_raw_segments_at_the_end(ada, build_dir, tmp_path):
    """What is raw still when the program ends is compressed for a second; where that isn't enough, ada says what is."""
    paced = tmp_path / "paced"
    subprocess.run(["gcc", "-O2", "-pthread", ROOT / "bench" / "paced.c", "-o", paced], check=True)

    def files():
        return list(session.glob("pid_*/thread_*/index*.atp"))
    for i in range(4):
        out = tmp_path / f"out{i}"
        result = subprocess.run([ada.path, "trace", f"--output={out}", "--pack=always", "--detail=off", "--on-full=block", "--segment-size=8M",
                                 "--", paced, "10000000", "2", "0.2"], capture_output=True, text=True, timeout=120,
                                env={**os.environ, "LD_PRELOAD": str(build_dir / "tests" / "agreement" / "libslow_zstd.so")})
        session = Session(out).path
        assert result.returncode == 0, result.stderr
        raw, before = sum(map(raw_blocks, files())), sum(path.stat().st_size for path in files())
        said = result.stderr.count(f"\nada: it was written in a hurry at the end: `ada pack {session}` makes it smaller\n")
        assert said == bool(raw), (raw, result.stderr)
        if raw:
            break
    else:
        pytest.skip("others have the processors: nothing was written raw")
    assert ada("verify", session).status == 0 and not list(session.glob("pid_*/thread_*/*.tmp"))
    assert ada("pack", session).status == 0
    assert not sum(map(raw_blocks, files())) and sum(path.stat().st_size for path in files()) < before


@pytest.mark.parametrize("command", ["pack", "unpack"])
def test_killed_in_the_midst(ada, build_dir, tmp_path, command):
    """At whatever moment: the session reads as before, and the same command finishes."""
    subprocess.run([build_dir / "tests" / "query" / "synth", "random:5:4:200000", tmp_path / "session"], check=True)
    session = tmp_path / "session"
    report = ada("report", "--format=json", session).stdout
    for i in range(7):
        if command == "unpack":
            assert ada("pack", session).status == 0
        process = subprocess.Popen([ada.path, command, session], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=0.008 * i)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert ada("report", "--format=json", session).stdout == report
        assert ada(command, session).status == 0
        assert not list(session.glob("pid_*/thread_*/*.tmp"))
        assert ada("verify", session).status == 0
        if command == "pack":
            assert ada("unpack", session).status == 0


def test_no_room(ada, build_dir, tmp_path):
    """A limit of file size in place of a full disk: segments that found room are packed, the others stay, and nothing is lost."""
    subprocess.run([build_dir / "tests" / "query" / "synth", "random:5:4:200000", tmp_path / "session"], check=True)
    report = ada("report", "--format=json", tmp_path / "session").stdout
    result = subprocess.run(["bash", "-c", f'ulimit -f 16; exec {ada.path} pack {tmp_path / "session"}'], capture_output=True)
    assert result.returncode == 125 and result.stderr.count(b"\n") == 1 and b"index" in result.stderr
    assert sorted((tmp_path / "session").glob("pid_*/thread_*/*.atf")) and not sorted((tmp_path / "session").glob("pid_*/thread_*/*.tmp"))
    assert ada("report", "--format=json", tmp_path / "session").stdout == report
    assert ada("verify", tmp_path / "session").status == 0


def test_damaged_block_is_a_loss(ada, build_dir, tmp_path):
    subprocess.run([build_dir / "tests" / "query" / "synth", "random:7:1:100000", tmp_path / "session"], check=True)
    session = tmp_path / "session"
    assert ada("pack", session).status == 0
    victim = sorted(session.glob("pid_*/thread_0/index.atp"))[0]
    content = bytearray(victim.read_bytes())
    content[1000] ^= 4
    victim.write_bytes(content)
    result = ada("verify", session)
    assert result.status == 1 and b"index.atp: blocks: " in result.stdout
    result = ada("unpack", session)
    assert result.status == 125 and b"damaged" in result.stderr and victim.exists()


@pytest.mark.traces
def test_refused_while_recorded(ada, tmp_path):
    process = subprocess.Popen([ada.path, "trace", "-q", "-o", tmp_path / "out", "--", "/bin/sleep", "100"])
    try:
        deadline = time.monotonic() + 60
        while ada("status", tmp_path / "out" / "latest").status and time.monotonic() < deadline:
            time.sleep(0.05)
        result = ada("pack", tmp_path / "out" / "latest")
        assert result.status == 125 and b"still being recorded" in result.stderr
    finally:
        process.terminate()
        process.wait()
