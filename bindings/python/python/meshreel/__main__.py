"""The program: `python -m meshreel` and the command `meshreel`."""

import signal
import sys

from . import _native


def main() -> int:
    """Runs the command line; the exit code."""
    # Ctrl-C is the program's: it removes unfinished files and ends the process.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.run(["meshreel", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
