"""Bad input from Python gives exceptions, never a crash: more than 200 such calls."""

import threading

import numpy as np
import pytest

import tessera
from tessera import _core

pytest.importorskip("pettingzoo")
from tessera.pettingzoo import (  # noqa: E402
    cooperative_navigation_v0,
    cooptimize_v0,
    mapping_v0,
    predator_prey_v0,
)

NAN, INF = float("nan"), float("inf")
WRONG = (None, "", "nope", b"x", -1, 2**70, 1.5, NAN, [], {}, object(), ["a"], (1, 2, 3), np.zeros(3))


def small_map(**changes):
    settings = {"layer": 3, "samples": 4, "method": "random", **changes}
    return tessera.map("alexnet", "eyeriss-256", **settings)


def machine():
    return tessera.load_accelerator("eyeriss-256")


def space():
    return tessera.Space("alexnet", "eyeriss-256", layer=3)


def world(name="predator_prey", worlds=2, **settings):
    env = tessera.BatchedEnv(name, worlds, **settings)
    env.reset(1)
    return env


def stepped(actions, name="predator_prey", **settings):
    return world(name, **settings).step(actions)


# Lists of (what, call): each must raise an Exception.
def cases():
    for value in WRONG:
        yield f"load_network({value!r})", lambda v=value: tessera.load_network(v)
        yield f"load_accelerator({value!r})", lambda v=value: tessera.load_accelerator(v)
        if value is not None:
            yield f"network {value!r}", lambda v=value: tessera.map(v, "eyeriss-256", samples=2)
            yield f"accelerator {value!r}", lambda v=value: tessera.bound("alexnet", v)
        plain = value is not None and not isinstance(value, np.ndarray)
        if plain:
            yield f"method {value!r}", lambda v=value: small_map(method=v)
        if plain:
            yield f"samples {value!r}", lambda v=value: small_map(samples=v)
            yield f"objective {value!r}", lambda v=value: small_map(objective=v)
            yield f"env {value!r}", lambda v=value: tessera.train(v, episodes=1)
        yield f"worlds {value!r}", lambda v=value: tessera.BatchedEnv("predator_prey", v)
        yield f"points {value!r}", lambda v=value: space().evaluate(v)
        yield f"decode {value!r}", lambda v=value: space().decode(v)
        if isinstance(value, (str, int, float, dict)):
            yield f"mapping {value!r}", lambda v=value: tessera.mapping_from_dict(
                v, "alexnet", "eyeriss-256", 3)  # fmt: skip
        if not isinstance(value, np.ndarray):
            yield f"rows {value!r}", lambda v=value: tessera.evaluate_batch(
                [v] if not isinstance(v, str) else v)
        yield f"verify {value!r}", lambda v=value: tessera.verify(v)
        yield f"step {value!r}", lambda v=value: stepped(v)
    for field in ("n", "k", "c", "y", "x", "r", "s", "groups"):
        for size in (0, -1, 2**40, 1.5, NAN, "3"):
            yield f"Layer({field}={size})", lambda f=field, v=size: tessera.Layer(**{f: v})
    for pair in ((0, 1), (1,), (1, -1), 3, "ab", None, (1, 2, 3)):
        yield f"stride {pair!r}", lambda v=pair: tessera.Layer(y=9, x=9, r=3, s=3, stride=v)
    for entries in (-5, 1.5, NAN, "x", 2**70):
        yield f"entries {entries!r}", lambda v=entries: machine().replace(
            levels={machine().levels[0].name: {"entries": v}})  # fmt: skip
    for energy in (NAN, INF, -INF, "x", None, -1.0):
        yield f"energy {energy!r}", lambda v=energy: machine().replace(
            levels={machine().levels[0].name: {"read_pj": v}})  # fmt: skip
    for change in ({"nope": 1}, {"levels": {"nope": {}}}, {"levels": 3}, {"hierarchy": 3}, {"num_pes": -1}):
        yield f"replace {change}", lambda v=change: machine().replace(**v)
    for actions in (
        np.zeros((2, 4)), np.zeros((1, 20), np.float32), np.zeros((2, 20, 1), np.float32),
        np.full((2, 20), NAN, np.float32), np.full((2, 20), INF, np.float32), np.zeros((2, 4), "U1"),
        np.full((2, 4), 9), np.full((2, 4), -1), np.zeros((2, 3), int), np.zeros(8, int),
        np.zeros((2, 4), complex), np.array([[{}]]),
    ):  # fmt: skip
        yield f"actions {actions.dtype} {actions.shape}", lambda v=actions: stepped(v, controller="learned")
    for settings in (
        {"agents": 0}, {"agents": -3}, {"agents": 10**9}, {"agents": "x"}, {"nope": 1},
        {"compat": "x"}, {"horizon": 0}, {"landmarks": -7}, {"threads": -1},
    ):  # fmt: skip
        yield f"settings {settings}", lambda v=settings: world(**v)
    for settings in ({"network": "x"}, {"layer": 99}, {"accelerator": "x"}, {"reward": "x"}, {"horizon": -1}):
        yield f"mapping_v0 {settings}", lambda v=settings: mapping_v0.parallel_env(**v)
    yield "group", lambda: mapping_v0.parallel_env(groups=[["nope"]])
    yield "empty group", lambda: mapping_v0.parallel_env(groups=[[]])
    for module in (predator_prey_v0, cooperative_navigation_v0, mapping_v0, cooptimize_v0):
        yield f"{module.__name__} step", lambda m=module: m.parallel_env().step({})
        yield f"{module.__name__} mode", lambda m=module: m.parallel_env(render_mode="x")
        yield f"{module.__name__} seed", lambda m=module: m.parallel_env().reset(seed=-1)
    for words in ({"nope": 1}, {"bypass": 3}, {"threads": -1}, {"time_limit": NAN}, {"seed": 1.5}, {"set": "x"},
                  {"bind": {"x": "y"}}, {"progress": 3}, {"out": object()}, {"points": 0}, {"model": int}):  # fmt: skip
        yield f"map({words})", lambda v=words: small_map(**v)
    for value in ("nope", 3, [], {"levels.GLB.entries": []}, {"nope": [1]}, "levels.GLB.entries=1..0:x2"):
        yield f"sweep {value!r}", lambda v=value: tessera.sweep("alexnet", "simple3", layer=3, vary=v)
    for value in ("nope", 3, object(), "eyeriss-256", ""):
        yield f"explore {value!r}", lambda v=value: tessera.explore("alexnet", v)
    for words in ({}, {"bytes": -1}, {"bytes": NAN}, {"bytes": "x"}, {"nope": 1}):
        yield f"component {words}", lambda v=words: tessera.component("sram", **v)
    yield "too many", lambda: tessera.map(1, 2, 3)
    yield "twice", lambda: tessera.map("alexnet", network="alexnet")
    yield "no network", lambda: tessera.map(accelerator="eyeriss-256")
    yield "onnx", lambda: tessera.Network.from_onnx(__file__)
    yield "parse", lambda: tessera.Network.parse(b"\xff\x00", "x.onnx")
    yield "no layers", lambda: tessera.Network("x", [])
    yield "not layers", lambda: tessera.Network("x", [1])
    yield "no format", lambda: tessera.load_network("alexnet").to("nope")
    yield "no level", lambda: machine().level("nope")
    yield "nothing", lambda: tessera.Accelerator("x", hierarchy=tessera.Hierarchy(levels=[]))
    yield "register", lambda: tessera.register(3)
    yield "resume", lambda: tessera.resume("nope")
    yield "empty batch", lambda: tessera.MappingBatch.of([])
    yield "cost", lambda: tessera.Cost(cycles=NAN)
    yield "cost", lambda: tessera.Cost(cycles=-1)


