"""`python -m tessera`: the command line."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command line on the words of this process, and returns its exit code."""
    from . import _core

    return _core.run_program(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
