"""What the user is told: on the console, in a text block, and beside the pointer where there is one."""

import json
import traceback

import bpy
import meshreel

#: Name of the text block with all that was reported.
TEXT = "meshreel"

#: Told so far in this session, oldest first.
lines: list[str] = []


def message(error: BaseException) -> str:
    """One line: the class of the error, what, and where."""
    if isinstance(error, meshreel.Error):
        return f"{type(error).__name__}: {error}"
    if isinstance(error, OSError):
        return f"IoError: {error}"
    return f"defect of the extension, please report it: {type(error).__name__}: {error}"


def tell(line: str, error: BaseException | None = None) -> None:
    """Says a line once: to the console and, in a window, in a popup."""
    lines.append(line)
    print(f"meshreel: {line}")
    if error is not None and not isinstance(error, (meshreel.Error, OSError)):
        traceback.print_exception(error)
    if not bpy.app.background:
        # The caller may be a handler, where no menu can be opened.
        bpy.app.timers.register(lambda: _popup([line]), first_interval=0)


def _popup(shown: list[str]) -> None:
    def draw(menu, _context):
        for line in shown:
            menu.layout.label(text=line)

    manager = bpy.context.window_manager
    if manager.windows:
        with bpy.context.temp_override(window=manager.windows[0]):
            manager.popup_menu(draw, title="meshreel", icon="INFO")


def write(title: str, report: dict) -> None:
    """Puts a report before what the text block has already."""
    block = bpy.data.texts.get(TEXT) or bpy.data.texts.new(TEXT)
    before = block.as_string()
    block.clear()
    block.write(f"{title}\n{json.dumps(report, indent=2)}\n\n{before}")
    block.cursor_set(0)


def size(count: float) -> str:
    """Bytes as people read them."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.2f} GB"
