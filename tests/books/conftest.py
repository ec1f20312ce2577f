import subprocess

import pytest

from books import OPTIONS


@pytest.fixture
def program(build_dir):
    return build_dir / "tests" / "books" / "books_program"


@pytest.fixture
def record(ada, program, tmp_path):
    """record(THREADS, ROUNDS, GENERATIONS, OPTION...): runs it to its end; the directory of sessions, and the program's book."""
    def run(threads, rounds, generations, *options, output=tmp_path / "out", before=(), status=0):
        book = tmp_path / "book"
        command = [*before, ada.path, "trace", "--quiet", f"--output={output}", *OPTIONS, *options, "--", program, book, threads,
                   rounds, generations]
        result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        assert result.returncode == status, result.stderr.decode()
        return output, book
    return run
