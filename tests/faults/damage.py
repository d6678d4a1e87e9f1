"""Damaged folders of runs: random bytes, and forgeries whose seals, hashes and checksums all fit again.

Plain damage has to be found by `verify`. A forgery may hold any number anywhere, so all that is asked of
`verify` and `resume` is an end in time and in order, and that no number of a result is accepted that is
not the one of the run, unless `verify` says that it took it on trust. A forged budget may ask for more
work than anybody has time for: then `resume` ends when it is asked to.
"""
import hashlib, json, os, re, shutil, struct, zlib

import faults

# Small runs: thousands of them are looked at.
RUNS = {
    "map": "map net.yaml --layer b --accelerator eyeriss-256 --method random --samples 40 --objective edp",
    "map-proof": "map net.yaml --layer a --accelerator simple3 --no-bypass --samples 20 --proof-rounds 1",
    "compare": "compare net.yaml --layer a --accelerator simple3 --methods random,sa --samples 30 --seeds 1",
    "cooptimize": "cooptimize net.yaml --layer b --budget-macs 64 --generator reference --measurements 2",
    "cooptimize-array": "cooptimize net.yaml --layer b --target maestro --budget-macs 64 --measurements 4",
    "train": "train --env cooperative_navigation --episodes 8 --report-every 4 --checkpoint-every 4 "
             "--set batch=8 --set warmup=10 --set capacity=64 --set hidden=8",
    "map-policy": "map net.yaml --layer b --accelerator simple3 --method policy --samples 4",
    "map-between": "map graph.yaml --accelerator chip.yaml --objective energy --method exact --no-bypass "
                   "--inter-layer slices",
    "cooptimize-agents": "cooptimize net.yaml --layer b --budget-macs 64 --generator reference "
                         "--measurements 4 --method dcoc",
    "study": "study study.yaml",
    "explore": "explore graph.yaml --machine template.yaml --objective edp",
    "sweep": "sweep graph.yaml --accelerator simple3 --no-bypass --vary levels.GLB.entries=1K..4K:x2",
    "train-policy": "train --env mapping --curriculum curriculum.yaml",
    "train-mapping": "train --env mapping --env-set network=graph.yaml --env-set accelerator=chip.yaml --algo ppo "
                     "--episodes 4 --report-every 2 --checkpoint-every 2 --env-set horizon=4 --set hidden=8 "
                     "--set steps=4",
}
HOSTILE = (0, -1, 1, 2, -7, 129, 1e9, 2**31 - 1, 2**31, 2**53, 2**63 - 1, -2**63, 2**64, 1e300, -1e300,
           0.5, 1e-300, None, True, "", "x" * 5000, "\u009b31m", "../../x", [], {}, "nan")
CHECKPOINT = "checkpoint.safetensors"


# ---- What a run's files carry beside their contents ------------------------------------------------------

def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def read_json(path):
    with open(path) as file:
        return json.load(file)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def chain(start, objects):
    """Lines of a journal, each with the sum of all before it."""
    lines, previous = [], start
    for text in objects:
        previous = hashlib.sha256((previous + text).encode()).hexdigest()[:16]
        lines.append(text[:-1] + ',"sum":"' + previous + '"}\n')
    return "".join(lines).encode()


def objects_of(data):
    """The objects of a journal as texts, without their sums."""
    tail = len(',"sum":"') + 16 + len('"}')
    return [line[:-tail] + "}" for line in data.decode(errors="replace").splitlines()]


def seal(folder):
    """Makes everything fit that a run says about itself."""
    header = read_json(folder + "/run.json")
    header.pop("seal", None)
    for name in header["inputs"]:
        header["inputs"][name] = sha256(read(os.path.join(folder, name)))
    identity = {key: header[key] for key in ("kind", "settings", "seed", "inputs")}
    header["id"] = sha256(compact(identity).encode())[:16]
    for name in sorted(os.listdir(folder + "/journal")):
        path = os.path.join(folder, "journal", name)
        write(path, chain(f"{header['id']}/{name[:-len('.jsonl')]}", objects_of(read(path))))
    for name in header.get("results", {}):
        header["results"][name] = sha256(read(os.path.join(folder, name)))
    header["seal"] = sha256(compact(header).encode())
    write(folder + "/run.json", (json.dumps(header, indent=1, ensure_ascii=False) + "\n").encode())


