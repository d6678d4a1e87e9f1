"""Optuna and Nevergrad as search methods against ours, on equal terms: same space, same budget.

Needs `pip install optuna nevergrad`; what is not installed is left out.
"""
import tessera

methods = ["random", "ga", "team"]

try:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    class Optuna:
        def __init__(self, space, seed):
            self.space = space
            self.study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
            self.asked = []

        def propose(self, n):
            self.asked = [self.study.ask() for _ in range(min(n, 8))]
            points = [
                [trial.suggest_int(str(i), 0, size - 1) for i, size in enumerate(self.space.sizes)]
                for trial in self.asked
            ]
            return [self.space.repair(point) for point in points]

        def observe(self, trials):
            for trial, seen in zip(self.asked, trials):
                if seen.value is None:
                    self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
                else:
                    self.study.tell(trial, seen.value)

    methods.append(Optuna)
except ImportError:
    print("optuna is not installed")

try:
    import nevergrad

    class Nevergrad:
        def __init__(self, space, seed):
            self.space = space
            choices = [nevergrad.p.TransitionChoice(range(size)) for size in space.sizes]
            parameter = nevergrad.p.Tuple(*choices)
            parameter.random_state.seed(seed)
            self.optimizer = nevergrad.optimizers.TwoPointsDE(parameter, budget=1000)
            self.asked = []

        def propose(self, n):
            self.asked = [self.optimizer.ask() for _ in range(min(n, 8))]
            return [self.space.repair(list(candidate.value)) for candidate in self.asked]

        def observe(self, trials):
            for candidate, seen in zip(self.asked, trials):
                self.optimizer.tell(candidate, float("inf") if seen.value is None else seen.value)

    methods.append(Nevergrad)
except ImportError:
    print("nevergrad is not installed")

result = tessera.compare(
    "resnet18-gamma", "maestro-256", layer=2, objective="edp", methods=methods, seeds=2, samples=200, points=8
)
print(result.to_pandas().iloc[:, :6].to_string())
