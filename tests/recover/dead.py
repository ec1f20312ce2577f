"""Sessions as a recorder leaves them that was killed, made from finished ones; and what must be the same behind a recovery."""
import json
import pathlib
import struct

HEADER = 64
MANIFEST_TIMES = ("atNs", "at")


def unfinish_index(path):
    """Without footer, and the header as it was at first. The number of events."""
    data = bytearray(path.read_bytes())
    count = struct.unpack_from("<Q", data, data.rfind(b"2ITA") + 8)[0]
    struct.pack_into("<I", data, 28, 0)
    struct.pack_into("<QQQ", data, 40, 0, 0, 0)
    path.write_bytes(data[:HEADER + 32 * count])
    return count


def unfinish_detail(path):
    data = bytearray(path.read_bytes())
    length = struct.unpack_from("<Q", data, len(data) - 64 + 16)[0]
    struct.pack_into("<QQQQ", data, 32, 0, 0, 0, 0)
    path.write_bytes(data[:HEADER + length])


def change(path, edit):
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))


def unfinish(session):
    """All of it. What the manifests say of windows stays."""
    session = pathlib.Path(session)
    for index in session.glob("pid_*/thread_*/index*.atf"):
        unfinish_index(index)
    for detail in session.glob("pid_*/thread_*/detail*.atf"):
        unfinish_detail(detail)

    def running(document):
        document.update(finalized=False, endNs=None)

    def early(manifest):
        running(manifest)
        manifest["recording"] = {"state": "running", "reason": None, "threadsRefused": 0, "modulesRefused": 0, "internalErrors": 0}
        for thread in manifest["threads"]:
            thread.update(events=0, lost=0, gaps=0, segments=[], ended=False)
    for manifest in session.glob("pid_*/manifest.json"):
        change(manifest, early)
    change(session / "session.json", running)
    (session / ".reserve").write_bytes(bytes(4096))
    (session / "session.json.0123456789abcdef.tmp").write_text("{")


def picture(session):
    """All that a recovery must bring about, whenever and however often it ran."""
    files = {}
    for path in sorted(pathlib.Path(session).rglob("*")):
        name = str(path.relative_to(session))
        if path.suffix == ".json":
            document = json.loads(path.read_text())
            document.pop("checksum", None)
            for time in MANIFEST_TIMES:
                document.get("recovered", {}).pop(time, None)
            for thread in document.get("recovered", {}).get("threads", []):
                thread.pop("torn")      # who goes on finds what was cut off already
            files[name] = document
        else:
            files[name] = path.read_bytes() if path.is_file() else None
    return files
