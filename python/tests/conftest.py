"""What the tests share: the golden data, and the command line as a process of its own."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="session")
def golden() -> pathlib.Path:
    return ROOT / "tests" / "golden"


@pytest.fixture(scope="session")
def program():
    """Runs the program and returns its standard output."""

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "tessera", *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def program_json(program):
    return lambda *words: json.loads(program(*words, "--json"))
