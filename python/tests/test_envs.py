"""Environments: conformance tests of Gymnasium and PettingZoo, batches, and MPE2 itself."""

import importlib
import os
import random

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import tessera

pytest.importorskip("pettingzoo")
from pettingzoo.test import (  # noqa: E402
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
)

from tessera.pettingzoo import (  # noqa: E402
    cooperative_navigation_v0,
    cooptimize_v0,

    mapping_v0,
    predator_prey_v0,
)

MODULES = [mapping_v0, predator_prey_v0, cooperative_navigation_v0, cooptimize_v0]
ID = "tessera/Mapping-v0"
# Nobody has seen these seeds; a failure shows them.
NEW = [random.SystemRandom().getrandbits(32) for _ in range(50 if os.environ.get("TESSERA_THOROUGH") else 1)]
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("mode", [None, "ansi", "rgb_array"])
def test_gymnasium(mode):
    check_env(gymnasium.make(ID, render_mode=mode, horizon=20).unwrapped)


def test_vector_is_many_single_ones():
    settings = {"horizon": 7, "network": "alexnet", "layer": "3", "accelerator": "eyeriss-256"}
    vector = gymnasium.make_vec(ID, 3, vectorization_mode="vector_entry_point", **settings)
    assert vector.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.NEXT_STEP
    singles = gymnasium.make_vec(ID, 3, vectorization_mode="sync", **settings)
    assert vector.single_action_space == singles.single_action_space
    singles.action_space.seed(3)
    for a, b in zip(vector.reset(seed=5)[:1], singles.reset(seed=5)[:1]):
        assert np.array_equal(a, b)
    for _ in range(20):
        actions = singles.action_space.sample()
        got, wanted = vector.step(actions), singles.step(actions)
        for a, b in zip(got[:4], wanted[:4]):
            assert np.array_equal(a, b) and a.dtype == b.dtype


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__.split(".")[-1])
def test_pettingzoo(module):
    parallel_api_test(module.parallel_env(max_cycles=20), num_cycles=60)
    parallel_seed_test(module.parallel_env, num_cycles=20)
    api_test(module.env(max_cycles=20), num_cycles=60)
    seed_test(module.env, num_cycles=20)
    max_cycles_test(module)
    render_test(module.env)


def test_groups_are_the_same_decisions():
    plain = mapping_v0.parallel_env(max_cycles=5)
    names = plain.possible_agents
    grouped = mapping_v0.parallel_env(max_cycles=5, groups=[names[:2], names[2:5]])
    assert len(grouped.possible_agents) == len(names) - 3
    plain.reset(seed=1), grouped.reset(seed=1)
    actions = {name: plain.action_space(name).sample() for name in names}
    joined = {
        agent: [actions[name] for name in agent.split("+")] if "+" in agent else actions[agent]
        for agent in grouped.possible_agents
    }
    assert list(plain.step(actions)[1].values())[0] == list(grouped.step(joined)[1].values())[0]


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("scenario", ["simple_tag", "simple_spread"])
def test_mpe2_itself(scenario, continuous):
    mpe2 = pytest.importorskip("mpe2")
    original = importlib.import_module(f"mpe2.{scenario}_v3")
    ours = predator_prey_v0 if scenario == "simple_tag" else cooperative_navigation_v0
    assert mpe2.__version__ == "1.1.1"
    wanted = original.parallel_env(continuous_actions=continuous)
    got = ours.parallel_env(mode="mpe2", continuous_actions=continuous)
    assert wanted.possible_agents == got.possible_agents
    for seed in (0, 1, 2**31, 987654321, *NEW):
        seen, mine = wanted.reset(seed=seed)[0], got.reset(seed=seed)[0]
        for episode in range(2):
            if episode:
                seen, mine = wanted.reset()[0], got.reset()[0]
            rng = np.random.default_rng(seed)
            while wanted.agents:
                for agent in wanted.agents:
                    assert np.array_equal(seen[agent], mine[agent]), seed
                    assert seen[agent].dtype == mine[agent].dtype
                actions = {
                    agent: rng.random(5, np.float32) if continuous else int(rng.integers(5))
                    for agent in wanted.agents
                }
                seen, rewards, ends, cuts, _ = wanted.step(actions)
                mine, our_rewards, our_ends, our_cuts, _ = got.step(actions)
                assert (rewards, ends, cuts) == (our_rewards, our_ends, our_cuts), seed
            assert not got.agents


