"""Options and arguments out of range: one line that names them, status 125, nothing run or made."""
import pytest

TRACE = {
    "--frobnicate": "frobnicate",
    "--index-buffer=0": "index-buffer",
    "--index-buffer=1K": "index-buffer",
    "--index-buffer=17G": "index-buffer",
    "--index-buffer=-5": "index-buffer",
    "--index-buffer=64X": "index-buffer",
    "--index-buffer=": "index-buffer",
    "--index-buffer=99999999999999999999G": "index-buffer",
    "--index-buffer=18446744073709551615G": "index-buffer",
    "--index-mode=sideways": "index-mode",
    "--on-full=maybe": "on-full",
    "--segment-size=1": "segment-size",
    "--segment-size=many": "segment-size",
    "--clock-resolution=0": "clock-resolution",
    "--clock-resolution=3": "clock-resolution",
    "--clock-resolution=2048": "clock-resolution",
    "--clock-resolution=fine": "clock-resolution",
    "--functions=re:(": "functions",
}
COMMANDS = ["trace", "status", "mark", "stop", "trigger", "functions", "info", "dump", "report", "verify"]


@pytest.mark.parametrize("option", TRACE)
def test_trace(option, refused, tmp_path):
    mark = tmp_path / "was-run"
    refused(125, TRACE[option], "trace", option, "--", "/usr/bin/touch", mark)
    assert not mark.exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_option(command, refused):
    refused(125, "no-such-option", command, "--no-such-option")


@pytest.mark.parametrize("words, said", [
    ("dump --min-durations=3ms", "unknown option '--min-durations=3ms': did you mean --min-duration?"),
    ("report --formt=json", "unknown option '--formt=json': did you mean --format?"),
    ("trace --budgett=5 ls", "unknown option '--budgett=5': did you mean --budget?"),
    ("trace --debug-flop ls", "unknown option '--debug-flop': did you mean --debug-flip?"),     # which no help shows
    ("dump --once", "unknown option '--once': `ada dump --help` lists them"),
    ("dump --m=3", "'--m=3' is short for several: --module, --max-depth or --min-duration"),
    ("trace --bud=3 ls", "'--bud=3' is short for several: --budget or --budget-forget"),
    ("dump --min-duration", "--min-duration wants a value: --min-duration=TIME"),
    ("dump --min-d", "--min-duration wants a value: --min-duration=TIME"),
    ("report -f", "--format wants a value: --format=FORMAT"),
    ("top --once=3", "--once takes no value, not even '3'"),
    ("dump -Z", "unknown option '-Z': `ada dump --help` lists them"),
    ("dump -limit=3", "unknown option '-l': did you mean --limit?"),     # a dash is missing
    ("trace -quite ls", "unknown option '-u': did you mean --quiet?"),
    ("export -qZx", "unknown option '-Z': `ada export --help` lists them"),
    ("export -q -oZ -Y", "unknown option '-Y': `ada export --help` lists them"),
])
def test_what_is_wrong_with_an_option(ada, words, said, tmp_path):
    result = ada(*words.split(), cwd=tmp_path)
    assert (result.status, result.stdout, result.stderr.decode()) == (125, b"", f"ada {words.split()[0]}: {said}\n")


@pytest.mark.parametrize("command", ["info", "dump", "report", "verify"])
def test_unknown_format(command, refused):
    refused(125, "xml", command, "--format=xml")


@pytest.mark.parametrize("option", ["--limit=0", "--limit=-1", "--limit=some", "--limit=18446744073709551616"])
def test_limits(option, refused):
    refused(125, "limit", "dump", option)


def test_arguments(refused):
    refused(125, "frobnicate", "frobnicate")
    refused(125, "rtace.*trace", "rtace")
    refused(125, ".", "trace")
    refused(125, ".", "trace", "--quiet", "--")
    refused(125, ".", "functions")
    refused(125, "unexpected", "info", "one", "two")
    refused(125, "--sched takes a value, one of off, auto", "trace", "--sched", "-o", "somewhere", "true")


def test_help(ada, tmp_path):
    for command in ([], *([c] for c in COMMANDS)):
        result = ada(*command, "--help", cwd=tmp_path)
        assert result.status == 0 and result.stdout and not result.stderr
    assert ada("--version").stdout.startswith(b"ada ")


@pytest.mark.traces
def test_patterns_that_fit_nothing_are_told(ada, tmp_path):
    """With the nearest name, once the program has run: what it loads late may fit."""
    words = ["trace", f"--output={tmp_path / 'out'}", "--quiet", "--exclude=mallok,re:/^mallo.$/,frobnicate", "--functions=m*", "--", "/bin/true"]
    told = ada(*words)
    assert told.status == 0
    assert told.stderr.decode().splitlines() == ["ada: --exclude: no function is called mallok; near it: malloc",
                                                 "ada: --exclude: no function is called frobnicate"]
