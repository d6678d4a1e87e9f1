"""Optuna and Nevergrad as search methods against ours, on equal terms: same space, same budget.

Needs `pip install optuna nevergrad`; what is not installed is left out.
"""
from typing import Any

import tessera

methods: list[Any] = ["random", "ga", "team"]

try:
    import optuna
except ImportError:
    print("optuna is not installed")
else:
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    class Optuna:
        def __init__(self, space: tessera.SearchSpace, seed: int) -> None:
            self.space = space
            self.study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed % 2**32))
            self.asked: list[optuna.trial.Trial] = []

        def propose(self, n: int) -> list[list[int]]:
            self.asked = [self.study.ask() for _ in range(min(n, 8))]
            return [
                self.space.repair([t.suggest_int(str(i), 0, size - 1) for i, size in enumerate(self.space.sizes)])
                for t in self.asked
            ]

        def observe(self, trials: list[tessera.Trial]) -> None:
            for trial, seen in zip(self.asked, trials):
                if seen.value is None:
                    self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
                else:
                    self.study.tell(trial, seen.value)

    methods.append(Optuna)

try:
    import nevergrad
except ImportError:
    print("nevergrad is not installed")
else:

    class Nevergrad:
        def __init__(self, space: tessera.SearchSpace, seed: int) -> None:
            self.space = space
            parameter = nevergrad.p.Tuple(*(nevergrad.p.TransitionChoice(range(size)) for size in space.sizes))
            parameter.random_state.seed(seed % 2**32)
            self.optimizer = nevergrad.optimizers.TwoPointsDE(parameter, budget=1000)
            self.asked: list[Any] = []

        def propose(self, n: int) -> list[list[int]]:
            self.asked = [self.optimizer.ask() for _ in range(min(n, 8))]
            return [self.space.repair(list(candidate.value)) for candidate in self.asked]

        def observe(self, trials: list[tessera.Trial]) -> None:
            for candidate, seen in zip(self.asked, trials):
                self.optimizer.tell(candidate, float("inf") if seen.value is None else seen.value)

    methods.append(Nevergrad)

result = tessera.compare(
    "resnet18-gamma", "maestro-256", layer=2, objective="edp", methods=methods, seeds=2, samples=200, points=8
)
print(result.to_pandas().iloc[:, :5].to_string())
