"""The program that comes with the package."""

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import meshreel
import pytest

SCRIPT = Path(sysconfig.get_path("scripts")) / "meshreel"


@pytest.fixture(params=[[SCRIPT], [sys.executable, "-m", "meshreel"]], ids=["meshreel", "python -m meshreel"])
def own(request):
    """The command, run; its output, unless another exit code than 0 is expected."""

    def run(*words, code=0):
        done = subprocess.run([*request.param, *words], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    return run


def test_it_is_the_packages_version(own):
    assert own("--version") == f"meshreel {meshreel.__version__}\n"
    assert json.loads(own("--version", "--json")) == {"name": "meshreel", "version": meshreel.__version__}


def test_it_writes_the_packages_bytes(own, inputs, tmp_path):
    said = json.loads(own("compile", inputs / "prism.glb", "-o", tmp_path / "theirs.reel", "--json"))
    report = meshreel.compile(inputs / "prism.glb", tmp_path / "ours.reel")
    assert said["file_bytes"] == report["file_bytes"]
    assert (tmp_path / "theirs.reel").read_bytes() == (tmp_path / "ours.reel").read_bytes()


def test_exit_codes(own, tmp_path):
    assert "none.abc" in own("info", tmp_path / "none.abc", code=1)
    assert "--tolerence" in own("compile", "a.abc", "--tolerence", "1", code=2)
    assert "no verb" in own(code=2)


def test_fbx_is_read(own, inputs):
    assert json.loads(own("info", inputs / "fbx" / "skinned.fbx", "--json"))["kind"].startswith("fbx")


# What a shell starts in the background ignores the signal.
LISTENS = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_ctrl_c_ends_it_and_leaves_no_file(inputs, tmp_path):
    words = ["compile", inputs / "d_snake_skinned.abc", "-o", tmp_path / "a.reel", "--effort", "9", "--quiet"]
    command = [sys.executable, "-c", LISTENS, SCRIPT, *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not any(name.endswith(".tmp") for name in os.listdir(tmp_path)):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait() == 128 + signal.SIGINT and process.stderr.read() == ""
    assert os.listdir(tmp_path) == []


def test_options_are_typed_as_the_program_has_them(own):
    help_text = own("compile", "--help")
    lines = re.findall(r"^ +(?:-\w, )?--([a-z-]+)(.*)$", help_text, re.M)
    others = "output merge shard changed-only points options json quiet verbose help version".split()
    said = {name.replace("-", "_"): rest for name, rest in lines if name not in others}
    types = meshreel.CompileOptions.__annotations__
    assert set(types) == set(said)
    for name, rest in said.items():
        flag = "<" not in rest and "[" not in rest
        kind = getattr(types[name], "__forward_arg__", types[name])
        assert (str(kind) == "bool | None") == flag, (name, rest)
