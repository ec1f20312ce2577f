"""What documents show as typed and printed: the commands of a manual page's EXAMPLES, where they run, and how their output is compared."""
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess

PATIENCE = 60


def of_page(text):
    """[(command, what the page shows of its output)]; and the blocks that are no commands."""
    section = text.partition("\n.SH EXAMPLES\n")[2].partition("\n.SH ")[0]
    steps, others = [], []
    for block in re.findall(r"^\.(?:EX|nf)\n(.*?)^\.(?:EE|fi)$", section, re.MULTILINE | re.DOTALL):
        block = re.sub(r"\\(?:&|\(aq|([-e ]))", lambda found: {"-": "-", "e": "\\", " ": " "}.get(found[1], "'" if "aq" in found[0] else ""), block)
        if not block.startswith("$ "):
            others.append(block)
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = step.splitlines()
            while not is_whole(command):
                command += "\n" + lines.pop(0).removeprefix("> ")
            steps.append((command, "\n".join(lines).strip()))
    return steps, others


def is_whole(command):
    """Whether its quotes end."""
    try:
        shlex.split(command)
    except ValueError:
        return False
    return True


def plain(text):
    """Without figures, numbers and places: what is the same in each run."""
    text = " ".join(text.replace(socket.gethostname(), "HOST").split())
    for pattern, word in ((r"\S*\bsession_\d+_\d+(_\d+)?", "SESSION"), (r"\d+ events LOST \(buffer full\)|nothing lost", "LOSS"), (r"\b[\d:-]+T[\d:.]+Z", "TIME"),
                          (r"http://127\.0\.0\.1:\d+/\w+/", "ADDRESS"), (r"0x[0-9a-f]+|\b(?=[0-9a-f]*\d)[0-9a-f]{8,16}\b", "N"),
                          (r"[+-]?\d[\d.,:]*( ?(ns|us|ms|s|[kMG]|[KMG]iB|bytes)\b)?", "N"), (r"\b(segment|thread|window|mark|process)(es|s)?\b", r"\1")):
        text = re.sub(pattern, word, text)
    return text


def is_alike(said, shown):
    """Whether an output begins as the page's does, and ends with the same sentence about what was lost, where the page has one."""
    first, last = shown.splitlines()[0], shown.splitlines()[-1]
    ends = [re.sub(r"; N % have detail", "", plain(text.splitlines()[-1] if text else "")) for text in (said, last)]
    return plain(said).startswith(plain(first)) and (not re.search(r" was lost[.;]|no loss is recorded", last) or ends[0] == ends[1])


def heads(text):
    """What its lines begin with, but for lines of figures."""
    return {re.split(r"[ :,=|;]", plain(line))[0] for line in text.splitlines() if re.match(r" *[a-z]", line)}


class Scene:
    """A directory in which a page's commands run. `substitutes`: what they have to say in place of what the page says."""

    def __init__(self, ada, place):
        self.place, self.substitutes = place, []
        (place / "bin").mkdir()
        (place / "bin" / "ada").symlink_to(ada.path)
        self.environment = {**os.environ, "PATH": f"{place}/bin:{os.environ['PATH']}"}

    def run(self, command, status=0, said=""):
        """What it prints, where it ends as it should; it is said `said`."""
        result = subprocess.run(["bash", "-c", command], cwd=self.place, env=self.environment, input=said, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, timeout=PATIENCE, text=True)
        assert result.returncode == status, f"{command}: status {result.returncode}: {result.stdout}"
        return result.stdout

    def compile(self, *sources):
        for source in sources:
            shutil.copy(source, self.place)
            self.run(f"gcc -O1 -g -pthread -o {source.stem} {source.name}")

    def serve(self, command, lines):
        """The first lines of a command that goes on until it is interrupted."""
        process = subprocess.Popen(["bash", "-c", "exec " + command], cwd=self.place, env=self.environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True, text=True)
        try:
            return "".join(process.stdout.readline() for _ in range(lines))
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=PATIENCE)
