"""What the tests share: the golden data, and the command line as a process of its own."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = ROOT / "build" / "release" / "tessera"


@pytest.fixture(scope="session")
def golden() -> pathlib.Path:
    return ROOT / "tests" / "golden"


@pytest.fixture(scope="session")
def program():
    """Runs the program (the C++ one, if it was built) and returns its standard output."""
    command = [str(BINARY)] if BINARY.exists() else [sys.executable, "-m", "tessera"]

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def program_json(program):
    return lambda *words: json.loads(program(*words, "--json"))
