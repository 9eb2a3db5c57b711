"""Open files: objects that show the same file share one, with its decoders."""

import os
from dataclasses import dataclass
from threading import Lock

import meshreel

#: Bytes that a file may take with a decoder, unless the preferences say otherwise.
MAX_MEMORY = 4 << 30


class Opened:
    """An open file, and what is asked of it again and again."""

    def __init__(self, reel: meshreel.Reel, stamp: str):
        self.reel = reel
        #: Changes with the file.
        self.stamp = stamp
        self.times = reel.times
        self.nodes = reel.nodes
        self.meshes = reel.meshes
        self.keys = node_keys(self.nodes)
        self.numbers = {key: number for number, key in enumerate(self.keys)}
        self.mesh_of = [node.mesh for node in self.nodes]
        #: Numbers of nodes that move, and of those whose mesh comes and goes.
        self.moving = {number for number, node in enumerate(self.nodes) if node.moves}
        self.blinking = {number for number, node in enumerate(self.nodes) if node.visibility_changes}


def node_keys(nodes) -> list[str]:
    """What tells nodes of a file apart: their paths; where several have one, a number behind it."""
    seen: dict[str, int] = {}
    keys = []
    for node in nodes:
        count = seen[node.path] = seen.get(node.path, 0) + 1
        keys.append(node.path if count == 1 else f"{node.path}#{count}")
    return keys


@dataclass
class _Entry:
    stamp: str
    limit: int
    opened: Opened | None
    error: meshreel.Error | None


_entries: dict[str, _Entry] = {}
#: What was told of a file already: its stamp then, and classes of errors.
_reported: dict[str, tuple[str, set[str]]] = {}
_lock = Lock()


def _stamp(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_mtime_ns}:{status.st_size}"


def opened(path: str, limit: int = MAX_MEMORY) -> Opened:
    """The file at an absolute path, opened again when it has changed.

    Raises meshreel.Error, the same one until the file changes.
    """
    stamp = _stamp(path)
    with _lock:
        entry = _entries.get(path)
        if entry is None or entry.stamp != stamp or entry.limit != limit:
            if entry is not None and entry.opened is not None:
                entry.opened.reel.close()
            entry = _entries[path] = _open(path, stamp, limit)
        if entry.opened is None:
            raise entry.error
        # It is back: should it go again, that is news.
        if _reported.get(path, (stamp, None))[0] != stamp:
            del _reported[path]
        return entry.opened


def _open(path: str, stamp: str, limit: int) -> _Entry:
    try:
        return _Entry(stamp, limit, Opened(meshreel.open(path, max_memory=limit), stamp), None)
    except meshreel.Error as error:
        return _Entry(stamp, limit, None, error)


def is_news(path: str, error: Exception) -> bool:
    """Whether nobody was told of an error of this class yet, in this file as it is now."""
    stamp, kind = _stamp(path), type(error).__name__
    with _lock:
        before, kinds = _reported.get(path, (stamp, set()))
        if before != stamp:
            kinds = set()
        news = kind not in kinds
        _reported[path] = stamp, kinds | {kind}
        return news


def keep_only(paths: set[str]) -> None:
    """Closes the files that nobody shows any more."""
    with _lock:
        for path in [path for path in _entries if path not in paths]:
            entry = _entries.pop(path)
            if entry.opened is not None:
                entry.opened.reel.close()
