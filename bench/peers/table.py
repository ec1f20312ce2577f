"""Makes the peer tables from measurements.

Measurements are a dict, as `run` writes it into peers.json:

    machine    what measure.machine() says
    rounds     how many
    rows       a list of {key, title, kind, floor: [ns], cells: {tool: cell}}, in order
    tools      {key: title}, in order

A cell is {"values": [one a round], "made": events or None, "recorded": [events], "bytes": [of a tool's files, by the event recorded]},
or {"skipped": why}. Values are, by kind: micro: ns an event; program: seconds; start: ms; memory: MiB. What a tracer adds is a value
less the untraced one's, for programs by the events made; the floor is the same round's, and the fastest peer the one that adds least and
isn't ada.
"""
import statistics

SIMILAR = 0.5           # a peer that sees fewer than half of ada's events of a program is not compared with by the event
HEADS = {
    "micro": ["", "ns an event", "from to", "added", "x floor", "x fastest peer", "recorded", "made", "bytes an event"],
    "program": ["", "s", "from to", "x untraced", "ns added an event", "x floor", "x fastest peer", "recorded", "made", "bytes an event"],
    "start": ["", "ms", "from to", "added", "x fastest peer", "recorded"],
    "memory": ["", "MiB", "from to", "added", "x fastest peer"],
}


def number(value, digits=3):
    """Three digits that count, and a comma at thousands."""
    if value is None:
        return "?"
    if value == 0:
        return "0"
    places = max(0, digits - 1 - int(f"{abs(value):e}".split("e")[1]))
    return f"{value:,.{min(places, 3)}f}"


def is_peer(tool):
    return tool != "untraced" and not tool.startswith("ada")


class Cell:
    """A tool's figures in a row."""

    def __init__(self, row, tool):
        cell = row["cells"][tool]
        self.tool, self.row, self.skipped = tool, row, cell.get("skipped")
        if self.skipped:
            return
        self.values = cell["values"]
        self.median = statistics.median(self.values)
        self.recorded, self.bytes = (statistics.median(cell[key]) if cell.get(key) else None for key in ("recorded", "bytes"))
        self.made = cell.get("made")

    def added(self):
        """None where it isn't known, for it wasn't measured untraced or nobody counted the events."""
        plain = self.row["cells"].get("untraced", {"skipped": True})
        if self.skipped or self.tool == "untraced" or "skipped" in plain:
            return None
        added = self.median - statistics.median(plain["values"])
        if self.row["kind"] != "program":
            return added
        return added * 1e9 / self.made if self.made else None

    def slower(self):
        plain = self.row["cells"].get("untraced", {"skipped": True})
        return self.median / statistics.median(plain["values"]) if "skipped" not in plain else None

    def of_floor(self):
        """The floor calls a function, too: so it is compared with all that an event takes, where that was timed."""
        if not self.row.get("floor") or self.tool == "untraced":
            return None
        value = self.median if self.row["kind"] == "micro" else self.added()
        return value / statistics.median(self.row["floor"]) if value is not None else None

    def comparable(self):
        if self.row["kind"] not in ("program", "start"):
            return True
        most = max((cell.get("made") or 0 for tool, cell in self.row["cells"].items() if tool.startswith("ada")), default=0)
        return (self.made or 0) >= most * SIMILAR

    def of_fastest(self):
        others = [Cell(self.row, tool) for tool in self.row["cells"] if is_peer(tool)]
        others = [cell.added() for cell in others if not cell.skipped and cell.comparable()]
        others = [added for added in others if added is not None and added > 0]
        own = self.added()
        return own / min(others) if others and own is not None else None

    def kept(self):
        return min(self.recorded / self.made, 1) if self.recorded is not None and self.made else None


def cells(row):
    return [Cell(row, tool) for tool in row["cells"]]


def line(words):
    return "| " + " | ".join(words) + " |"


def figures(cell):
    """The columns of the long table behind the name."""
    spread = f"{number(min(cell.values))} {number(max(cell.values))}"
    added, floor, fastest = (number(value) if value is not None else "" for value in (cell.added(), cell.of_floor(), cell.of_fastest()))
    counts = [f"{value:,.0f}" if value is not None else "" for value in (cell.recorded, cell.made)]
    counts.append(number(cell.bytes) if cell.bytes is not None else "")
    kind = cell.row["kind"]
    if kind == "micro":
        return [number(cell.median), spread, added, floor, fastest, *counts]
    if kind == "program":
        return [number(cell.median), spread, number(cell.slower()), added, floor, fastest, *counts]
    return [number(cell.median), spread, added, fastest, *counts[:kind == "start"]]


def long_row(row, titles):
    """A row of the peer table: a line a tool, in a table of its own."""
    floor = f" (floor {number(statistics.median(row['floor']))} ns)" if row.get("floor") else ""
    head = HEADS[row["kind"]]
    lines = [f"{row['title']}{floor}", "", line(head), line(["---"] * len(head))]
    for cell in cells(row):
        what = [f"skipped: {cell.skipped}"] if cell.skipped else figures(cell)
        lines.append(line([titles[cell.tool], *what, *[""] * (len(head) - 1 - len(what))]))
    return "\n".join(lines) + "\n"


def machine_line(results):
    machine = results["machine"]
    return (f"{machine['cpu']}{', a guest' if machine['guest'] else ''}, {machine['cores']} cores, Linux {machine['kernel']}, transparent "
            f"huge pages: {machine['huge_pages']}; pinned to CPUs {' and '.join(map(str, machine['cpus']))}; a load of "
            f"{machine['load']} before it began; medians of {results['rounds']} interleaved rounds")


