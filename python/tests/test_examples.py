"""The examples run. What they may use and is not installed, they leave out or are left out for."""

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
    assert name != "mappo_numpy" or done.stdout.endswith("learned\n")


@pytest.mark.skipif(not THOROUGH, reason="make test-full")
@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook(notebook, tmp_path):
    """Every cell in a kernel, as Jupyter runs it; results show themselves as HTML with drawings."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    cells = nbclient.NotebookClient(
        nbformat.read(notebook, as_version=4), timeout=600, kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute().cells  # fmt: skip
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert code and all(cell.execution_count for cell in code)
    shown = [output.get("data", {}).get("text/html", "") for cell in code for output in cell.outputs]
    assert any("svg" in html for html in shown) and any("<table" in html for html in shown)
