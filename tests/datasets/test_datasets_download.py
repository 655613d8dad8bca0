"""The downloader against a real HTTP server on this machine that misbehaves in every way we know."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ehnn import datasets
from ehnn.datasets.transfer import CHUNK, download

BODY = bytes(range(256)) * 1200  # several chunks
SUM = hashlib.sha256(BODY).hexdigest()
quick = partial(download, retries=2, pause=0.01, timeout=5.0, progress=False)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.seen.append((self.path, self.headers.get("Range")))  # type: ignore[attr-defined]
        self.close_connection = True
        getattr(self, "get_" + self.path.strip("/").replace("/", "_").replace(".", "_"), self.get_404)()

    def log_message(self, format: str, *args: object) -> None:
        pass

    def send(self, body: bytes, length: int | None, code: int = 200, **headers: str) -> None:
        self.send_response(code)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def times(self) -> int:
        return sum(path == self.path for path, _ in self.server.seen)  # type: ignore[attr-defined]

    def get_ok(self) -> None:
        self.send(BODY, len(BODY))

    def get_slow(self) -> None:
        self.send(BODY[:100_000], len(BODY))
        for start in range(100_000, len(BODY), 50_000):
            self.wfile.flush()
            time.sleep(0.02)
            self.wfile.write(BODY[start : start + 50_000])

    def get_broken(self) -> None:
        self.send(BODY[:1000], len(BODY))

    def get_wrong(self) -> None:
        self.send(BODY[:-1] + b"!", len(BODY))

    def get_long(self) -> None:
        self.send(BODY + b"!", len(BODY) + 1)

    def get_404(self) -> None:
        self.send(b"no", 2, 404)

    def get_redirect(self) -> None:
        self.send(b"", 0, 302, Location="/ok")

    def get_away(self) -> None:
        self.send(b"", 0, 302, Location="file:///etc/hostname")

    def get_loop(self) -> None:
        self.send(b"", 0, 302, Location="/loop")

    def get_resume(self) -> None:
        asked = self.headers.get("Range")
        if asked is None:
            self.send(BODY[:70_000], len(BODY))
            return
        start = int(asked.removeprefix("bytes=").removesuffix("-"))
        span = f"bytes {start}-{len(BODY) - 1}/{len(BODY)}"
        self.send(BODY[start:], len(BODY) - start, 206, Content_Range=span)

    def get_norange(self) -> None:
        self.send(BODY[:70_000] if self.times() == 1 else BODY, len(BODY))

    def get_lyingrange(self) -> None:
        first = self.times() == 1
        self.send(BODY[:70_000], len(BODY), 200 if first else 206, Content_Range="bytes 0-69999/70000")

    def get_flaky(self) -> None:
        if self.times() < 3:
            self.send(b"", 0, 503)
        else:
            self.get_ok()

    def get_hang(self) -> None:
        self.server.released.wait(20)  # type: ignore[attr-defined]

    def get_stall(self) -> None:
        self.send(BODY[:1000], len(BODY))
        self.wfile.flush()
        self.server.released.wait(20)  # type: ignore[attr-defined]

    def get_drip(self) -> None:
        self.send(b"", len(BODY))
        for i in range(200):
            self.wfile.write(BODY[i : i + 1])
            self.wfile.flush()
            if self.server.released.wait(0.02):  # type: ignore[attr-defined]
                break

    def get_nolength(self) -> None:
        self.send(BODY[:1000], None)

    def get_empty(self) -> None:
        self.send(b"", 0)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that gave up is part of the test


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    server.seen, server.released = [], threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.released.set()  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def url(server: Server) -> Callable[[str], str]:
    return lambda path: f"http://127.0.0.1:{server.server_address[1]}/{path}"


@pytest.mark.parametrize("path", ["ok", "slow", "redirect", "flaky", "resume", "norange"])
def test_whole_file_arrives(url, server, tmp_path, path):
    target = tmp_path / "deep" / "file.bin"
    assert quick(url(path), target, SUM, size=len(BODY)) == target
    assert target.read_bytes() == BODY
    assert [p.name for p in target.parent.iterdir()] == ["file.bin"]


def test_resume_asks_only_for_the_rest(url, server, tmp_path):
    quick(url("resume"), tmp_path / "f", SUM)
    assert server.seen == [("/resume", None), ("/resume", "bytes=70000-")]


def test_without_a_sum_nothing_is_resumed(url, server, tmp_path):
    quick(url("norange"), tmp_path / "f")
    assert [asked for _, asked in server.seen] == [None, None]
    assert (tmp_path / "f").read_bytes() == BODY


@pytest.mark.parametrize(
    ("path", "message", "requests"),
    [
        ("broken", r"ended after 1000 of 307200 bytes \(3 attempts\)", 3),
        ("wrong", r"SHA-256 is [0-9a-f]{64}, expected " + SUM, 1),
        ("404", "answered 404", 1),
        ("long", "longer than the 307200 bytes", 1),
        ("loop", "redirect", None),
        ("away", r"not allowed|file", None),
        ("lyingrange", r"attempts", 3),
        ("empty", "it has 0 bytes, 307200 were expected", 1),
    ],
)
def test_failure_names_the_address_and_leaves_nothing(url, server, tmp_path, path, message, requests):
    with pytest.raises(datasets.DataError, match=message) as caught:
        quick(url(path), tmp_path / "f", SUM, size=len(BODY))
    assert url(path) in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    assert requests is None or len(server.seen) == requests


def test_a_file_shorter_than_expected_is_refused(url, tmp_path):
    """Also one that is whole by what the server says."""
    with pytest.raises(datasets.DataError, match=f"it has {len(BODY)} bytes, {len(BODY) + 1} were expected"):
        quick(url("ok"), tmp_path / "f", size=len(BODY) + 1)
    assert list(tmp_path.iterdir()) == []


def test_failure_keeps_the_old_file(url, tmp_path):
    (tmp_path / "f").write_bytes(b"old")
    with pytest.raises(datasets.DataError):
        quick(url("broken"), tmp_path / "f", SUM)
    assert (tmp_path / "f").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("path", ["hang", "stall"])
def test_silence_ends_in_a_timeout(url, tmp_path, path):
    begin = time.monotonic()
    with pytest.raises(datasets.DataError, match=r"timed out.*\(2 attempts\)"):
        quick(url(path), tmp_path / "f", SUM, timeout=0.2, retries=1)
    assert time.monotonic() - begin < 5
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_too_slow_is_given_up(url, tmp_path):
    with pytest.raises(datasets.DataError, match=r"it has taken longer than 0\.2 seconds"):
        download(url("drip"), tmp_path / "f", limit=0.2)
    assert list(tmp_path.iterdir()) == []


def test_unknown_length_and_sum_is_refused(url, tmp_path):
    with pytest.raises(datasets.DataError, match="states no length"):
        quick(url("nolength"), tmp_path / "f")
    with pytest.raises(datasets.DataError, match="SHA-256"):
        quick(url("nolength"), tmp_path / "f", SUM)


def test_interrupt_removes_the_part(url, tmp_path, monkeypatch):
    def interrupt(*args: object) -> None:
        assert any(p.suffix == ".part" for p in tmp_path.iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr("ehnn.datasets.transfer._copy", interrupt)
    with pytest.raises(KeyboardInterrupt):
        quick(url("ok"), tmp_path / "f", SUM)
    assert list(tmp_path.iterdir()) == []


def test_parts_of_killed_processes_go_after_a_day(url, server, tmp_path):
    old, new = (tmp_path / f"file.{name}.part" for name in ("dead", "alive"))
    for part in (old, new):
        part.write_text("half")
    os.utime(old, (0, 0))
    quick(url("ok"), tmp_path / "file", SUM)
    assert not old.exists()
    assert new.exists()


def test_nobody_answers(tmp_path):
    with pytest.raises(datasets.DataError, match=r"127\.0\.0\.1:9"):
        quick("http://127.0.0.1:9/f", tmp_path / "f")


@pytest.mark.parametrize("address", ["file:///etc/hostname", "ftp://x/y", "nonsense", ""])
def test_other_schemes_are_refused(address, tmp_path):
    with pytest.raises(datasets.DataError, match="http"):
        quick(address, tmp_path / "f")


def test_a_file_is_on_the_disk_before_it_has_its_name(url, tmp_path, monkeypatch):
    """After a power cut there is the old file or the whole new one; who reads the old one goes on."""
    target, seen = tmp_path / "f", []
    target.write_bytes(b"old")
    fsync, rename = os.fsync, os.replace

    def noting_fsync(handle):
        seen.append(("on the disk", os.fstat(handle).st_ino, os.fstat(handle).st_size))
        fsync(handle)

    def noting_rename(source, destination):
        assert destination == target
        seen.append(("named", os.stat(source).st_ino, os.stat(source).st_size))
        rename(source, destination)

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "replace", noting_rename)
    with target.open("rb") as reader:
        quick(url("ok"), target, SUM)
        assert reader.read() == b"old"
    number = target.stat().st_ino
    assert seen == [("on the disk", number, len(BODY)), ("named", number, len(BODY))]


def test_unwritable_target_is_named(url, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(datasets.DataError, match="cannot write"):
        quick(url("ok"), tmp_path / "file" / "f", SUM)


def test_bar_on_request(url, tmp_path, capsys):
    quick(url("ok"), tmp_path / "file.bin", SUM, progress=True)
    assert "file.bin" in capsys.readouterr().err
    assert len(BODY) > CHUNK


def test_many_at_once(url, tmp_path):
    target = tmp_path / "f"
    threads = [threading.Thread(target=quick, args=(url("slow"), target, SUM)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert target.read_bytes() == BODY
    assert len(list(tmp_path.iterdir())) == 1
