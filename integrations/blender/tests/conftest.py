"""What tests have in common: the extension in an empty scene, and files that were compiled once."""

import harness  # Before bpy and meshreel.
import pytest


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    return lambda source, **options: harness.compiled(source, folder, **options)


@pytest.fixture(autouse=True)
def extension():
    """The extension in an empty scene, and what it reported before is forgotten."""
    module = harness.empty()
    harness.part("reports").lines.clear()
    return module


@pytest.fixture
def reported():
    """What the user was told."""
    return harness.part("reports").lines
