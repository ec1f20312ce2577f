"""Rules and options of detail that make no sense: one line that names the rule and the character, before the program starts."""
import os
import subprocess

import pytest

RULES = {                       # rule: what the line says
    "frobnicate=leaf": r"character 1: unknown kind",
    "crush": r"character 1: .*crash",
    "": r"character 1",
    "symbol=": r"character 8: a name is missing",
    "symbol": r"character 7",
    "latency=f>50": r"character 13: a unit is missing",
    "latency=f>50parsecs": r"character",
    "latency=f>-5ms": r"character 11: a negative value",
    "latency=f>99999999999999999999s": r"character",
    "latency=f": r"character",
    "depth>-1": r"character 7: a negative value",
    "rate=f>0/s": r"character 8: 0 is out of range",
    "rate=f>10/fortnight": r"character",
    "arg=f:9>1": r"character 7: 9 is out of range",
    "arg=f>1": r"character",
    "return=f<many": r"character",
    "p101=f>1ms": r"character 1: p101 is out of range",
    "p99=f>1ms@over=0": r"character",
    "cpu>500000%": r"character 5: 500000% is out of range",
    "cpu>x%": r"character",
    "memory>0": r"character 9: a unit is missing",
    "memory>200%": r"character",
    "time=25:00-26:00": r"character 6: 25:00 is no time of day",
    "time=10:30": r"character",
    "signal=SIGFOO": r"character 8: unknown signal .*SIGFPE",
    "crash=now": r"character",
    "manual extra": r"character",
    "crash@pre=25h": r"character 11: 25h is too long",
    "crash@pre=-1s": r"character",
    "crash@frob=1": r"character",
    "symbol=f@limit=0/s": r"character 16",
    "symbol=f@every=0": r"character",
    "symbol=f@pre=99999999999999999999ev": r"character 14",
    "symbol=caf\u00e9@frob=1": r"character 13",
}


@pytest.fixture
def refused_unrun(refused, tmp_path):
    """refused_unrun(STATUS, PATTERN, OPTION...): and the program did not run."""
    def check(status, pattern, *options):
        mark = tmp_path / "was-run"
        text = refused(status, pattern, "trace", *options, "--", "/usr/bin/touch", mark)
        assert not mark.exists()
        return text
    return check


@pytest.mark.parametrize("rule", RULES)
def test_rule(rule, refused_unrun):
    text = refused_unrun(125, RULES[rule], f"--trigger={rule}")
    assert text.startswith(f"ada trace: --trigger '{rule}': at character ")


@pytest.mark.parametrize("rule", RULES)
def test_rule_of_a_file(rule, refused_unrun, tmp_path):
    if not rule:
        pytest.skip("a blank line is no rule")
    file = tmp_path / "rules"
    file.write_text(f"# a comment\n\ncrash\n  {rule}  \n")
    assert refused_unrun(125, RULES[rule], f"--trigger-file={file}").startswith(f"ada trace: {file}:4 '{rule}': at character ")


def test_file_that_cannot_be_read(refused_unrun, tmp_path):
    refused_unrun(125, "missing.*No such file", f"--trigger-file={tmp_path}/missing")
    refused_unrun(125, "directory", f"--trigger-file={tmp_path}")
    (tmp_path / "zeros").write_bytes(b"crash\n\0\0\n")
    refused_unrun(125, "zero byte", f"--trigger-file={tmp_path}/zeros")
    if os.geteuid():
        (tmp_path / "locked").write_text("crash\n")
        (tmp_path / "locked").chmod(0)
        refused_unrun(125, "locked.*[Pp]ermission", f"--trigger-file={tmp_path}/locked")


def test_65_rules(refused_unrun, tmp_path):
    refused_unrun(125, "65 rules, of at most 64", *[f"--trigger=symbol=f{i}" for i in range(65)])
    (tmp_path / "rules").write_text("".join(f"symbol=f{i}\n" for i in range(64)))
    refused_unrun(125, "65 rules, of at most 64", f"--trigger-file={tmp_path}/rules", "--trigger=crash")


def test_64_rules(ada, tmp_path):
    result = ada.trace(tmp_path / "out", ["/bin/true"], *[f"--trigger=symbol=main@after={i + 1}" for i in range(64)])
    assert result.status == 0, result.stderr.decode()


def test_invalid_regex_is_taken_literally(ada, tmp_path):
    result = ada.trace(tmp_path / "out", ["/bin/true"], "--trigger=symbol=re:(", "--trigger=crash")
    lines = result.stderr.decode().splitlines()
    assert result.status == 0
    assert lines[0].startswith("ada: 'symbol=re:(': at character 12: missing closing parenthesis") and "literal" in lines[0]