# ---- Forgeries -------------------------------------------------------------------------------------------

def places_of(value, path=()):
    """Paths of all leaves of a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [place for key, inner in items for place in places_of(inner, path + (key,))]
    return found or [path]


def forged_value(rng, old):
    if isinstance(old, bool) or not isinstance(old, (int, float)) or rng.random() < 0.4:
        return rng.choice(HOSTILE)
    return rng.choice((old + 1, old - 1, old * 2, old / 10, -old, old * 1.0001))


def forge_json(rng, value):
    """One leaf changed, removed or doubled."""
    places = places_of(value)
    *path, last = rng.choice(places) or ("no leaf",)
    inner = value
    for key in path:
        inner = inner[key]
    if not isinstance(inner, (dict, list)):
        return rng.choice(HOSTILE)
    if rng.random() < 0.15:
        del inner[last]
    else:
        inner[last] = forged_value(rng, inner[last])
    return value


def forge_journal(rng, data):
    lines = objects_of(data)
    if not lines:
        return data
    at = rng.randrange(len(lines))
    how = rng.randrange(5)
    if how == 0:
        del lines[at]
    elif how == 1:
        lines.insert(at, rng.choice(lines))
    else:
        lines[at] = compact(forge_json(rng, json.loads(lines[at])))
    # The sums are made anew with the seal; their place has to be there.
    return chain("", [line if line.startswith("{") else '{"line":0}' for line in lines])


def forge_checkpoint(rng, data):
    """Numbers of one array, with its checksum; or its shape or type."""
    size, = struct.unpack("<Q", data[:8])
    header, arrays = json.loads(data[8:8 + size]), bytearray(data[8 + size:])
    names = [key for key in header if key != "__metadata__"]
    counters = [key for key in names if header[key]["dtype"][0] in "IU"]  # where numbers mean places
    name = rng.choice(counters if counters and rng.random() < 0.7 else names)
    entry = header[name]
    begin, end = entry["data_offsets"]
    if rng.random() < 0.1:
        header[name] = forge_json(rng, entry)
    elif end > begin:
        width = 4 if entry["dtype"].endswith("32") else 1 if entry["dtype"] == "U8" else 8
        at = begin + width * rng.randrange((end - begin) // width)
        if entry["dtype"].startswith("F"):
            number = rng.choice((0.0, -1.0, 1e30, float("nan"), float("inf"), 0.25))
            arrays[at:at + width] = struct.pack("<f" if width == 4 else "<d", number)
        else:
            number = rng.choice((0, 1, -1, -7, 129, 100000, 10**9, 2**31, 2**48, 2**62, 2**63 - 1, -2**63))
            arrays[at:at + width] = (number % 256**width).to_bytes(width, "little")
        header["__metadata__"][name] = format(zlib.crc32(bytes(arrays[begin:end])), "08x")
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + bytes(arrays)


def forge(rng, folder):
    """Changes one file of a run in a way that its format allows, and seals it. The file's name."""
    names = sorted(faults.files(folder)) + ["run.json"] * 3
    name = rng.choice(names)
    path = os.path.join(folder, name)
    data = read(path)
    if name.startswith("journal/"):
        data = forge_journal(rng, data)
    elif name == CHECKPOINT:
        data = forge_checkpoint(rng, data)
    elif name == "run.json":
        header = json.loads(data)
        part = rng.choice([key for key in ("settings", "seed", "kind", "command", "version") if key in header])
        header[part] = forge_json(rng, {part: header[part]}).get(part)
        data = compact(header).encode()
    elif name.endswith(".json"):
        data = json.dumps(forge_json(rng, json.loads(data)), indent=1).encode()
    else:
        data = mutated(rng, data)
    write(path, data)
    try:
        seal(folder)
    except (ValueError, KeyError, TypeError, AttributeError):
        pass  # so odd that it cannot even be sealed
    return name


