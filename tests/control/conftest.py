"""live(): a program that runs under ada until its input ends, and a session that can be spoken to meanwhile."""
import json
import subprocess
import time

import pytest
from live import Live

SOURCE = r"""#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) int work(int n) { __asm__ volatile("" ::: "memory"); return n + 1; }
__attribute__((noinline)) int asked(int n) { __asm__ volatile("" ::: "memory"); return work(n) - 1; }
int main(void)
{
	char line[16];
	struct pollfd input = { .fd = 0, .events = POLLIN };
	puts("ready");
	fflush(stdout);
	for (int n = 0;; n = work(n)) {
		if (poll(&input, 1, 1) <= 0)
			continue;
		ssize_t got = read(0, line, sizeof line);
		if (got <= 0)
			return 3;
		for (ssize_t i = 0; i < got; i++)
			if (line[i] == 'a')
				n = asked(n);
		puts("done");
		fflush(stdout);
	}
}
"""


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("control") / "program"
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", path], input=SOURCE.encode(), check=True)
    return path


class Recording(Live):
    def call(self, letters="a"):
        """The program calls asked() once for each a."""
        self.tell(letters)

    def control(self, command, *arguments, status=0, **options):
        result = self.ada(*command.split(), self.session, *arguments, timeout=60, **options)
        assert result.status == status, result.stdout.decode() + result.stderr.decode()
        return result.stderr.decode() if status else result.stdout.decode()

    def status(self):
        return json.loads(self.control("status --json"))

    def end(self):
        """Ends the program's input; ada's exit status."""
        self.process.stdin.close()
        return self.process.wait(60)

    def wait_for(self, holds, what, seconds=60):
        """Asks for the status until it is so."""
        end = time.monotonic() + seconds
        while not holds(status := self.status()):
            assert time.monotonic() < end, f"{what}: {status}"
            time.sleep(0.02)
        return status


@pytest.fixture
def live(ada, program, tmp_path):
    """live(OPTION...): starts it."""
    started = []

    def start(*options, output=tmp_path / "out", command=None):
        started.append(Recording(ada, output, command or [program], *options))
        return started[-1]
    yield start
    for recording in started:
        recording.close()