def test_bad_calls_raise():
    tried, silent = 0, []
    for what, call in cases():
        tried += 1
        try:
            call()
        except Exception as error:
            assert str(error) or isinstance(error, (TypeError, KeyError)), what
        else:
            silent.append(what)
    assert not silent
    assert tried >= 200
    print(f"{tried} bad calls")


def test_errors_have_a_place_and_a_hint(tmp_path):
    bad = tmp_path / "net.m"
    bad.write_text("Network n { Layer a { Type: CONV Dimensions { KK: 64 } } }\n")
    with pytest.raises(tessera.Error) as caught:
        tessera.load_network(bad)
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(bad), 1, 47)
    assert "did you mean 'K'" in caught.value.hint
    with pytest.raises(tessera.UnknownNameError, match="did you mean 'resnet18'"):
        tessera.load_network("resnet81")
    with pytest.raises(tessera.UsageError, match="did you mean 'samples'"):
        small_map(sample=3)


class Keeper:
    """A searcher whose space is used after the search."""

    kept: list = []

    def __init__(self, space, seed):
        Keeper.kept.append(space)
        self.space, self.seed = space, seed

    def propose(self, n):
        self.seed += 1
        return [self.space.sample(self.seed)]

    def observe(self, trials):
        pass


def test_what_is_gone_is_an_exception():
    small_map(method=Keeper)
    with pytest.raises(tessera.UsageError, match="has ended"):
        Keeper.kept[0].sample(1)
    env = world()
    seen = env.observations
    del env
    assert np.isfinite(seen).all()  # the array keeps the worlds


def test_threads_at_once():
    env, errors = world(worlds=512, controller="learned"), []
    actions = np.zeros((512, 4), np.int64)

    def step():
        for _ in range(50):
            try:
                env.step(actions)
            except tessera.UsageError as error:
                errors.append(error)

    threads = [threading.Thread(target=step) for _ in range(4)]
    maps = [threading.Thread(target=small_map) for _ in range(2)]
    for thread in threads + maps:
        thread.start()
    for thread in threads + maps:
        thread.join()
    assert all("another thread" in str(error) for error in errors)
    assert _core.__doc__
