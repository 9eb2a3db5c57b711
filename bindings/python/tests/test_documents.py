"""What is documented runs: docstrings, and the tutorial."""

import doctest
import re
from pathlib import Path

import meshreel
import pytest


@pytest.fixture
def names(inputs, made, tmp_path):
    return {"inputs": inputs, "folder": tmp_path, "reel_path": made("prism.glb"), "meshreel": meshreel}


def test_docstrings(names):
    result = doctest.testmod(meshreel, extraglobs=names)
    assert result.failed == 0 and result.attempted > 5


def test_the_tutorial(inputs, rigged, tmp_path, monkeypatch):
    text = (Path(__file__).resolve().parents[3] / "docs" / "PYTHON.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    assert len(blocks) > 5
    (tmp_path / "cloth.abc").write_bytes((inputs / "a_flag_wind.abc").read_bytes())
    rigged(tmp_path / "walk.glb")
    monkeypatch.chdir(tmp_path)
    scope = {}
    for block in blocks:
        exec(compile(block, "PYTHON.md", "exec"), scope)


def test_everything_is_documented_and_typed():
    stub = Path(meshreel.__file__).with_name("_native.pyi").read_text()
    assert Path(meshreel.__file__).with_name("py.typed").exists()
    for name in meshreel.__all__:
        thing = getattr(meshreel, name)
        if name == "__version__":
            continue
        assert thing.__doc__, name
        if isinstance(thing, type) and not issubclass(thing, (Exception, dict)):
            assert f"class {name}:" in stub
            for member in vars(thing):
                if not member.startswith("_"):
                    assert f"def {member}(" in stub, (name, member)
                    assert vars(thing)[member].__doc__, (name, member)
