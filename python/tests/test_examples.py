"""The examples run. What they may use and is not installed, they leave out or are left out for."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"
# Minutes, or large packages: make test-full.
OPT_IN = {"searchers": "optuna", "stable_baselines": "stable_baselines3", "act_in_torch": "torch"}
THOROUGH = bool(os.environ.get("TESSERA_THOROUGH"))


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_example(name, tmp_path):
    if name in OPT_IN:
        if not THOROUGH:
            pytest.skip("make test-full")
        pytest.importorskip(OPT_IN[name])
    done = subprocess.run(
        [sys.executable, "-P", EXAMPLES / f"{name}.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.skipif(not THOROUGH, reason="make test-full")
@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for cell in json.loads(notebook.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)  # noqa: S102: our own notebook
