"""Everything that can go wrong around a run of tessera, as functions that a test calls.

A Fault is something done to a command: a kill, an error or a power cut at the n-th call that changes a
file (shim.cc, preloaded), closed streams, a signal while it is blocked, little memory. Damage is in
damage.py, extreme numbers are in extremes.py. What must hold afterwards is always the same and is
checked here:

  no crash      no signal but the one that was sent, no exit code 70, no abort
  no hang       an end within SECONDS
  all or none   without a run folder, no file appears unless the command succeeded
  resumable     a run folder is resumed to the bytes of an undisturbed run, and verifies; with a clock,
                to values that are no worse and bounds that are no looser than those in its journal
  lasting       what a command that has succeeded wrote survives a power cut
"""
import json, math, os, random, resource, shutil, signal, subprocess, sys, tempfile, time

SECONDS = 60  # more than any command here takes, by far
ERRORS = ("ENOSPC", "EIO", "EACCES", "EMFILE")
POWER = ("cut", "tear")  # all that was not synced is lost; half of the bytes is

STUDY = """format: tessera-study-1
networks: [net.yaml]
accelerators: [eyeriss-256]
methods: [random]
seeds: [1, 2, 3]
budget: {samples: 50}
"""
TEMPLATE = """format: tessera-accelerator-1
name: edge
hierarchy:
  node_nm: 22
  bypass: false
  arithmetic: {mesh_x: {choose: [2, 4], as: columns}, mesh_y: 4, word_bits: 8, component: mac}
  levels:
  - {name: RF, entries: 64, word_bits: 8, component: regfile, mesh_x: {as: columns}, mesh_y: 4}
  - {name: GLB, entries: {from: 1K, to: 4K, times: 2}, word_bits: 8, component: sram, block_words: 8}
  - {name: DRAM, word_bits: 8, component: dram, type: lpddr4}
"""
CURRICULUM = """format: tessera-curriculum-1
networks: [alexnet]
presets: [simple3]
problems: 4
improve: 10
epochs: 1
visits: 1
draws: 4
batch: 4
"""
CHIP = """format: tessera-accelerator-1
name: chip
hierarchy:
  arithmetic: {mesh_x: 4, mac_pj: 1}
  levels:
  - {name: RF, entries: 8, mesh_x: 4, read_pj: 1, fill_pj: 1, update_pj: 1}
  - {name: GLB, entries: 96, read_pj: 6, fill_pj: 6, update_pj: 6, read_words_per_cycle: 4, write_words_per_cycle: 4}
  - {name: DRAM, read_pj: 100, fill_pj: 100, update_pj: 100, shared_words_per_cycle: 2}
"""
GRAPH = """format: tessera-network-1
name: small
layers:
- {name: a, type: conv, N: 1, K: 4, C: 2, Y: 8, X: 4, R: 3, S: 1, pad: [1, 0, 1, 0]}
- {name: b, type: conv, N: 1, K: 2, C: 4, Y: 8, X: 4, R: 1, S: 1}
graph:
  inputs:
  - {name: input, shape: [1, 2, 8, 4]}
  nodes:
  - {name: a, in: input}
  - {name: relu, type: relu, in: a}
  - {name: b, in: relu}
  - {name: sum, type: add, in: [b, input]}
  outputs: [sum]
"""
INPUTS = {"template.yaml": TEMPLATE, "curriculum.yaml": CURRICULUM, "chip.yaml": CHIP, "graph.yaml": GRAPH}
NETWORK = """format: tessera-network-1
name: two
layers:
  - {name: a, type: conv, K: 32, C: 16, Y: 14, X: 14, R: 3, S: 3}
  - {name: b, type: conv, K: 16, C: 8, Y: 28, X: 28, R: 3, S: 3}
"""

