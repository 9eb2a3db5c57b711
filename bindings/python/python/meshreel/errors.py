"""The exceptions, one for each class of errors."""

from __future__ import annotations


class Error(Exception):
    """An error of one of the classes below; itself for remarks under strict=True, and for defects."""

    #: The file, or the node in it, where known.
    path: str | None = None
    #: Pairs of a node and what is remarkable about it, where these are the reason.
    remarks: list[tuple[str, str]] = []


class IoError(Error, OSError):
    """The system could not read or write a file. Also an OSError, with `errno` where it is known."""

    # Attributes of the instance, which pickle takes along; those of OSError would be lost.
    errno: int | None = None
    strerror: str | None = None
    filename: str | None = None


class MalformedError(Error):
    """A file is damaged, or not of its kind."""


class UnsupportedError(Error):
    """Valid, but something that this version does not do."""


class LimitError(Error):
    """More than the limits allow."""


class MisuseError(Error):
    """The call is wrong, not the file; the message says what to do."""


class Cancelled(Error):
    """A progress callback returned False; no file was written."""
