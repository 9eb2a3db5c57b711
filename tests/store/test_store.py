"""The program against a store: names such as s3://bucket/name in every verb, a store that fails now and then, one that is
gone, one whose files change. Run by tests/store.sh."""

import array
import json
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from flaky import Flaky

ROOT = Path(__file__).resolve().parents[2]
INPUTS = ROOT / "testdata/inputs"
GOLDEN = ROOT / "testdata/golden/v0"
PROGRAM = os.environ["MESHREEL_CLI"]
SECRET = "secret-that-nobody-says"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture(scope="session")
def server():
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/moto-api/").read()
            break
        except OSError:
            time.sleep(0.1)
    request(port, "PUT", "/films")
    yield port
    process.kill()


def request(port, method, path, body=None):
    headers = {
        "Authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request",
        "Content-Type": "application/octet-stream",
    }
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=body, method=method, headers=headers)
    with urllib.request.urlopen(asked) as answer:
        return answer.read()


@pytest.fixture(scope="session")
def way(server):
    way = Flaky(server)
    threading.Thread(target=way.serve_forever, daemon=True).start()
    return way


@pytest.fixture(autouse=True)
def plain(way):
    way.reset()


def put(way, name, path):
    request(way.to, "PUT", f"/films/{name}", Path(path).read_bytes())


def get(way, name):
    return request(way.to, "GET", f"/films/{name}")


@pytest.fixture
def run(way):
    def run(*arguments, port=None, code=0):
        environment = {
            **os.environ,
            "AWS_ACCESS_KEY_ID": "key-that-nobody-says",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port or way.port}",
            "AWS_ALLOW_HTTP": "true",
        }
        done = subprocess.run([PROGRAM, *map(str, arguments)], env=environment, capture_output=True, text=True)
        for text in (done.stdout, done.stderr):
            assert SECRET not in text and "key-that-nobody-says" not in text
        assert done.returncode == code, done.stderr
        return done

    return run


HDF5 = INPUTS / "scale_gzip_hdf5.abc"
SOURCES = sorted(path for path in INPUTS.iterdir() if path.suffix in (".abc", ".glb") and path != HDF5)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_from_a_store_into_a_store_is_as_from_disk_to_disk(run, way, tmp_path, source):
    put(way, source.name, source)
    here = tmp_path / "a.reel"
    run("compile", source, "-o", here, "--quiet")
    run("compile", f"s3://films/{source.name}", "-o", "s3://films/b/a.reel", "--quiet")
    assert get(way, "b/a.reel") == here.read_bytes()
    run("verify", f"s3://films/{source.name}", "s3://films/b/a.reel", "--quiet")
    there = json.loads(run("info", "s3://films/b/a.reel", "--json").stdout)
    own = json.loads(run("info", here, "--json").stdout)
    assert there["file_bytes"] == own["file_bytes"] if "file_bytes" in own else there.keys() == own.keys()


def test_archives_in_hdf5(run, way):
    put(way, HDF5.name, HDF5)
    there = json.loads(run("info", f"s3://films/{HDF5.name}", "--json").stdout)
    own = json.loads(run("info", HDF5, "--json").stdout)
    assert there["nodes"] == own["nodes"] and there["remarks"] == own["remarks"]


def test_back_into_a_store(run, way, tmp_path):
    put(way, "flag.reel", GOLDEN / "flag_small.reel")
    run("extract", "s3://films/flag.reel", "-o", "s3://films/out/flag.abc", "--quiet")
    run("extract", GOLDEN / "flag_small.reel", "-o", tmp_path / "flag.abc", "--quiet")
    assert len(get(way, "out/flag.abc")) == (tmp_path / "flag.abc").stat().st_size
    run("play", "s3://films/flag.reel", "--seconds", "0.5", "--check", "--quiet")


def test_globs_and_sequences_of_a_store(run, way, tmp_path):
    frames = tmp_path / "frames"
    run("extract", GOLDEN / "flag_small.reel", "-o", f"{frames}/", "--quiet")
    for path in sorted(frames.iterdir())[:6]:
        put(way, f"seq/{path.name}", path)
        put(way, f"each/{path.name}", path)
    pattern = sorted(frames.iterdir())[0].name.replace("0001", "####")
    run("compile", f"s3://films/seq/{pattern}", "-o", tmp_path / "sequence.reel", "--quiet")
    info = json.loads(run("info", tmp_path / "sequence.reel", "--json").stdout)
    assert info["frames"] == 6 or info["frame_count"] == 6
    run("compile", "s3://films/each/*.obj", "-o", f"{tmp_path}/each/", "--quiet")
    assert len(list((tmp_path / "each").iterdir())) == 6


