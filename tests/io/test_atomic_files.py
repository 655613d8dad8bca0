"""Files that are whole or not there, folders that one process has, checksums of what is read back."""

import errno
import json
import os
import signal
import stat
import threading
import time

import pytest
import torch

from ehnn._utils import atomic
from ehnn._utils.atomic import atomic_write, remove_parts
from ehnn._utils.folders import FolderInUseError, claimed, run_folder, write_json
from ehnn._utils.sealed import load_tensors, read_document, save_tensors, write_document

RUN = {"owned": ["model.json", "part", "weights-*"], "valuable": ["model.json"]}


# ---------------------------------------------------------------------- files


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()), daemon=True)
    reader.start()
    with atomic_write(pipe) as file:
        file.write("text")
    reader.join(10)
    assert found == ["text"]
    assert pipe.is_fifo()


def test_a_device_is_written_to_and_stays_one(tmp_path):
    device = tmp_path / "null"
    try:  # one of our own: root could replace that of the machine
        os.mknod(device, stat.S_IFCHR | 0o600, os.stat("/dev/null").st_rdev)
    except PermissionError:
        pytest.skip("only root can make a device")
    link = tmp_path / "link"  # what it points to must not be replaced
    link.symlink_to(device)
    for path in (device, link):
        with atomic_write(path) as file:
            file.write("text")
    assert device.is_char_device()
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "null"]


def test_a_full_disk_names_the_file(tmp_path):
    with pytest.raises(OSError, match=r"No space left on device: '.*table\.csv'") as caught:  # noqa: SIM117
        with atomic_write(tmp_path / "table.csv"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == []


def test_the_file_and_its_folder_are_synced_around_the_rename(tmp_path, monkeypatch):
    order = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append(kind(handle)), fsync(handle)))
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("rename"), replace(a, b)))
    with atomic_write(tmp_path / "file") as file:
        file.write("text")
    assert order == ["file", "rename", "folder"]


def kind(handle: int) -> str:
    return "folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file"


def test_parts_of_dead_writers_are_removed_and_those_of_living_ones_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_cleaned", set())
    dead, other = tmp_path / ".old.0123abcd.part", tmp_path / ".notes.part"
    for path in (dead, other):
        path.write_text("half")
    with atomic_write(tmp_path / "first") as file:
        file.write("1")
        assert not dead.exists()
        assert other.exists()  # of somebody else: not named as ours are
        remove_parts(tmp_path)
    assert (tmp_path / "first").read_text() == "1"


def test_a_part_that_was_removed_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    real, calls = atomic.lock, []

    def lock(handle, wait=False):
        if not calls:
            for path in tmp_path.glob(".*.part"):
                path.unlink()
        calls.append(wait)
        return real(handle, wait)

    monkeypatch.setattr(atomic, "lock", lock)
    with atomic_write(tmp_path / "file") as file:
        file.write("text")
    assert (tmp_path / "file").read_text() == "text"
    assert calls == [True, True]


# ---------------------------------------------------------------------- folders


@pytest.fixture
def holder(tmp_path):
    """The number of another process, which has claimed ``tmp_path/run``."""
    mine, theirs = os.pipe()
    child = os.fork()
    if not child:
        with claimed(tmp_path / "run"):
            os.write(theirs, b"!")
            time.sleep(600)
        os._exit(0)
    assert os.read(mine, 1) == b"!"
    yield child
    for handle in (mine, theirs):
        os.close(handle)


def test_a_second_process_is_refused_until_the_first_is_dead(tmp_path, holder):
    with pytest.raises(FolderInUseError, match=rf"run is in use by process {holder} on"):  # noqa: SIM117
        with claimed(tmp_path / "run"):
            pass
    os.kill(holder, signal.SIGKILL)
    os.waitpid(holder, 0)
    assert (tmp_path / "run" / ".claim").exists()
    with claimed(tmp_path / "run"):
        (tmp_path / "run" / "file").touch()
    assert os.listdir(tmp_path / "run") == ["file"]


def test_another_thread_is_refused_and_the_same_one_is_not(tmp_path):
    errors = []

    def second():
        try:
            with claimed(tmp_path / "run"):
                pass
        except FolderInUseError as error:
            errors.append(str(error))

    with claimed(tmp_path / "run"), claimed(tmp_path / "run"):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    assert len(errors) == 1
    assert "another thread" in errors[0]
    second()
    assert len(errors) == 1


def test_a_claim_without_a_file_leaves_nothing(tmp_path):
    with claimed(tmp_path / "a" / "b"):
        pass
    assert os.listdir(tmp_path) == []


def begin(path, identity, fresh=False) -> bool:
    with run_folder(path, identity, fresh=fresh, **RUN) as run:
        if not run.going_on:
            run.begin()
            write_json(run.path / "model.json", identity)
        return run.going_on


