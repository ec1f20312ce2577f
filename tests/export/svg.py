"""The frames of a flame graph, read from the picture: who lies below whom is seen by where they are drawn."""
import xml.etree.ElementTree as xml
from collections import defaultdict

SVG = "{http://www.w3.org/2000/svg}"
NEAR = 0.002    # pixels: coordinates have three digits


def frames(picture):
    """By path, from the thread on: ns, wide, calls as text. A frame that sticks out of the one above it fails."""
    rows, found = defaultdict(list), {}
    for group in xml.fromstring(picture).iter(SVG + "g"):
        rect = group.find(SVG + "rect")
        x, y, wide = (float(rect.get(name)) for name in ("x", "y", "width"))
        title = group.find(SVG + "title").text.split("\n")
        around = [above for above in rows.get(y - 17, []) if above[0] - NEAR <= x and x + wide <= above[1] + NEAR and above[1] > x]
        assert around or not rows, title
        path = (*around[0][2], title[0]) if around else ()
        assert path not in found, path
        rows[y].append((x, x + wide, path))
        found[path] = (int(rect.get("data-ns")), wide, title[-1])
    for row in rows.values():
        row.sort()
        assert all(left[1] <= right[0] + NEAR for left, right in zip(row, row[1:])), "frames overlap"
    return found


def check_against_folded(picture, folded, exact):
    """Each frame is as wide as its own time and that of all below; `exact`: nothing was lost, which is no one's own time."""
    sums, drawn = defaultdict(int), frames(picture)
    for line in folded.decode().splitlines():
        path, ns = line.rsplit(" ", 1)
        path = tuple(path.split(";"))
        for depth in range(len(path) + 1):
            sums[path[:depth]] += int(ns)
    plain = {tuple(name.replace(";", ":") for name in path): frame for path, frame in drawn.items()}
    total = plain[()][0]
    for path, (ns, wide, _) in plain.items():
        assert ns == sums[path] if exact else ns >= sums[path], path
        assert abs(wide - ns * 1180 / total) <= NEAR, path
    for path, ns in sums.items():
        assert path in plain or ns * 1180 / total < 0.1, path
    return drawn