def mutated(rng, good):
    """Cut off, grown, a bit flipped, a number changed, or a piece copied elsewhere."""
    data = bytearray(good)
    choice = rng.randrange(5)
    if not data or choice == 1:
        return bytes(data + b"{}\n")
    at = rng.randrange(len(data))
    if choice == 0:
        return bytes(data[:at])
    if choice == 2:
        data[at] ^= 1 << rng.randrange(8)
    elif choice == 3:
        digits = [i for i, byte in enumerate(data) if 48 <= byte < 58]
        if digits:
            data[rng.choice(digits)] = rng.randrange(48, 58)
    else:
        to = rng.randrange(len(data))
        data[to:to + 16] = data[at:at + 16]
    return bytes(data)


# Settings that no command line could have led to, and files that are not the run's.
REFUSED = {
    "map": {"network": "../net.yaml", "accelerator": "../chip.yaml", "constraints": ["/etc/passwd"],
            "policy": "/etc/passwd", "points": -1, "proof_memory_mib": -1, "target_gap": -5, "seconds": -1,
            "samples": -1, "proof_rounds": -1},
    "compare": {"problem.network": "inputs/../../net.yaml", "methods": [], "stop_within": -1, "seeds": 2**62},
    "cooptimize": {"networks": ["../net.yaml"], "measurements": 0, "max_batch": 0, "budget_sram_bytes": -1,
                   "clock_mhz": 0, "measurement_seconds": -1, "budget_macs": 2**62, "hardware": "../chip.yaml",
                   "alu_startup_cycles": 7, "read_delay_cycles": 129},  # other measurements
    "explore": {"networks": ["../graph.yaml"], "machine": "../template.yaml", "seconds": -1, "samples": 0},
    "sweep": {"networks": ["../graph.yaml"], "accelerator": "../chip.yaml", "seconds": -1},
    "train-mapping": {"config.env_settings.network": "graph.yaml", "config.env_settings.accelerator": "chip.yaml",
                      "config.env_settings.constraints": "/etc/passwd", "config.env_settings.agents": "/etc/passwd"},
}

# Kinds whose result is the best of what their journals hold.
SEARCHES = ("map", "map-policy", "compare", "cooptimize", "cooptimize-array", "cooptimize-agents", "explore", "sweep")

# Words of a result that its numbers do not show.
REPORTED = {
    "map": {"power_note": 2**63 - 1, "stopped_by": -1, "interrupted": "\u009b31m",
            "gains.0.text": "factors that do not divide could gain nothing", "layers.0.stopped_by": "proved"},
    "map-proof": {"gains.0.text": 0.5, "power_note": "power at 9 GHz", "stopped_by": "memory", "interrupted": True},
}


# ---- Trials ----------------------------------------------------------------------------------------------

WORK = 10  # seconds of the processor, whatever else the machine does

# What ended a search and what was proved of next objectives stands in no journal: verify lists that it believes
# them, which excuses no number.
BELIEVED = {"stopped_by": b"ended the search", "interrupted": b"was interrupted", "proved": b"next objectives"}


def excused(output):
    """Whether verify says that it took numbers on trust."""
    return any(b"taken on trust" in line and not any(words in line for words in BELIEVED.values())
               for line in output.splitlines())


def plain(machine, kind, folder):
    """A random change in a random file of a finished run is found by verify."""
    name = machine.random.choice(sorted(faults.files(machine.path(folder))))
    path = machine.path(os.path.join(folder, name))
    good = read(path)
    bad = mutated(machine.random, good)
    if bad == good:
        return
    write(path, bad)
    try:
        what = f"{kind}: {name} damaged"
        if machine.finish(machine.start(["verify", folder]), what, work=WORK) == 0:
            raise faults.Held(f"{what}: verify accepts it")
    finally:
        write(path, good)


