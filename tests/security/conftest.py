"""The user who records is root here; the one who would do harm is nobody."""
import os
import subprocess

import pytest
from live import Live

NOBODY = 65534
SOURCE = r"""#include <stdio.h>
#include <string.h>
__attribute__((noinline)) int work(int n) { __asm__ volatile("" ::: "memory"); return n + 1; }
int main(void)
{
	char line[16];
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		work(1);
		puts("done");
		fflush(stdout);
	}
}
"""


@pytest.fixture(autouse=True)
def needs_two_users():
    if os.geteuid():
        pytest.skip("needs root, and another user beside")


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("security") / "program"
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", path], input=SOURCE.encode(), check=True)
    return path


@pytest.fixture
def theirs(tmp_path):
    """A directory of nobody's."""
    place = tmp_path / "theirs"
    place.mkdir()
    os.chown(place, NOBODY, NOBODY)
    return place


@pytest.fixture
def victim(tmp_path):
    """A file of root's; what it holds after the test is what it held."""
    file = tmp_path / "victim"
    file.write_text("root's")
    file.chmod(0o640)
    yield file
    assert file.read_text() == "root's" and file.stat().st_mode & 0o7777 == 0o640


@pytest.fixture
def live(ada, program):
    """live(OUTPUT, OPTION...): starts a program that does a bit of work at each line."""
    started = []

    def start(output, *options):
        started.append(Live(ada, output, [program], *options))
        return started[-1]
    yield start
    for recording in started:
        recording.close()
