"""What `ada view` answers, without a browser: who may ask, and that pictures and calls are what the other commands say."""
import gzip
import json
import re
import signal

import pytest

RANDOM = "random:11:3:30000"
PAGE = ["", "style.css", "uplot.css", "uplot.js", "main.js", "api.js", "cite.js", "format.js", "names.js", "state.js", "timeline.js", "draw.js", "input.js", "strips.js",
        "details.js", "ranged.js", "flame.js", "report.js", "narrative.js", "search.js", "hits.js", "pick.js", "lanes.js", "waits.js",
        "baked.js"]


def slices_of(thread):
    """Depth, column, start, duration, function, calls, busy, seq."""
    flat = thread["slices"]
    return [tuple(flat[at:at + 8]) for at in range(0, len(flat), 8)]


@pytest.fixture(scope="module")
def calls(ada, session):
    """The calls of RANDOM by `ada query`, by thread of the session; times from the session's start."""
    path = session(RANDOM)
    start = json.loads((path / "session.json").read_text())["startNs"]
    result = ada("query", "--format=json", path, "SELECT * FROM calls")
    assert result.status == 0, result.stderr
    rows = json.loads(result.stdout)["rows"]
    for row in rows:
        row["start"] = row["start_ns"] - start
    return rows


def of_thread(calls, facts, number):
    return [row for row in calls if row["tid"] == facts["threads"][number]["tid"]]


@pytest.mark.parametrize("change", [
    lambda url: url[:-3] + "00/", lambda url: re.sub(r"/[0-9a-f]{32}/", "/", url), lambda url: url[:-1] + "0/", lambda url: url.replace("//127", "//127") + "../session",
])
def test_without_the_token_nothing_is_answered(view, change):
    server = view("plain")
    if (url := change(server.url)) != server.url:
        assert server.get(url=url)[0] in (403, 404)
    assert server.get(url=url, path="session")[0] in (403, 404)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "", "localhost.evil.example"])
def test_another_host_is_refused(view, host):
    server = view("plain")
    for path in ("", "session", "main.js"):
        status, body, _ = server.get(path, headers={"Host": host})
        assert status == 403 and b"session_" not in body


def test_localhost_is_the_same_place(view):
    server = view("plain")
    port = server.url.split(":")[2].split("/")[0]
    assert server.get("session", headers={"Host": f"localhost:{port}"})[0] == 200


def test_only_get(view):
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert view("plain").get("session", method=method)[0] == 405


def test_the_page_is_small_and_its_own(view):
    server, weight = view("plain"), 0
    for name in PAGE:
        status, body, headers = server.get(name)
        assert status == 200, name
        assert headers["Content-Security-Policy"].startswith("default-src 'none'") and headers["X-Content-Type-Options"] == "nosniff"
        weight += len(gzip.compress(body))
        if not name.startswith("uplot"):
            assert b"http://" not in body and b"https://" not in body and b"eval(" not in body and b"innerHTML" not in body
        for module in re.findall(rb'from "\./(\w+\.js)"', body):
            assert module.decode() in PAGE
    assert weight < 400_000
    print(f"the page weighs {weight} bytes, gzipped")
    assert server.get("nothing.js")[0] == 404 and server.get("../view.c")[0] == 404


def test_facts_are_those_of_info(ada, session, view):
    facts = view(RANDOM).facts
    rows = ada.rows("info", session(RANDOM))
    assert facts["events"] == sum(thread["events"] for thread in facts["threads"]) == sum(row["events"] for row in rows if "events" in row)
    assert facts["complete"] and not facts["lost"] and not facts["windows"]