def forged(machine, kind, folder):
    """A forged run: verify and resume end in order, and no number of the result is believed."""
    copy = copied(machine, folder)
    state = machine.random.getstate()
    name = forge(machine.random, copy)
    before, after = faults.files(machine.path(folder)), faults.files(copy)
    if before == after:
        return
    what = f"{kind}: {name} forged"
    try:
        process = machine.start(["verify", "forged", "--seconds", "2"])
        code = machine.finish(process, what, work=WORK)
        changed = name if name in ("result.json", "progress.csv") or name.startswith("mappings/") else None
        if changed and numbers(before[name]) == numbers(after[name]):
            changed = None
        if code == 0 and changed and not excused(machine.output):
            raise faults.Held(f"{what}: verify accepts {changed}")
        # Of what resume writes anew it reads nothing: a few of those will do.
        if name != "result.json" and not name.startswith(("report.html", "mappings/")) or machine.trials % 4 == 0:
            machine.finish(machine.start(["resume", "forged"]), what + ", resumed", work=WORK, stops=True)
    except faults.Held:
        keep(machine, kind, name, state)
        raise


# Commands that show runs. They believe what a folder says, so all that is asked of them is an end in order.
READERS = ("report forged --out page.html", "report forged --text", "report whole forged --markdown",
           "report forged --perfetto trace.json", "explain forged", "diff whole forged", "list runs .",
           "study --query SELECT(*)FROM(units) forged")


def shown(machine, kind, folder):
    """A forged run, as others look at it."""
    copy = copied(machine, folder)
    state = machine.random.getstate()
    name = forge(machine.random, copy)
    for line in machine.random.sample(READERS, 2):
        words = [word.replace("(", " ").replace(")", " ") for word in line.split()]
        what = f"{kind}: {name} forged, {line}"
        try:
            machine.finish(machine.start(words, memory=4096), what, work=WORK)
        except faults.Held:
            keep(machine, kind, name, state)
            raise


def nodes_of(value, path=()):
    """Paths of everything inside a JSON value, lists and objects included."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [place for key, inner in items for place in nodes_of(inner, path + (key,))]


def of_another_type(value):
    if isinstance(value, (dict, str)):
        return 5
    return {"x": 5} if isinstance(value, list) else "x"


def mistyped(machine, kind, folder, most):
    """Everything in a result and in the times of a run once of another type, sealed: commands that show runs end in
    order."""
    for name in ("result.json", "times.json"):
        places = nodes_of(read_json(machine.path(f"{folder}/{name}")))
        for place in machine.random.sample(places, min(most, len(places))):
            machine.attempt(shown_mistyped, machine, kind, folder, name, place)


def shown_mistyped(machine, kind, folder, name, place):
    copy = copied(machine, folder)
    whole = read_json(f"{copy}/{name}")
    *path, last = place
    inner = whole
    for key in path:
        inner = inner[key]
    inner[last] = of_another_type(inner[last])
    write(f"{copy}/{name}", json.dumps(whole, indent=1).encode())
    seal(copy)
    for line in ("verify forged --seconds 2",) + READERS[:6]:
        what = f"{kind}: {name} with another type at {'/'.join(map(str, place))}, {line}"
        machine.finish(machine.start(line.split(), memory=4096), what, work=WORK)


def refused(machine, kind, folder, place, value):
    """A header whose seal fits and whose setting cannot be: an error of verify and of resume."""
    copy = copied(machine, folder)
    header = read_json(copy + "/run.json")
    *path, last = place.split(".")
    inner = header["settings"]
    for key in path:
        inner = inner[key]
    inner[last] = value
    write(copy + "/run.json", compact(header).encode())
    seal(copy)
    for command in ("verify", "resume"):
        what = f"{kind}: {command} with setting {place} = {value}"
        if machine.finish(machine.start([command, "forged"]), what, work=WORK) == 0:
            raise faults.Held(f"{what}: accepted")


def another(value):
    """Another value of the same type, which no reader refuses for its looks."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    return value + " " if isinstance(value, str) else 1