def test_only_what_is_needed_is_read(run, way, tmp_path):
    whole = tmp_path / "whole.reel"
    frames, points = tmp_path / "many.obj", tmp_path / "many.pc2"
    # Points that say nothing twice: a file of more than eight megabytes, which goes up in parts, nearly all of it frames.
    count, times = 60_000, 20
    frames.write_text(
        "".join(f"v {k} 0 0\n" for k in range(count))
        + "".join(f"f {k} {k + 1} {k + 2}\n" for k in range(1, count - 2, 3))
    )
    numbers = array.array("f", (random.randrange(1 << 24) for _ in range(3 * count * times)))
    points.write_bytes(b"POINTCACHE2\0" + struct.pack("<IIffI", 1, count, 0, 1, times) + numbers.tobytes())
    how = ("--points", points, "--tolerance", "0.0001%", "--effort", "1", "--quiet")
    run("compile", frames, "-o", whole, *how)
    size = whole.stat().st_size
    put(way, "whole.reel", whole)
    way.reset()
    run("info", "s3://films/whole.reel")
    assert size > 8 << 20 and 0 < way.bytes < size / 2, (way.bytes, size)
    run("compile", frames, "-o", "s3://films/parts.reel", *how)
    assert get(way, "parts.reel") == whole.read_bytes()


def test_what_is_not_there(run, way, tmp_path):
    target = tmp_path / "a.reel"
    for what in ("s3://films/none.abc", "s3://nowhere/none.abc"):
        failure = json.loads(run("compile", what, "-o", target, "--json", code=1).stdout)
        assert failure["error"]["class"] == "io" and what in json.dumps(failure), failure
    run("info", "s3://films/none.reel", code=1)
    run("compile", "s3://films/*.none", "-o", f"{tmp_path}/", code=1)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_source_leaves_what_was_there(run, way, tmp_path):
    source = next(path for path in SOURCES if path.suffix == ".abc")
    damaged = tmp_path / "damaged.abc"
    damaged.write_bytes(source.read_bytes()[: source.stat().st_size // 3])
    put(way, "damaged.abc", damaged)
    put(way, "old.reel", GOLDEN / "flag_small.reel")
    run("compile", "s3://films/damaged.abc", "-o", "s3://films/old.reel", code=1)
    assert get(way, "old.reel") == (GOLDEN / "flag_small.reel").read_bytes()


def test_a_store_that_fails_now_and_then(run, way, tmp_path):
    source = next(path for path in SOURCES if path.suffix == ".abc")
    put(way, "source.abc", source)
    here = tmp_path / "a.reel"
    run("compile", source, "-o", here, "--quiet")
    failed = 0
    for _ in range(3):
        way.reset(failing=0.3)
        run("compile", "s3://films/source.abc", "-o", "s3://films/flaky.reel", "--quiet")
        run("verify", "s3://films/source.abc", "s3://films/flaky.reel", "--quiet")
        failed += way.failed
        way.reset()
        assert get(way, "flaky.reel") == here.read_bytes()
    assert failed > 0


def test_a_store_that_is_gone(run, way, tmp_path):
    source = next(path for path in SOURCES if path.suffix == ".abc")
    gone = free_port()
    done = run("compile", "s3://films/source.abc", "-o", tmp_path / "a.reel", "--json", port=gone, code=1)
    assert json.loads(done.stdout)["error"]["class"] == "io"
    run("compile", source, "-o", "s3://films/gone.reel", port=gone, code=1)
    # Nothing lies about that was to go up.
    assert list(tmp_path.iterdir()) == []
    left = [name for name in os.listdir("/tmp") if name.startswith(".gone.reel.")]
    assert left == []


def test_a_store_that_is_lost_while_it_is_written(run, way):
    source = next(path for path in SOURCES if path.suffix == ".abc")
    put(way, "kept.reel", GOLDEN / "flag_small.reel")

    def lose(method, _):
        if method in ("PUT", "POST"):
            way.failing = 1.0

    way.reset(before=lose)
    run("compile", source, "-o", "s3://films/kept.reel", code=1)
    way.reset()
    assert get(way, "kept.reel") == (GOLDEN / "flag_small.reel").read_bytes()


def test_a_file_that_is_replaced_while_it_is_read(run, way, tmp_path):
    source = next(path for path in SOURCES if path.suffix == ".abc")
    put(way, "changing.abc", source)
    seen = []

    def replace(method, path):
        if method == "GET" and "changing" in path:
            if not seen:
                request(way.to, "PUT", "/films/changing.abc", b"Ogawa" + bytes(100))
            seen.append(path)

    way.reset(before=replace)
    done = run("compile", "s3://films/changing.abc", "-o", tmp_path / "a.reel", code=1)
    assert "replaced while it was read" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_none(run, tmp_path):
    for name in ("s3://", "s3:///a.abc", "az://container/a.abc"):
        run("compile", name, "-o", tmp_path / "a.reel", code=1)
    assert list(tmp_path.iterdir()) == []