@pytest.mark.parametrize("columns", [1, 7, 300, 4000])
@pytest.mark.parametrize("part", [(0, 1), (0.2, 0.4), (0.5, 0.5003)])
def test_a_picture_has_the_calls_of_query(view, calls, columns, part):
    server = view(RANDOM)
    start, end = min(row["start"] for row in calls), max(row["start"] + (row["duration_ns"] or 0) for row in calls) + 1
    first, last = (int(start + share * (end - start)) for share in part)
    told = server.ask("timeline", threads="0,1,2", columns=columns, depths=100, **{"from": first, "to": last})
    for thread in told["threads"]:
        wanted = of_thread(calls, server.facts, thread["thread"])
        known = {(row["depth"], row["start"], row["duration_ns"], row["function"], row["index_seq"]) for row in wanted}
        begun = [row for row in wanted if first <= row["start"] < last]
        drawn = slices_of(thread)
        for depth, column, begins, duration, function, _, _, seq in drawn:
            name = told["functions"][function][0]
            assert (depth, begins, duration, name, seq) in known
            assert begins < first or column == (begins - first) * columns // (last - first)
        assert sum(row[5] for row in drawn) == len(begun)
        assert {row[7] for row in drawn if row[5] == 0} == {row["index_seq"] for row in wanted
                                                            if row["start"] < first <= row["start"] + row["duration_ns"]}
        wide = {row["index_seq"] for row in begun if row["duration_ns"] > (last - first) / columns + 1}
        assert wide <= {row[7] for row in drawn}


def test_many_threads_at_once_have_wider_columns(view):
    """So that no answer reads more than a bound; `exact` asks for each pixel."""
    server = view(RANDOM)
    number, busiest = max(enumerate(server.facts["threads"]), key=lambda each: each[1]["events"])
    asked = {"threads": ",".join([str(number)] * 200), "columns": 601, "from": 0, "to": busiest["to"] + 1}
    for thread in server.ask("timeline", **asked)["threads"][:3]:
        drawn = slices_of(thread)
        assert thread["coarse"] > 1 and sum(row[5] for row in drawn) == sum(
            row[5] for row in slices_of(server.ask("timeline", **{**asked, "threads": number})["threads"][0]))
        assert all(row[1] % thread["coarse"] == 0 and row[1] < 601 for row in drawn)
    assert server.ask("timeline", **asked, exact=1)["threads"][0]["coarse"] == 1
    assert server.ask("timeline", **{**asked, "threads": number})["threads"][0]["coarse"] == 1


