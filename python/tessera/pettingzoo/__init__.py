"""PettingZoo: environments with several agents, each a module with `parallel_env` and `env`.

* `mapping_v0`: mapping a layer, an agent per decision or per group of decisions
* `predator_prey_v0`, `cooperative_navigation_v0`: the particle worlds, modes `openai` and `mpe2`
* `cooptimize_v0`: hardware and schedules, three agents

They are registered: `pettingzoo.make("parallel", "tessera/mapping-v0")`.
`tessera.BatchedEnv` steps thousands of worlds per call.
"""

from pettingzoo.env_registry.registration import aec_registry as _aec
from pettingzoo.env_registry.registration import parallel_registry as _parallel
from pettingzoo.env_registry.registration import register as _register

for _name in ("mapping", "predator_prey", "cooperative_navigation", "cooptimize"):
    if f"tessera/{_name}-v0" not in _parallel:
        _register("parallel", f"tessera/{_name}-v0", f"tessera.pettingzoo.{_name}_v0:parallel_env")
    if f"tessera/{_name}-v0" not in _aec:
        _register("aec", f"tessera/{_name}-v0", f"tessera.pettingzoo.{_name}_v0:env")