def short_cell(cell):
    if cell.skipped:
        return "-"
    kind, added, floor = cell.row["kind"], cell.added(), cell.of_floor()
    if cell.tool == "untraced":
        return number(cell.median) + {"program": " s"}.get(kind, "")
    if kind == "program":
        text = f"{number(cell.slower())}x" + (f", {number(added)} ns" if added is not None else "")
    else:
        text = number(cell.median) + (f" ({number(floor)})" if floor is not None else "")
    kept = cell.kept()
    return text + (f", {kept:.0%} kept" if kept is not None and kept < 0.995 else "")


def short_bytes(results):
    """What an event takes on the disk, with all that a tool writes beside it."""
    rows = [row for row in results["rows"] if row["kind"] in ("micro", "program") and any(cell.get("bytes") for cell in row["cells"].values())]
    tools = [tool for tool in results["tools"] if any(row["cells"].get(tool, {}).get("bytes") for row in rows)]
    sizes = [[row["title"], *[number(Cell(row, tool).bytes) if row["cells"].get(tool, {}).get("bytes") else "-" for tool in tools]] for row in rows]
    head = ["bytes an event on disk", *[results["tools"][tool] for tool in tools]]
    return ["\n".join(map(line, [head, ["---"] * len(head), *sizes]))] if rows else []


# What a program must bring for it; ada and what isn't named here need nothing.
NEEDS = {"uftrace": "its symbols", "uftrace-pg": "a build with -pg", "lttng": "a build with -finstrument-functions",
         "xray": "a build by clang with -fxray-instrument", "perf": "root"}
SHORT_HEADS = {"micro": "ns an event (times the floor, {})", "program": "times untraced, ns added an event (floor {})"}


def floors(rows):
    """How far it went: it is the same everywhere, on a machine that does nothing else."""
    found = [statistics.median(row["floor"]) for row in rows if row.get("floor")]
    if not found:
        return "not measured"
    least, most = number(min(found)), number(max(found))
    return f"{least} ns" if least == most else f"{least} to {most} ns"


def short(results):
    """README's tables: a line a row, a column a tool, and what was left out with its reason."""
    parts = []
    for kinds in (["micro"], ["program"], ["start", "memory"]):
        rows = [row for row in results["rows"] if row["kind"] in kinds]
        tools = [tool for tool in results["tools"]
                 if any("skipped" not in row["cells"].get(tool, {"skipped": True}) for row in rows)]
        if not tools:
            continue
        first = SHORT_HEADS.get(kinds[0], "").format(floors(rows))
        last = ["ada, of the fastest peer"] if any(map(is_peer, tools)) else []
        parts.append("\n".join([line([first, *[results["tools"][tool] for tool in tools], *last]),
                                line(["---"] * (1 + len(tools) + len(last))), *[short_line(row, tools, last) for row in rows]]))
    parts += short_bytes(results)
    left_out = reasons(results)
    return "\n\n".join(parts + (["Not measured:\n" + "\n".join(left_out)] if left_out else [])) + "\n"


def short_line(row, tools, last):
    found = [short_cell(Cell(row, tool)) if tool in row["cells"] else "-" for tool in tools]
    if last:
        fastest = Cell(row, "ada").of_fastest() if "ada" in row["cells"] else None
        found.append(number(fastest) if fastest is not None else "-")
    return line([row["title"], *found])


def reasons(results):
    """Each reason once, with the rows and tools that it is of."""
    rows = {}
    for row in results["rows"]:
        for tool, cell in row["cells"].items():
            if "skipped" in cell:
                names = rows.setdefault((results["tools"][tool], cell["skipped"]), [])
                name = row["title"].partition(", ")[0]
                names += [name] if name not in names else []
    told = {}
    for (tool, why), names in rows.items():
        told.setdefault((", ".join(names), why), []).append(tool)
    return [f"- {'; '.join(tools)}: {names}: {why}" for (names, why), tools in told.items()]


COMPARED = {"leaf": "ns an event, small function", "callers": "64 callers", "start": "start of `true`, ms", "memory": "1,000 idle threads, MiB"}


def compared(results):
    """The table of docs/comparison.md: a line a tool, of those rows that tell the tools apart."""
    rows = {row["key"]: row for row in results["rows"]}
    head = ["", *COMPARED.values(), "the program needs"]
    lines = [line(head), line(["---"] * len(head))]
    for tool, title in results["tools"].items():
        found = [short_cell(Cell(rows[key], tool)) if tool in rows.get(key, {"cells": ()})["cells"] else "-" for key in COMPARED]
        if tool != "untraced" and set(found) != {"-"}:
            lines.append(line([title, *found, NEEDS.get(tool, "nothing")]))
    return "\n".join(lines) + "\n"


def blocks(results):
    """What documents can hold, by the name of its place there."""
    return {"peers": f"{machine_line(results)}.\n\n{short(results)}", "compared": compared(results)}


def into(text, parts):
    """A document with the lines between <!-- name: begin --> and <!-- name: end --> replaced, of each name that it has."""
    places = [name for name in parts if f"<!-- {name}: " in text]
    if not places:
        raise ValueError(f"the document has no <!-- {' or '.join(parts)}: begin -->")
    for name in places:
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"the document needs one {begin.strip()} and one {end}")
        head, _, rest = text.partition(begin)
        text = head + begin + parts[name] + end + rest.partition(end)[2]
    return text
