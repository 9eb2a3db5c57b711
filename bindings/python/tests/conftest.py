"""What tests have in common: bundled inputs, and files that were compiled of them once."""

import importlib.util
import os
import shutil
from pathlib import Path

import meshreel
import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def inputs():
    return ROOT / "testdata" / "inputs"


@pytest.fixture(scope="session")
def golden():
    return ROOT / "testdata" / "golden"


@pytest.fixture(scope="session")
def made(inputs, tmp_path_factory):
    """Compiles an input once with the least effort; gives the file."""
    folder = tmp_path_factory.mktemp("made")

    def make(name):
        reel = folder / Path(name).with_suffix(".reel")
        if not reel.exists():
            meshreel.compile(inputs / name, reel, effort=1)
        return reel

    return make


@pytest.fixture(scope="session")
def rigged():
    """Writes a .glb of a rig."""
    spec = importlib.util.spec_from_file_location("rigged_glb", ROOT / "tests" / "rigged_glb.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.write


@pytest.fixture(scope="session")
def program():
    """The command line's program, which `tests/python.sh` builds."""
    path = os.environ.get("MESHREEL_CLI") or shutil.which("meshreel")
    if path is None:
        pytest.skip("MESHREEL_CLI names no program")
    return path