def told(machine, kind, folder, most):
    """Every value of a result, words included, is one that verify computes or compares: changed, or left out,
    and sealed, none is accepted unless verify says what it took on trust."""
    places = [place for place in places_of(read_json(machine.path(folder + "/result.json"))) if place]
    for place in machine.random.sample(places, min(most, len(places))):
        for remove in (False, True):
            machine.attempt(told_otherwise, machine, kind, folder, place, remove)


def told_otherwise(machine, kind, folder, place, remove):
    copy = copied(machine, folder)
    result = read_json(copy + "/result.json")
    *path, last = place
    inner = result
    for key in path:
        inner = inner[key]
    if remove:
        del inner[last]
    else:
        inner[last] = another(inner[last])
    write(copy + "/result.json", json.dumps(result, indent=1).encode())
    seal(copy)
    what = f"{kind}: result with {'/'.join(map(str, place))} {'left out' if remove else 'changed'}"
    code = machine.finish(machine.start(["verify", "forged", "--seconds", "2"]), what, work=WORK)
    if code == 0 and not excused(machine.output) and BELIEVED.get(last, b"nothing") not in machine.output:
        raise faults.Held(f"{what}: verify accepts it")


def reported(machine, kind, folder, place, value):
    """A result that says something else, sealed: verify does not accept it."""
    copy = copied(machine, folder)
    result = read_json(copy + "/result.json")
    *path, last = place.split(".")
    inner = result
    for key in path:
        inner = inner[int(key) if key.isdigit() else key]
    inner[last] = value
    write(copy + "/result.json", json.dumps(result, indent=1).encode())
    seal(copy)
    what = f"{kind}: result with {place} = {value}"
    if machine.finish(machine.start(["verify", "forged", "--seconds", "2"]), what, work=WORK) == 0:
        raise faults.Held(f"{what}: verify accepts it")


def unbelieved(machine, kind, folder):
    """Every evaluation ten times as good, sealed: resume does not report them."""
    copy = copied(machine, folder)
    for path in (os.path.join(copy, "journal", name) for name in os.listdir(copy + "/journal")):
        lines = [re.sub(r'"(value|cycles)":(\d+)\d', r'"\1":\2', line) for line in objects_of(read(path))]
        write(path, chain("", lines))
    seal(copy)
    what = f"{kind}: every evaluation divided by ten"
    if machine.finish(machine.start(["resume", "forged"]), what, work=WORK) == 0:
        raise faults.Held(f"{what}: resume reports them")


def emptied(machine, kind, folder):
    """A result whose journals are empty, sealed: verify does not accept it."""
    copy = copied(machine, folder)
    for name in os.listdir(copy + "/journal"):
        write(os.path.join(copy, "journal", name), b"")
    if faults.files(copy) == faults.files(machine.path(folder)):
        return  # a kind without journals
    seal(copy)
    what = f"{kind}: empty journals"
    code = machine.finish(machine.start(["verify", "forged", "--seconds", "2"]), what, work=WORK)
    if code == 0 and not excused(machine.output):
        raise faults.Held(f"{what}: verify accepts the result")


def copied(machine, folder):
    machine.remove("forged")
    shutil.copytree(machine.path(folder), machine.path("forged"))
    return machine.path("forged")


def numbers(data):
    """All numbers of a text, in their order: what nobody may change."""
    return [float(number) for number in re.findall(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", data)]


def keep(machine, kind, name, state):
    """Leaves a forgery that did harm where somebody can look at it."""
    machine.random.setstate(state)
    kept = os.path.join(machine.kept, f"{kind}-{name.replace('/', '-')}-{machine.trials}")
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(machine.path("whole"), kept)
    forge(machine.random, kept)