def test_invalid_regex_with_strict(refused_unrun):
    refused_unrun(125, "'symbol=re:\\(': at character 12: missing closing parenthesis", "--strict", "--trigger=symbol=re:(")
    refused_unrun(125, "character 12", "--trigger=symbol=re:(", "--strict")


def test_unknown_function_is_a_warning_with_the_nearest_names(ada, tmp_path):
    program = tmp_path / "program"
    source = "__attribute__((noinline)) int process_image(int n) { __asm__(\"\"); return n; } int main(void) { return process_image(0); }"
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", program], input=source.encode(), check=True)
    result = ada.trace(tmp_path / "out", [program], "--trigger=symbol=process_imgae", "--trigger=latency=process_image>1s")
    text = result.stderr.decode()
    assert result.status == 0
    assert text.count("\n") == 1 and "process_imgae" in text and "process_image" in text.replace("process_imgae", ""), text


OPTIONS = {
    "--detail=everything": "off, regs, stack", "--stack-bytes=257": "stack-bytes=257", "--stack-bytes=-1": "stack-bytes=-1",
    "--stack-bytes=some": "stack-bytes", "--stack-at=return": "call, both", "--stack-bytes=": "stack-bytes",
    "--detail-buffer=0": "detail-buffer=0.*between 4", "--detail-buffer=3M": "detail-buffer", "--detail-buffer=65G": "detail-buffer",
    "--detail-buffer=-5": "detail-buffer", "--detail-mode=sideways": "circular, oneshot, streaming",
    "--pre-roll-sec=-1": "pre-roll-sec=-1.*seconds", "--pre-roll-sec=soon": "pre-roll-sec", "--pre-roll-sec=": "pre-roll-sec",
    "--pre-roll-sec=86401": "at most 86400", "--pre-roll-sec=1e9": "pre-roll-sec", "--pre-roll-sec=5ms": "pre-roll-sec",
    "--pre-roll-sec=99999999999999999999": "pre-roll-sec", "--pre-roll-sec=nan": "pre-roll-sec",
    "--post-roll-sec=-0.5": "post-roll-sec", "--post-roll-sec=86400.1": "at most 86400",
    "--pre-roll-events=-1": "pre-roll-events", "--pre-roll-events=1.5": "pre-roll-events",
    "--pre-roll-events=100000001": "0 to 100000000", "--post-roll-events=many": "post-roll-events",
    "--mark-signal=KILL": "mark-signal=KILL", "--mark-signal=SEGV": "mark-signal", "--mark-signal=0": "mark-signal",
    "--mark-signal=65": "mark-signal", "--mark-signal=": "mark-signal", "--mark-signal=INT": "mark-signal",
}


@pytest.mark.parametrize("option", OPTIONS)
def test_option(option, refused_unrun):
    refused_unrun(125, OPTIONS[option], option)


def test_contradictions(refused_unrun):
    refused_unrun(125, "regs keeps no stack", "--detail=regs", "--stack-bytes=64")
    refused_unrun(125, "detail=off: --trigger", "--trigger=crash", "--detail=off")
    refused_unrun(125, "detail=off: --mark-signal", "--detail=off", "--mark-signal=USR1")


@pytest.mark.parametrize("options", [
    ["--pre-roll-sec=0.25"], ["--pre-roll-sec=5s", "--post-roll-sec=0"], ["--pre-roll-events=0", "--post-roll-events=100000000"],
    ["--mark-signal=SIGUSR2"], ["--mark-signal=RTMIN+3"], ["--detail=regs", "--stack-bytes=0"], ["--detail=off"],
    ["--stack-bytes=256", "--detail-buffer=4M"], ["--pre-roll-sec=86400"]])
def test_options_that_are_fine(ada, tmp_path, options):
    result = ada.trace(tmp_path / "out", ["/bin/true"], *options)
    assert (result.status, result.stderr) == (0, b"")


@pytest.mark.parametrize("command", ["status", "mark", "stop", "trigger list", "trigger test", "trigger add", "trigger remove"])
def test_no_session(command, refused, tmp_path):
    arguments = {"test": ["crash"], "add": ["crash"], "remove": ["1"]}.get(command.split()[-1], [])
    refused(125, "no session in ./ada_traces/latest", *command.split(), *arguments)
    (tmp_path / "nothing").mkdir()
    refused(125, "nothing is no session", *command.split(), tmp_path / "nothing", *arguments)


@pytest.mark.parametrize("arguments", [
    ["trigger"], ["trigger", "add"], ["trigger", "remove"], ["trigger", "test"], ["trigger", "frobnicate"],
    ["trigger", "list", "crash"], ["trigger", "add", "crash", "exit"], ["status", "a", "b"], ["stop", "a", "b"],
    ["mark", "a", "b", "c"], ["trigger", "test", "crash", "--limit=0"], ["trigger", "test", "crash", "--format=xml"]])
def test_arguments(arguments, refused):
    refused(125, ".", *arguments)
