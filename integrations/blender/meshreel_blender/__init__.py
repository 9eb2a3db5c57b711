"""meshreel in Blender: .reel files that stream into the scene, and scenes that become .reel files.

`files` shares decoders, `settings` says what a cache in a scene is and which moment it shows, `arrays` and `armatures`
put values into data-blocks, `importing` makes objects, `playback` keeps them at the scene's frame, `jobs` runs what
takes long, `exporting` and `verifying` are such jobs, `panels` shows all of it.
"""

import sys

if sys.version_info < (3, 10):
    raise ImportError("meshreel needs Python 3.10 or later", name="meshreel")

try:
    import meshreel  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"the package meshreel is missing or is for another system ({error}); "
        "install the extension that was built for this one",
        name="meshreel",
    ) from error

from . import armatures, exporting, importing, panels, playback, settings, verifying

_MODULES = [settings, importing, exporting, verifying, panels, armatures, playback]


def register():
    for module in _MODULES:
        module.register()


def unregister():
    for module in reversed(_MODULES):
        module.unregister()
