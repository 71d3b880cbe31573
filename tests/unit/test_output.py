# SPDX-License-Identifier: BSD-3-Clause
import gc
import itertools
import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

from svmcut.base.errors import OutputError
from svmcut.files.output import check_writable, write_atomically

posix = pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")
not_root = pytest.mark.skipif(
    getattr(os, "geteuid", lambda: 1)() == 0, reason="root may write everywhere"
)


def write(path, data=b"new"):
    with write_atomically(str(path)) as output:
        output.write(data)


def test_new_file_has_the_mode_the_umask_leaves(tmp_path):
    path = tmp_path / "file"
    old = os.umask(0o027)
    try:
        write(path)
    finally:
        os.umask(old)
    assert path.read_bytes() == b"new"
    assert os.name == "nt" or stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["file"]


@posix
def test_mode_of_an_existing_file_is_kept(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o604)
    inode = path.stat().st_ino
    write(path)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    assert path.stat().st_ino != inode


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_failure_of_the_block_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(error), write_atomically(str(path)) as output:
        output.write(b"new" * 10_000_000)
        raise error
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_failure_of_the_system_leaves_the_old_file(tmp_path, monkeypatch, step):
    def fail(*_):
        raise OSError(28, "No space left on device")

    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OutputError, match="No space left"):
        write(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


LIMITED = """
import resource, sys
from svmcut.base.errors import OutputError
from svmcut.files.output import write_atomically
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    with write_atomically(sys.argv[1]) as output:
        for _ in range(30):
            output.write(b"x" * 100_000)
except OutputError as error:
    print(error)
"""


@posix
@pytest.mark.parametrize("limit", [0, 1, 1_500_000, 2_999_999])
def test_full_disk_at_any_write(tmp_path, limit):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    line = [
        sys.executable,
        *("-B", "-c", LIMITED, path, str(limit)),
    ]  # a byte code cut short would stay
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert done.stdout == f"{path}: cannot be written: File too large\n"
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@posix
def test_full_device():
    with pytest.raises(OutputError, match="/dev/full: cannot be written"):
        write("/dev/full")


@posix
def test_links_are_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "file", tmp_path / "link"
    link.symlink_to(target)
    write(link, b"first")
    write(link, b"second")
    assert link.is_symlink() and target.read_bytes() == b"second"
    assert os.listdir(target.parent) == ["file"]


@posix
def test_pipes_are_written_in_place(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()
    write(path)
    reader.join()
    assert got == [b"new"] and stat.S_ISFIFO(path.stat().st_mode)
    write("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@posix
def test_stdout_keeps_its_place_in_a_file(tmp_path):
    code = (
        "from svmcut.files.output import write_atomically\n"
        "print('before', flush=True)\n"
        "with write_atomically('/dev/stdout') as output: output.write(b'middle\\n')\n"
        "print('after')"
    )
    with open(tmp_path / "out", "wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "before\nmiddle\nafter\n"


@pytest.mark.parametrize("name", ["a b", "a\nb", "-x", "x" * 255, "\u00e4\u4e2d"])
def test_names(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    write(name)
    write(name, b"again")
    assert os.listdir() == [name]
    with open(name, "rb") as file:
        assert file.read() == b"again"


@posix
def test_a_path_of_3000_characters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = "/".join(["d" * 200] * 14)
    os.makedirs(folder)
    write(os.path.join(folder, "f" * 200))
    assert os.listdir(folder) == ["f" * 200]


@pytest.mark.parametrize(
    "name, message",
    [
        ("", "empty file name"),
        ("none/file", "No such file"),
        ("folder", "is a directory"),
        ("new/", "ends in a separator"),
        ("file/below", "Not a directory|No such file"),
        ("x" * 256, "name too long"),
    ],
)
def test_what_cannot_be_written_is_found_before(tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")
    with pytest.raises(OutputError, match=message) as caught:
        check_writable(name)
    assert caught.value.path == name
    with pytest.raises(OutputError):
        write(name)
    assert sorted(os.listdir()) == ["file", "folder"]


@posix
@not_root
@pytest.mark.parametrize("mode", [0o500, 0o600])
def test_read_only_folder(tmp_path, mode):
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(mode)
    try:
        with pytest.raises(OutputError, match=r"[Pp]ermission"):
            check_writable(str(folder / "file"))
    finally:
        folder.chmod(0o700)


@posix
@not_root
def test_read_only_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o400)
    with pytest.raises(OutputError, match="no permission to write this file"):
        check_writable(str(path))


def test_check_changes_nothing(tmp_path):
    path = tmp_path / "file"
    check_writable(str(path))
    assert not path.exists()
    path.write_bytes(b"old")
    before = path.stat().st_mtime_ns
    check_writable(str(path))
    assert path.read_bytes() == b"old" and path.stat().st_mtime_ns == before


@posix
def test_a_killed_run_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    code = (
        "import os, signal, sys\n"
        "from svmcut.files.output import write_atomically\n"
        "with write_atomically(sys.argv[1]) as output:\n"
        "    output.write(b'x' * 5_000_000)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, path])
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"


def test_an_interrupt_at_any_line_leaves_the_old_file_or_the_new_one(
    tmp_path, monkeypatch, request
):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    path, source = tmp_path / "file", check_writable.__code__.co_filename
    tracer = sys.gettrace()

    def interrupt_at(number):
        lines = itertools.count()

        def trace(frame, event, argument):
            if frame.f_code.co_filename != source:
                return None
            if event == "line" and next(lines) == number:
                raise KeyboardInterrupt
            return trace

        try:
            sys.settrace(trace)
            write(str(path), b"new")
        finally:
            sys.settrace(tracer)

    interrupts = 0
    gc.freeze()  # what is there already is not looked through again at every line
    request.addfinalizer(gc.unfreeze)
    for number in range(1000):
        path.write_bytes(b"old")
        try:
            interrupt_at(number)
        except KeyboardInterrupt:
            interrupts += 1
            gc.collect()
            assert os.listdir(tmp_path) == ["file"]
            assert path.read_bytes() in (b"old", b"new")
        else:
            break
    assert path.read_bytes() == b"new" and interrupts > 30