# Runs: a folder that resume and verify know.
RUNS = {
    "map": "map net.yaml --accelerator eyeriss-256 --method random --samples 300 --objective edp",
    "map-proof": "map net.yaml --layer a --accelerator simple3 --samples 60 --proof-rounds 1",
    "compare": "compare net.yaml --layer a --accelerator eyeriss-256 --methods random,ga "
               "--samples 300 --seeds 1",
    "cooptimize": "cooptimize net.yaml --layer b --target maestro --budget-macs 64 --measurements 8",
    "train": "train --env cooperative_navigation --episodes 60 --report-every 20 "
             "--checkpoint-every 20 --set batch=32 --set warmup=100 --set capacity=500",
    "study": "study study.yaml",
    "map-policy": "map net.yaml --layer b --accelerator simple3 --method policy --samples 40",
    "map-between": "map graph.yaml --accelerator chip.yaml --objective energy --method exact --no-bypass "
                   "--inter-layer slices --proof-rounds 50",
    "cooptimize-agents": "cooptimize net.yaml --layer b --budget-macs 64 --generator reference "
                         "--measurements 4 --method dcoc",
    "explore": "explore graph.yaml --machine template.yaml --objective edp",
    "sweep": "sweep graph.yaml --accelerator simple3 --no-bypass --vary levels.GLB.entries=1K..4K:x2",
    "train-policy": "train --env mapping --curriculum curriculum.yaml",
}
# The same where the clock decides how far a run gets.
CLOCKED = {
    "map-clock": "map net.yaml --accelerator eyeriss-256 --objective edp --samples 100 "
                 "--time-limit 0.4",
    "map-clock-latency": "map net.yaml --accelerator simple3 --objective latency --time-limit 0.4",
    # To the end of the proofs, the best mapping of one layer from a policy.
    "map-clock-proved": "map graph.yaml --accelerator chip.yaml --objective energy --time-limit 20",
    "map-clock-between": "map graph.yaml --accelerator chip.yaml --objective energy --time-limit 20 "
                         "--inter-layer slices",
    "compare-clock": "compare net.yaml --layer a --accelerator eyeriss-256 --methods random,ga --samples 3000 --seeds 1 "
                     "--time-limit 0.3",
    "explore-clock": "explore net.yaml --machine template.yaml --objective edp --time-limit 0.5",
    "sweep-clock": "sweep net.yaml --accelerator simple3 --vary levels.GLB.entries=1K..4K:x2 --time-limit 2",
}
# Commands that leave files which belong together.
FILES = {
    "convert": "convert net.yaml --to timeloop",
    "compile": "compile net.yaml --generator reference",
    "assign": "assign net.yaml --layer a --accelerator eyeriss-256 --agents 3 --samples 300",
    "pareto": "map net.yaml --layer b --accelerator simple3 --objective pareto --proof-rounds 1",
    "check": "check net.yaml",
}
# Runs made of others. The units of the second part come first: the journal gets another order at its end.
MERGED = {"collect": "study --collect second first"}
EXEMPT = ("lock", "times.json")


class Held(Exception):
    """Something that must hold did not."""


def files(folder):
    """{name: bytes} of everything below a folder that has to be equal."""
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            if name not in EXEMPT and not name.startswith("events.out."):
                path = os.path.join(root, name)
                found[os.path.relpath(path, folder)] = open(path, "rb").read()
    return found


class Machine:
    """A folder with inputs, and tessera to run there."""

    def __init__(self, tessera, shim, seed=1):
        self.tessera, self.shim = os.path.abspath(tessera), os.path.abspath(shim)
        self.random = random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="tessera-faults-")
        self.trials, self.failures = 0, []
        self.output = b""  # of the command that ended last
        self.kept = os.path.abspath("build/faults")  # what did harm
        self.write("net.yaml", NETWORK)
        self.write("study.yaml", STUDY)
        for name, contents in INPUTS.items():
            self.write(name, contents)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, contents):
        with open(self.path(name), "w") as file:
            file.write(contents)

    def remove(self, name):
        shutil.rmtree(self.path(name), ignore_errors=True)

    def start(self, words, fault=None, memory=None, **streams):
        environment = dict(os.environ)
        if fault:
            environment |= {"LD_PRELOAD": self.shim, "TESSERA_FAULT": fault,
                            "TESSERA_FAULT_COUNT": self.path("count")}

        def limit():
            if memory:
                resource.setrlimit(resource.RLIMIT_AS, (memory << 20, memory << 20))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE} | streams
        return subprocess.Popen([self.tessera] + words, cwd=self.folder, env=environment,
                                preexec_fn=limit, start_new_session=True, **streams)

    def finish(self, process, what, killed=False, seconds=SECONDS, work=None, stops=False):
        """The exit code. Crashes and hangs are failures; `killed`: SIGKILL was part of the plan.

        `work`: seconds of the processor that it may take, however busy the machine is. `stops`: what takes
        longer was asked for, and has to end when it is asked to stop.
        """
        self.trials += 1
        try:
            out, err = wait(process, seconds, work, stops)
        except subprocess.TimeoutExpired:
            taken = processor_seconds(process.pid)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Held(f"{what}: no end after {seconds} s, or {taken:.1f} s of the processor")
        code, self.output = process.returncode, out or b""
        if code == 70 or (code < 0 and not (killed and code == -signal.SIGKILL)):
            raise Held(f"{what}: ended with {code}: {(err or b'').decode(errors='replace')[-300:]}")
        if err and b"internal error" in err:
            raise Held(f"{what}: {err.decode(errors='replace')[-300:]}")
        return code

    def run(self, words, what, fault=None, memory=None, killed=False, **streams):
        return self.finish(self.start(words, fault, memory, **streams), what, killed)

    def say(self, words):
        """What a command prints that cannot fail."""
        return subprocess.run([self.tessera] + words, capture_output=True, text=True, check=True,
                              cwd=self.folder).stdout

    def calls(self):
        """Calls of the last command with a fault that the shim has counted."""
        with open(self.path("count")) as file:
            return int(file.read())

    def fail(self, failure):
        self.failures.append(str(failure))
        print("FAILED", failure, flush=True)

    def attempt(self, test, *arguments):
        try:
            test(*arguments)
        except Held as failure:
            self.fail(failure)

    def whole(self, kind, words):
        """The files of an undisturbed run, and how many calls it makes."""
        self.remove("whole")
        if os.path.exists(self.path("count")):
            os.remove(self.path("count"))
        code = self.run(words + ["--out", "whole"], f"{kind} undisturbed", fault="count")
        if code != 0:
            raise Held(f"{kind}: undisturbed it ends with {code}")
        return files(self.path("whole")), self.calls()


