"""Links that another user lays where root writes: nothing is written through them."""
import os

from conftest import NOBODY

from harness import check_recording


def link(target, path):
    os.symlink(target, path)
    os.lchown(path, NOBODY, NOBODY)


def test_the_cache_of_another_user(ada, program, tmp_path, theirs, victim):
    """Root with another user's environment (sudo that keeps it): nothing is read from his cache, nothing left in it."""
    own = tmp_path / "own"
    assert ada.trace(tmp_path / "first", [program], env={**os.environ, "XDG_CACHE_HOME": str(own)}).status == 0
    names = [file.name for file in (own / "ada" / "plans").iterdir()]
    assert names
    plans = theirs / "ada" / "plans"
    plans.mkdir(parents=True)
    for place in (plans, plans.parent):
        os.chown(place, NOBODY, NOBODY)
    for name in names:
        link(victim, plans / f"{name}.tmp")
    before = sorted(os.listdir(plans))
    assert ada.trace(tmp_path / "second", [program], env={**os.environ, "XDG_CACHE_HOME": str(theirs)}).status == 0
    check_recording(ada, tmp_path / "second")
    assert sorted(os.listdir(plans)) == before


def test_no_cache_is_made_in_the_home_of_another_user(ada, program, tmp_path, theirs):
    env = {**os.environ, "HOME": str(theirs)}
    env.pop("XDG_CACHE_HOME", None)
    assert ada.trace(tmp_path / "out", [program], env=env).status == 0
    check_recording(ada, tmp_path / "out")
    assert not list(theirs.iterdir())


def test_a_link_in_the_cache_itself(ada, program, tmp_path, victim):
    """In root's own cache, as a restored backup may bring it: a link is no plan, and is replaced as itself."""
    plans = tmp_path / "cache" / "ada" / "plans"
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert ada.trace(tmp_path / "first", [program], env=env).status == 0
    for plan in list(plans.iterdir()):
        plan.unlink()
        link(victim, plan)
    assert ada.trace(tmp_path / "second", [program], env=env).status == 0
    check_recording(ada, tmp_path / "second")
    assert not any(plan.is_symlink() for plan in plans.iterdir())


def test_a_pipe_in_the_cache(ada, program, tmp_path):
    """Is not waited for."""
    plans = tmp_path / "cache" / "ada" / "plans"
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert ada.trace(tmp_path / "first", [program], env=env).status == 0
    for plan in list(plans.iterdir()):
        plan.unlink()
        os.mkfifo(plan)
    assert ada.trace(tmp_path / "second", [program], env=env, timeout=30).status == 0
    check_recording(ada, tmp_path / "second")


def test_a_session_that_is_moved_away(ada, live, theirs, victim):
    """The directory above is another user's: he moves the session and lays one of his own in its place, full of links."""
    recording = live(theirs)
    recording.tell("one\n")
    names = [file.relative_to(recording.session) for file in recording.session.rglob("*")]
    moved = theirs / "moved"
    recording.session.rename(moved)
    recording.session.mkdir()
    os.chown(recording.session, NOBODY, NOBODY)
    for name in names:
        if (moved / name).is_dir():
            (recording.session / name).mkdir(exist_ok=True)
            os.chown(recording.session / name, NOBODY, NOBODY)
        else:
            link(victim, recording.session / name)
            link(victim, recording.session / f"{name}.tmp")
    planted = sorted(recording.session.rglob("*"))
    recording.tell("two\n")
    recording.end()
    assert sorted(recording.session.rglob("*")) == planted
    moved.rename(recording.session.with_name("kept"))
    for place in (theirs / "kept").rglob("*"):
        assert place.stat().st_uid == 0
    result = ada("verify", theirs / "kept")
    assert result.status == 0, result.stdout.decode() + result.stderr.decode()


def test_an_output_that_is_another_users_link(ada, program, theirs, victim, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    link(mine, theirs / "ada_traces")
    result = ada("trace", "--", program, cwd=theirs)
    assert result.status == 125 and result.stderr.count(b"\n") == 1
    assert b"ada_traces is a link of another user" in result.stderr
    assert not list(mine.iterdir())
    os.unlink(theirs / "ada_traces")
    os.symlink(mine, theirs / "ada_traces")         # root's own
    assert ada("trace", "--", program, cwd=theirs).status == 0
    check_recording(ada, mine)


def test_what_lies_in_the_output_of_another_user(ada, program, theirs, victim):
    """His `latest` is replaced, whatever it leads to."""
    link(victim, theirs / "latest")
    assert ada.trace(theirs, [program]).status == 0
    check_recording(ada, theirs)
    assert os.readlink(theirs / "latest").startswith("session_")
