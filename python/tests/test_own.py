"""Parts written in Python: searchers, cost models and environments in map, compare and train."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import gymnasium
import numpy as np
import pytest

import tessera

LAYER = {"layer": 3, "samples": 30, "points": 8, "seed": 5, "threads": 1}


class Climb:
    """Random points, then steps from the best."""

    def __init__(self, space, seed):
        self.space, self.seed, self.best, self.count = space, seed, None, 0

    def propose(self, n):
        points = []
        for _ in range(min(n, 5)):
            self.count += 1
            seed = self.seed * 1000 + self.count
            points.append(
                self.space.neighbor(self.best[1], seed) if self.best else self.space.sample(seed)
            )
        return points

    def observe(self, trials):
        for trial in trials:
            assert (trial.value is None) != (trial.reason is None)
            if trial.value is not None and (self.best is None or trial.value < self.best[0]):
                self.best = (trial.value, list(trial.point))


class Broken(Climb):
    """Fails in the middle, unless somebody mended it."""

    mended = False

    def propose(self, n):
        if self.count >= 15 and not Broken.mended:
            raise ZeroDivisionError("in the middle")
        return super().propose(n)


class Plain:
    """Cycles are the loops that are left to each MAC."""

    def __init__(self, layer, accelerator):
        self.macs, self.machine = layer.macs, accelerator

    def evaluate(self, mapping):
        levels = json.loads(mapping.json)["levels"]
        parallel = 1
        for level in levels:
            for factor in ((level.get("spatial") or {}).get("factors") or {}).values():
                parallel *= factor
        return {"cycles": self.macs / parallel, "energy_pj": 1.0 * self.macs}


class Vectorised(Plain):
    name = "Plain.vectorised"

    def evaluate_batch(self, mappings):
        assert [size for _, size in mappings.loops]
        parallel = mappings.spatial.astype(float).prod(axis=(1, 2))
        return [{"cycles": c, "energy_pj": 1.0 * self.macs} for c in self.macs / parallel]


class Columns(Plain):
    name = "Plain.columns"

    def evaluate_batch(self, mappings):
        parallel = mappings.spatial.astype(float).prod(axis=(1, 2))
        return {
            "cycles": self.macs / parallel,
            "energy_pj": np.full(len(parallel), 1.0 * self.macs),
            "feasible": parallel > 1,
        }


def test_runs_with_a_model_resume_and_verify(tmp_path):
    tessera.map("alexnet", "eyeriss-256", model=Plain, method="random", out=tmp_path / "map", **LAYER)
    tessera.compare("alexnet", "eyeriss-256", model=Plain, methods=["random"], seeds=1, layer=3, samples=20,
                    out=tmp_path / "compare")  # fmt: skip
    for run in ("map", "compare"):
        assert tessera.verify(tmp_path / run, parts=[Plain]).verified is True
        assert tessera.resume(tmp_path / run, parts=[Plain])


def test_costs_come_as_arrays():
    rows = tessera.map("alexnet", "eyeriss-256", model=Vectorised, method="random", **LAYER)
    columns = tessera.map("alexnet", "eyeriss-256", model=Columns, method="random", **LAYER)
    assert columns.layers[0]["value"] == rows.layers[0]["value"]
    with pytest.raises(tessera.BadValueError, match="1 values of 'cycles'"):
        Short = type("Short", (Plain,), {"evaluate_batch": lambda self, mappings: {"cycles": [1]}})
        tessera.map("alexnet", "eyeriss-256", model=Short, method="random", **LAYER)


def test_a_model_may_price_energy_only_but_no_impossible_cycles():
    costs = {"energy_pj": 7.0}
    Odd = type("Odd", (Plain,), {"evaluate": lambda self, mapping: costs})
    found = tessera.map("alexnet", "eyeriss-256", model=Odd, method="random", objective="energy", **LAYER)
    assert found.layers[0]["energy_pj"] == 7.0
    costs["cycles"] = 100
    with pytest.raises(tessera.Error, match="MACs on 256 units take at least"):
        tessera.map("alexnet", "eyeriss-256", model=Odd, method="random", objective="energy", **LAYER)


def test_searcher_in_map_and_compare():
    first = tessera.map("alexnet", "eyeriss-256", method=Climb, **LAYER)
    assert first.layers[0]["samples"] == 30
    assert first.to_dict() == tessera.map("alexnet", "eyeriss-256", method=Climb, **LAYER).to_dict()
    table = tessera.compare(
        "alexnet", "eyeriss-256", methods=["random", Climb], seeds=2, layer=3, samples=20
    )
    assert "Climb" in table.to_json() and "random" in table.to_json()


def test_runs_resume_and_verify(tmp_path):
    whole = tessera.map("alexnet", "eyeriss-256", method=Climb, out=tmp_path / "whole", **LAYER)
    assert tessera.verify(tmp_path / "whole").verified is True
    with pytest.raises(ZeroDivisionError, match="in the middle") as caught:
        tessera.map("alexnet", "eyeriss-256", method=Broken, out=tmp_path / "run", **LAYER)
    assert any("propose" in str(entry) for entry in caught.traceback)
    Broken.mended = True
    try:
        resumed = tessera.resume(tmp_path / "run", parts=[Broken])
    finally:
        Broken.mended = False
    assert resumed.layers[0]["value"] == whole.layers[0]["value"]


def test_without_a_folder_nothing_is_lost_either():
    with pytest.raises(ZeroDivisionError) as caught:
        tessera.map("alexnet", "eyeriss-256", method=Broken, **LAYER)
    run = pathlib.Path(caught.value.run)
    assert (run / "run.json").exists() and list((run / "journal").iterdir())


def test_cost_models():
    scalar = tessera.map("alexnet", "eyeriss-256", model=Plain, method="ga", **LAYER)
    vector = tessera.map("alexnet", "eyeriss-256", model=Vectorised, method="ga", **LAYER)
    assert scalar.layers[0]["cycles"] == vector.layers[0]["cycles"] > 0
    space = tessera.Space("alexnet", "eyeriss-256", layer=3, model=Plain)
    found = space.evaluate([space.sample(seed) for seed in range(4)])
    assert found["feasible"].all()


def test_a_broken_model_ends_the_run():
    class Fails(Plain):
        def evaluate(self, mapping):
            raise RuntimeError("no price")

    with pytest.raises(RuntimeError, match="no price"):
        tessera.map("alexnet", "eyeriss-256", model=Fails, method="random", **LAYER)


class Corridor(gymnasium.Env):
    """Walk to the right end."""

    def __init__(self):
        self.observation_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.at = self.steps = 0

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.at = self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.at = max(0, self.at + (1 if action else -1))
        self.steps += 1
        done = self.at >= 4
        return np.full(1, self.at / 4, np.float32), float(done), done, self.steps >= 20, {}


def test_train_in_an_environment_of_ones_own(tmp_path):
    result = tessera.train(Corridor, algo="ippo", episodes=30, envs=4, out=tmp_path / "run", threads=1)
    assert result.to_dict()
    again = tessera.train(Corridor, algo="ippo", episodes=30, envs=4, out=tmp_path / "again", threads=1)
    same = "checkpoint.safetensors"
    assert (tmp_path / "run" / same).read_bytes() == (tmp_path / "again" / same).read_bytes()
    assert result.to_dict().keys() == again.to_dict().keys()


def test_progress_and_what_it_raises():
    seen = []
    tessera.map("alexnet", "eyeriss-256", method="random", progress=seen.append, **LAYER)
    assert seen[-1].event == "done" and seen[-1].samples == 30

    def stop(progress):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        tessera.map("alexnet", "eyeriss-256", method="random", progress=stop, **LAYER)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_keeps_what_there_is(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent("""
        import tessera
        print("ready", flush=True)
        r = tessera.map("vgg16", "eyeriss-256", method="random", samples=10**8,
                        progress=lambda p: print(p.samples, flush=True))
        print("interrupted", r.interrupted, r.layers[0]["samples"] > 0, flush=True)
    """))
    # A shell that started the tests in the background has them ignore Ctrl-C.
    child = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    for line in child.stdout:
        if line.strip().isdigit() and int(line) > 0:
            break
    child.send_signal(signal.SIGINT)
    rest = child.stdout.read()
    assert child.wait(60) == 0
    assert rest.strip().endswith("interrupted True True")