def processor_seconds(pid):
    """What a child has taken of the processor so far, on all threads."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait(process, seconds, work, stops):
    """Output of a process that ends in time; if it `stops`, soon after one Ctrl-C at the end of its time."""
    deadline, most = time.time() + seconds, work or math.inf
    while True:
        try:
            return process.communicate(timeout=0.2)
        except subprocess.TimeoutExpired:
            taken = processor_seconds(process.pid)
            if taken < most and time.time() < deadline:
                continue
            if not stops:
                raise
            process.send_signal(signal.SIGINT)
            stops, deadline, most = False, time.time() + seconds, taken + most


def places(machine, calls, count):
    """Numbers of calls to disturb: the first ones, the last ones, and some between."""
    edges = [n for n in (1, 2, 3, calls - 1, calls) if 1 <= n <= calls]
    if count >= calls:
        return list(range(1, calls + 1))
    rest = [machine.random.randint(1, calls) for _ in range(max(0, count - len(edges)))]
    return sorted(set(edges[:count] + rest))


def disturb_run(machine, kind, words, whole, fault):
    """A run that is killed, or whose disk fails, from the n-th call on; then resumed."""
    folder = "out"
    machine.remove(folder)
    what = f"{kind} with {fault}"
    code = machine.run(words + ["--out", folder], what, fault=fault, killed=True)
    if code == 0 and not fault.startswith("kill"):
        # Everything that matters was on the disk before the fault.
        if files(machine.path(folder)) != whole:
            raise Held(f"{what}: exit code 0, but not all of the result is there")
        return
    go_on(machine, words, folder, what)
    found = files(machine.path(folder))
    differing = sorted(n for n in whole.keys() | found.keys() if whole.get(n) != found.get(n))
    if differing:
        raise Held(f"{what}: after resume other bytes in {differing}")


def go_on(machine, words, folder, what):
    """Resumes a run, or starts it again if it had not come to be one; then verifies it."""
    begun = os.path.exists(machine.path(folder + "/run.json"))
    again = machine.run(["resume", folder] if begun else words + ["--out", folder], what + ", resumed")
    if again != 0:
        raise Held(f"{what}: resume ends with {again}")
    if machine.run(["verify", folder], what + ", verified") != 0:
        raise Held(f"{what}: the resumed run does not verify")


def known(folder):
    """(least value, largest bound) of each layer of a map run by its journals, as far as they are whole."""
    layers = {}
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in (name for name in names if name[:3].isdigit()):
        value, bound = layers.get(name[:3], (math.inf, -math.inf))
        for line in open(os.path.join(folder, name), "rb"):
            try:
                row = json.loads(line)
            except ValueError:
                break
            value = min(value, row.get("value", math.inf))
            bound = max(bound, row.get("bound", -math.inf))
        layers[name[:3]] = value, bound
    return layers


PRICES = {"latency": "cycles", "energy": "energy_pj", "edp": "edp"}


def reached(folder):
    """(value, bound) of everything that a result has both of, if there is a result."""
    if not os.path.exists(folder + "/result.json"):
        return []
    with open(folder + "/result.json") as file:
        result = json.load(file)
    price = PRICES[result["objective"]]
    if "layers" in result:
        return [(row["value"], row["bound"]) for row in result["layers"]]
    if "points" in result:
        return [(row[price], row[price] / (1 + row["gap"])) for row in result["points"]]
    if "best" in result:
        best = result["best"]
        return [(best[price], best[price] / (1 + result["gap"]))] if best else []
    return [(row["best"], 0) for row in result["results"]]


def disturb_clocked(machine, kind, words, whole, fault):
    """A run with a clock: what its journal or its result knew when it was disturbed is not forgotten."""
    machine.remove("out")
    what = f"{kind} with {fault}"
    machine.run(words + ["--out", "out"], what, fault=fault, killed=True)
    before = known(machine.path("out/journal")) if kind.startswith("map") else {}
    result = reached(machine.path("out"))
    go_on(machine, words, "out", what)
    after = reached(machine.path("out"))
    pairs = [(old, after[int(number) - 1]) for number, old in before.items()] + list(zip(result, after))
    for (value, bound), (value_now, bound_now) in pairs:
        if value_now > value * (1 + 1e-9):
            raise Held(f"{what}: {value} before, {value_now} after it was resumed")
        if bound_now < bound * (1 - 1e-9):
            raise Held(f"{what}: bound {bound} before, {bound_now} after it was resumed")


def lasting(machine, kind, words, whole, power):
    """A command that ends well, and then the power goes: nothing is lost."""
    machine.remove("out")
    what = f"{kind}, then {power}"
    code = machine.run(words + ["--out", "out"], what, fault=f"{power}:999999999")
    if code != 0:
        raise Held(f"{what}: ends with {code}")
    found = files(machine.path("out")) if os.path.isdir(machine.path("out")) else {}
    missing = sorted(name for name in whole if found.get(name) != whole[name])
    if missing:
        raise Held(f"{what}: exit code 0, but {missing} did not last")


def parts_of_a_study(machine):
    for part, folder in enumerate(("first", "second"), 1):
        machine.remove(folder)
        machine.run(["study", "study.yaml", "--part", f"{part}/2", "--out", folder], f"part {part} of a study")


def disturb_files(machine, kind, words, whole, fault):
    """A command that writes several files: all of them, or none."""
    machine.remove("out")
    what = f"{kind} with {fault}"
    code = machine.run(words + ["--out", "out"], what, fault=fault, killed=True)
    found = files(machine.path("out")) if os.path.isdir(machine.path("out")) else {}
    if code == 0 and found != whole:
        raise Held(f"{what}: exit code 0, but not all of the result is there")
    if code > 0 and found:
        raise Held(f"{what}: exit code {code}, but {sorted(found)} are left")


def closed_streams(machine, kind, words, whole):
    """Each standard stream closed: files must not get what belongs on a terminal."""
    for closed in ("<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"):
        machine.remove("out")
        what = f"{kind} with {closed}"
        line = " ".join([machine.tessera] + words + ["--out", "out"]) + " " + closed
        process = subprocess.Popen(["sh", "-c", line], cwd=machine.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        machine.finish(process, what)
        if files(machine.path("out")) != whole:
            raise Held(f"{what}: other bytes")


def little_memory(machine, kind, words, mebibytes):
    """Less address space than it wants: an error or a result."""
    machine.remove("out")
    machine.run(words + ["--out", "out"], f"{kind} with {mebibytes} MiB", memory=mebibytes)


def interrupt(machine, words, what, seconds=0.5, number=signal.SIGINT, expected=(130,), **streams):
    """One signal while the program is blocked or at work ends it, and whatever it started."""
    process = machine.start(words, **streams)
    time.sleep(seconds)
    # Within a second of the processor, however busy the machine is.
    taken = processor_seconds(process.pid)
    process.send_signal(number)
    code = machine.finish(process, what, work=taken + 1)
    if code not in expected:
        raise Held(f"{what}: ended with {code}, not {expected}")
    left = subprocess.run(["ps", "-o", "pid=,stat=,args=", "--sid", str(process.pid)],
                          capture_output=True, text=True).stdout
    living = [line for line in left.splitlines() if " Z" not in line and line.strip()]
    if living:
        raise Held(f"{what}: still running: {living}")