@pytest.mark.parametrize(
    ("scenario", "settings"),
    [
        ("simple_tag", {"num_good": 2, "num_adversaries": 4, "num_obstacles": 3, "max_cycles": 12}),
        ("simple_spread", {"N": 5, "local_ratio": 0.2, "max_cycles": 12}),
    ],
)
def test_mpe2_with_its_settings(scenario, settings):
    pytest.importorskip("mpe2")
    original = importlib.import_module(f"mpe2.{scenario}_v3").parallel_env(**settings)
    ours = predator_prey_v0 if scenario == "simple_tag" else cooperative_navigation_v0
    got = ours.parallel_env(mode="mpe2", **settings)
    for seed in NEW:
        seen, mine = original.reset(seed=seed)[0], got.reset(seed=seed)[0]
        rng = np.random.default_rng(seed)
        while original.agents:
            actions = {agent: int(rng.integers(5)) for agent in original.agents}
            assert all(np.array_equal(seen[agent], mine[agent]) for agent in original.agents), seed
            seen, *wanted = original.step(actions)
            mine, *answered = got.step(actions)
            assert wanted[:3] == answered[:3], seed
        assert not got.agents


def test_batched_worlds_are_single_ones():
    worlds = tessera.BatchedEnv("predator_prey", 3, compat="mpe2", controller="learned")
    singles = [predator_prey_v0.parallel_env(mode="mpe2") for _ in range(3)]
    worlds.reset(seed=11)
    for e, single in enumerate(singles):
        single.reset(seed=11 + e)
    rng = np.random.default_rng(1)
    for _ in range(10):
        actions = rng.integers(0, 5, (3, 4))
        seen, rewards, ends = worlds.step(actions)
        for e, single in enumerate(singles):
            mine = single.step(dict(zip(single.possible_agents, actions[e])))
            assert np.array_equal(seen[e], single.state())
            assert np.allclose(rewards[e], list(mine[1].values()), rtol=1e-6)
    assert not ends.any()
    assert not seen.flags.owndata  # a view of the library's memory


class Tensor:
    """What DLPack asks of a tensor, and nothing else of NumPy."""

    def __init__(self, values, on_gpu=False):
        self.values, self.on_gpu = np.asarray(values), on_gpu

    def __dlpack__(self, **keywords):
        if self.on_gpu:
            raise BufferError("it is on a device")
        return self.values.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (2 if self.on_gpu else 1, 0)


def test_dlpack():
    actions = np.random.default_rng(1).integers(0, 5, (3, 4))
    a, b = (tessera.BatchedEnv("predator_prey", 3, controller="learned") for _ in range(2))
    a.reset(seed=2), b.reset(seed=2)
    for wanted, got in zip(a.step(actions), b.step(Tensor(actions))):
        assert np.array_equal(wanted, got)
    # Views leave the same way: no copy, and nobody may write to them.
    shared = np.from_dlpack(Tensor(b.observations))
    assert np.shares_memory(shared, b.observations) and not shared.flags.writeable
    space = tessera.Space("alexnet", "eyeriss-256", layer=3)
    points = np.array([space.sample(seed) for seed in range(3)])
    assert np.array_equal(space.evaluate(Tensor(points))["value"], space.evaluate(points)["value"], equal_nan=True)
    with pytest.raises(tessera.BadValueError, match="cannot be read"):
        b.step(Tensor(actions, on_gpu=True))