def test_a_call_is_told_as_query_tells_it(view, calls):
    server = view(RANDOM)
    by_function = {}
    for row in calls:
        by_function.setdefault(row["function"], []).append(row)
    for thread in range(3):
        mine = of_thread(calls, server.facts, thread)
        for row in mine[::max(1, len(mine) // 12)]:
            told = server.ask("call", thread=thread, seq=row["index_seq"])
            assert (told["function"][0], told["duration_ns"], told["at"], told["depth"]) == (row["function"], row["duration_ns"], row["start"], row["depth"])
            assert told["path"][-1]["seq"] == row["index_seq"] and len(told["path"]) == row["depth"] + 1
            assert (told["path"][-2]["function"][0] if row["depth"] else None) == row["caller"]
            same = sorted(other["index_seq"] for other in mine if other["function"] == row["function"])
            at = same.index(row["index_seq"])
            assert told.get("previous", {}).get("seq") == (same[at - 1] if at else None)
            assert told.get("next", {}).get("seq") == (same[at + 1] if at + 1 < len(same) else None)
            below = [other["index_seq"] for other in mine if other["index_seq"] == row["index_seq"] + 1]
            assert told.get("callee", {}).get("seq") == (below[0] if below and row["end_index_seq"] != row["index_seq"] + 1 else None)
            assert told["usual"]["calls"] == len(by_function[row["function"]])
            assert told["usual"]["max_ns"] == max(other["duration_ns"] for other in by_function[row["function"]])


def test_a_search_marks_where_the_function_is_called(view, calls):
    server = view(RANDOM)
    end = max(row["start"] for row in calls) + 1
    told = server.ask("search", function="malloc", columns=100, **{"from": 0, "to": end})
    assert [each["function"] for each in told["functions"]] == ["malloc"] and told["found"] == 1
    assert told["functions"][0]["calls"] == sum(row["function"] == "malloc" for row in calls)
    for thread in range(3):
        mine = [row for row in of_thread(calls, server.facts, thread) if row["function"] == "malloc"]
        hit = next((each for each in told["hits"] if each["thread"] == thread), None)
        assert (hit["columns"] if hit else []) == sorted({row["start"] * 100 // end for row in mine})
        assert not hit or hit["first"] == min(row["index_seq"] for row in mine)
    assert {each["function"] for each in server.ask("search", function="re*")["functions"]} == {"render", "recurse", "read"}
    assert {each["function"] for each in server.ask("search", function="ECO")["functions"]} == {"decode"}
    assert server.ask("search", function="nothing like it")["found"] == 0
    assert {each["function"] for each in server.ask("search", function="=read")["functions"]} == {"read"}
    assert server.ask("search", function="=rea")["found"] == server.ask("search", function="=re*")["found"] == 0


def hits_from(server, asked, step, at, most=100_000):
    """Hit after hit; and how many answers had none yet."""
    found, going_on = [], 0
    while len(found) < most and (told := server.ask("hit", step=step, **asked, **at))["hit"] or "looked" in told:
        if hit := told["hit"]:
            found.append((hit["at"], hit["thread"], hit["seq"], hit["function"][0]))
            at = {"time": hit["at"], "thread": hit["thread"], "seq": hit["seq"]}
        else:
            going_on += 1
            at = {"time": told["looked"]}
    return found, going_on


def known_hits(facts, calls, names):
    number = {thread["tid"]: at for at, thread in enumerate(facts["threads"])}
    return sorted((row["start"], number[row["tid"]], row["index_seq"], row["function"]) for row in calls if row["function"] in names)


@pytest.mark.parametrize("more", [{}, {"for": 0}])
def test_hits_are_all_calls_one_after_another(view, calls, more):
    """Of all threads in the order of their times, forwards and backwards; also where each answer has time for a leaf alone."""
    server = view(RANDOM)
    every = known_hits(server.facts, calls, {"render", "recurse", "read"})
    mixed = next(i for i in range(30, len(every)) if len({hit[1] for hit in every[i - 3:i + 3]}) == 3)
    wanted = every[mixed - 30:mixed + 30]
    found, going_on = hits_from(server, {"function": "re*", **more}, 1, {"time": wanted[0][0]}, 60)
    assert len(wanted) == 60 and len({hit[1] for hit in wanted}) > 1 and found == wanted
    back = hits_from(server, {"function": "re*", "only": wanted[-1][1], **more}, -1, {"time": server.facts["end"] + 1})[0]
    assert back == [hit for hit in every if hit[1] == wanted[-1][1]][::-1]
    assert "for" in more or not going_on
    middle = wanted[30][0]
    for step, hit in ((1, next(hit for hit in wanted if hit[0] >= middle)), (-1, next(hit for hit in wanted[::-1] if hit[0] < middle))):
        assert hits_from(server, {"function": "re*", **more}, step, {"time": middle}, 1)[0] == [hit]
    assert hits_from(server, {"function": "nothing like it", **more}, 1, {"time": 0}) == ([], 0)


def test_an_event_at_another_time_is_no_place_to_go_on_from(view, calls):
    """The page may have seen a session that was opened anew since."""
    server = view(RANDOM)
    (at, thread, seq, _), after, *_ = known_hits(server.facts, calls, {"malloc"})
    asked = {"function": "=malloc", "step": 1, "thread": thread, "seq": seq}
    assert server.ask("hit", time=at, **asked)["hit"]["seq"] == after[2]
    assert server.ask("hit", time=at - 1, **asked)["hit"]["seq"] == seq
    assert server.ask("hit", **{**asked, "time": at, "thread": 99})["hit"]["seq"] == seq


def test_a_search_without_time_goes_on(view):
    server = view(RANDOM)
    asked = {"function": "malloc", "columns": 200, "from": 0, "to": server.facts["end"] + 1}
    whole, columns, left, answers = server.ask("search", **asked), {}, {}, 0
    while left is not None:
        told = server.ask("search", **asked, **left, **{"for": 0})
        for hit in told["hits"]:
            columns.setdefault(hit["thread"], set()).update(hit["columns"])
        left, answers = told.get("left"), answers + 1
    assert answers > 3 and "left" not in whole
    assert columns == {hit["thread"]: set(hit["columns"]) for hit in whole["hits"]}


@pytest.mark.parametrize("command", ["report", "graph", "narrate"])
def test_commands_answer_as_commands(ada, session, view, command):
    server = view("story")
    more = ["--min=0.05", "--clip"] if command == "graph" else []
    assert server.ask("command", run=command)["rows"] == ada.rows(command, session("story"), *more)
    assert server.ask("command", run=command, window=0)["rows"] == ada.rows(command, session("story"), "--window=0", *more)


def test_detail_is_what_dump_says(ada, session, view):
    server = view("detail")
    lines = server.get("command", run="detail", thread=0, seq=5)[1].splitlines()
    assert json.loads(lines[0])["detail"] and json.loads(lines[0])["index_seq"] == 5
    assert json.loads(server.get("command", run="detail", thread=0, seq=1)[1].splitlines()[0])["detail"] is None
    assert "rows" in server.ask("command", run="cause", thread=0, seq=5)


def test_windows_and_losses_are_told(view):
    facts = view("detail").facts
    assert len(facts["windows"]) == 2 and all(window["to"] > window["from"] for window in facts["windows"])
    lossy = view("lossy")
    assert lossy.facts["lost"] == 12 and not lossy.facts["complete"]
    told = lossy.ask("timeline", threads="0", columns=100, **{"from": 0, "to": 1000})
    begin, end, events = told["threads"][0]["losses"]
    assert begin < end and events == 12


@pytest.mark.parametrize("path", [
    "timeline?threads=9", "timeline?threads=x", "timeline?threads=0&from=9&to=3", "timeline?threads=0&columns=0",
    "timeline?threads=0&columns=99999999", "timeline?threads=0&depths=0", "timeline?from=-1", "timeline?from=18446744073709551616", "call?thread=9&seq=0",
    "call?thread=-1&seq=0", "call?seq=0", "call?thread=0&seq=x", "search", "search?function=", "search?function=re:/(", "search?function=a&for=x", "search?function=a&seq=x", "hit", "hit?step=1", "hit?function=a", "hit?function=a&step=2", "hit?function=a&step=1&time=x",
    "hit?function=a&step=1&seq=-1", "command", "command?run=trace", "command?run=report&from=x",
    "command?run=detail&thread=7&seq=0", "command?run=report&window=x",
])
def test_bad_questions_have_a_line_as_answer(view, path):
    server = view("plain")
    status, body, _ = server.get(path)
    assert status == 400 and len(body.splitlines()) == 1, (status, body)
    assert server.ask("session")["state"] == "ready"


def test_what_is_not_there_is_not_found(view):
    assert view("plain").get("call", thread=0, seq=99999)[0] == 404
    status, body, _ = view("plain").get("command", run="report", window=5)
    assert status == 500 and body.startswith(b"ada report: ")


def test_names_that_need_quoting(view):
    server = view("names")
    told = server.ask("timeline", threads="0", columns=200, **{"from": 0, "to": 100})
    names = [name for name, _ in told["functions"]]
    assert {"a,b", 'say "hi"', "line\nbreak", "\x1b[31mred"} <= set(names)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(serve, session, number):
    assert serve(session("plain")).end(number) == 0


def test_a_port_can_be_chosen_once(serve, session, ada):
    first = serve(session("plain"))
    port = first.url.split(":")[2].split("/")[0]
    result = ada("view", "--no-browser", f"--port={port}", session("plain"))
    assert result.status == 125 and f"port {port}".encode() in result.stderr
    for bad in ("0", "65536", "x"):
        assert ada("view", f"--port={bad}", session("plain")).status == 125


def test_no_session_is_an_error(ada, tmp_path):
    result = ada("view", "--no-browser", tmp_path)
    assert result.status == 125 and len(result.stderr.splitlines()) == 1