def test_a_run_goes_on_and_another_is_refused_or_takes_its_place(tmp_path):
    folder = tmp_path / "run"
    assert not begin(folder, {"seed": 0})
    assert begin(folder, {"seed": 0})
    with pytest.raises(ValueError, match=r"other data or options \(seed was 0, now 1\); choose another"):
        begin(folder, {"seed": 1})
    (folder / "notes.txt").write_text("mine")
    (folder / "part").mkdir()
    (folder / "part" / "old").touch()
    assert not begin(folder, {"seed": 1}, fresh=True)
    assert sorted(os.listdir(folder)) == ["model.json", "notes.txt", "request.json"]
    assert json.loads((folder / "model.json").read_text()) == {"seed": 1}


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match="not empty and holds no run"):
        begin(tmp_path, {"seed": 0}, fresh=True)
    assert os.listdir(tmp_path) == ["letter.txt"]


def killed_at(nth: int, name: str, work) -> bool:
    """Do ``work`` in a process that dies before the nth call of ``os.name``; whether it did."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    real, calls = getattr(os, name), []

    def die(*args, **kwargs):
        calls.append(args)
        if len(calls) > nth:
            os._exit(9)
        return real(*args, **kwargs)

    setattr(os, name, die)
    try:
        work()
    finally:
        os._exit(0)


@pytest.mark.parametrize("name", ["unlink", "replace", "open", "rmdir", "fsync"])
def test_a_kill_while_a_run_is_replaced_can_be_gone_on_from(tmp_path, name):
    for nth in range(30):
        folder = tmp_path / f"{name}-{nth}"
        begin(folder, {"seed": 0})
        for old in ("weights-1", "weights-2"):
            (folder / old).touch()
        (folder / "part").mkdir()
        killed = killed_at(nth, name, lambda folder=folder: begin(folder, {"seed": 1}, fresh=True))
        begin(folder, {"seed": 1}, fresh=True)
        assert sorted(os.listdir(folder)) == ["model.json", "request.json"]
        assert begin(folder, {"seed": 1})
        if not killed:
            break
    assert not killed
    assert nth > 0


def test_an_old_run_that_was_half_replaced_does_not_go_on(tmp_path):
    for nth in range(8):
        folder = tmp_path / str(nth)
        begin(folder, {"seed": 0})
        (folder / "weights-1").touch()
        killed_at(nth, "unlink", lambda folder=folder: begin(folder, {"seed": 1}, fresh=True))
        replaced = json.loads((folder / "request.json").read_text()) == {"seed": 1}
        begin(folder, {"seed": 0}, fresh=replaced)
        assert json.loads((folder / "model.json").read_text()) == {"seed": 0}


# ---------------------------------------------------------------------- checksums


def tensors():
    numbers = torch.arange(12.0).reshape(3, 4)
    return {"a": numbers, "b": torch.tensor(7), "c": numbers.bfloat16(), "none": torch.zeros(0, 3)}


def test_tensors_come_back_with_their_state(tmp_path):
    save_tensors(tmp_path / "file", tensors(), {"epoch": 3})
    found, state = load_tensors(tmp_path / "file")
    assert state == {"epoch": 3}
    assert found.keys() == tensors().keys()
    assert all(torch.equal(found[k], v) and found[k].dtype == v.dtype for k, v in tensors().items())


def test_the_same_tensors_are_the_same_bytes(tmp_path):
    found = set()
    for _ in range(8):
        save_tensors(tmp_path / "file", tensors(), {"epoch": 3})
        found.add((tmp_path / "file").read_bytes())
    assert len(found) == 1


def test_no_flipped_bit_is_accepted(tmp_path):
    path = tmp_path / "file"
    save_tensors(path, tensors(), {"epoch": 3, "history": [0.5, 0.25]})
    data = path.read_bytes()
    for place in range(len(data)):
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            found, state = load_tensors(path)
        except ValueError:
            continue
        # A bit of the padding, or of the order of keys: what is read is what was written.
        assert state == {"epoch": 3, "history": [0.5, 0.25]}, place
        assert all(torch.equal(found[k], v) for k, v in tensors().items()), place


def test_no_flipped_bit_of_a_document_is_accepted(tmp_path):
    path = tmp_path / "model.json"
    about = {"format": "f", "names": ["a", "b"], "scale": 0.5}
    write_document(path, about, tensors(), "weights")
    assert read_document(path, lambda found: True)[0] | about == read_document(path, lambda found: True)[0]
    for file in sorted(tmp_path.iterdir()):
        data = file.read_bytes()
        for place in range(0, len(data), 3):
            flipped = bytearray(data)
            flipped[place] ^= 1 << place % 8
            file.write_bytes(flipped)
            try:
                found = read_document(path, lambda found: True)[0]
            except ValueError:
                continue
            assert {k: found.get(k) for k in about} == about, (file, place)  # white space
        file.write_bytes(data)


def test_a_document_takes_the_place_of_another_whole(tmp_path):
    write_document(tmp_path / "model.json", {"n": 1}, {"a": torch.ones(3)}, "weights")
    write_document(tmp_path / "model.json", {"n": 2}, {"a": torch.ones(4)}, "weights")
    about, found = read_document(tmp_path / "model.json", lambda found: True)
    assert (about["n"], len(found["a"])) == (2, 4)
    assert len(os.listdir(tmp_path)) == 2
