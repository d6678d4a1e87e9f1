"""Every numeric flag and setting with numbers that nobody means: an error or a result, soon and small.

Flags come from `--help` and settings from `tessera list ... --json`, so that new ones are tried, too. A
command that is asked for more work than it can do goes on until it is stopped, and then ends in order.
"""
import json, os, re, signal, subprocess, time

import faults

# Bounds of types and of what people may mean, and what is no number.
NUMBERS = ("0", "-1", "1", "2", "7", "65536", "1000000000", "2147483647", "2147483648", "4294967296",
           "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
           "18446744073709551616", "1e18", "1e300", "1e-300", "1e999", "-0.0", "0.5", "nan", "inf", "", "0x10")
SECONDS = 30  # of the processor, however busy the machine is; of the clock, ten times as many
BYTES = 4 << 30

# A short call of each command that the flags are added to; the last of two equal flags would be refused,
# so a flag takes the place of its own in the call.
CALLS = {
    "evaluate": "evaluate --mapping map.m --hw maestro-256",
    "bound": "bound net.yaml --accelerator eyeriss-256",
    "map": "map net.yaml --layer b --accelerator eyeriss-256 --samples 20 --time-limit 1",
    "map-maestro": "map net.yaml --layer b --accelerator maestro-256 --method ga --samples 20 --time-limit 1",
    "compare": "compare net.yaml --layer b --accelerator simple3 --methods random --samples 20 --seeds 1 "
               "--time-limit 1",
    "assign": "assign net.yaml --layer b --accelerator eyeriss-256 --agents 2 --samples 50 --time-limit 1",
    "train": "train --episodes 2 --set batch=8 --set warmup=10 --set capacity=64 --set hidden=8",
    "profile": "profile --rounds 1 --fill 100 --set batch=8",
    "env": "env cooperative_navigation --render",
    "cooptimize": "cooptimize net.yaml --layer b --budget-macs 64 --measurements 2 --generator reference",
    "cooptimize-array": "cooptimize net.yaml --layer b --target maestro --budget-macs 64 --measurements 2",
    "compile": "compile net.yaml --layer b --generator reference",
    "simulate": "simulate program.bin --timeline",
    "verify": "verify run",
    "zoo": "zoo resnet18",
    "explore": "explore graph.yaml --machine template.yaml --time-limit 1",
    "sweep": "sweep graph.yaml --accelerator simple3 --no-bypass --vary levels.GLB.entries=1K,2K --time-limit 1",
    "explain-method": "map net.yaml --layer b --accelerator simple3 --explain-method",
}
# Lists of parts with settings: how a call chooses a part and sets one.
SETTINGS = {
    "methods": ("map net.yaml --layer b --accelerator eyeriss-256 --samples 40 --time-limit 1 --method {part}",
                "--set"),
    "algorithms": ("train --episodes 2 --algo {part}", "--set"),
    "envs": ("train --episodes 2 --set batch=8 --set warmup=10 --set capacity=64 --set hidden=8 --env {part}",
             "--env-set"),
}


def numeric_flags(machine, command):
    """Flags of a command that take a number, by its help."""
    text = machine.say([command, "--help"])
    flags = re.findall(r"^  (--[\w-]+)(?:, --[\w-]+)* ([A-Z][A-Z0-9]*)  ", text, re.M)
    words = ("N", "S", "G", "K", "B", "H", "MIB", "SECONDS", "VALUE", "MHZ", "BYTES", "UM2", "MW")
    return [flag for flag, placeholder in flags if placeholder in words and flag != "--layer"]


def replaced(words, flag, value):
    """The call with the flag set, once."""
    if flag in words:
        at = words.index(flag)
        return words[:at] + [f"{flag}={value}"] + words[at + 2:]
    return words + [f"{flag}={value}"]


def without(words, flag, parameter):
    """The call without its own value of a setting."""
    for at, word in enumerate(words):
        if word.startswith(parameter + "=") and words[at - 1] == flag:
            return words[:at - 1] + words[at + 1:]
    return words


def trials(machine):
    """(what it is, words) of everything that there is to try."""
    for name, call in CALLS.items():
        words = call.split()
        for flag in numeric_flags(machine, words[0]):
            for value in NUMBERS:
                yield f"{name} {flag}={value}", replaced(words, flag, value)
    for kind, (call, flag) in SETTINGS.items():
        for part in json.loads(machine.say(["list", kind, "--json"]))[kind]:
            words = call.format(part=part["name"]).split()
            for parameter in part.get("parameters", []):
                if parameter["type"] not in ("int", "float"):
                    continue
                for value in NUMBERS + tuple(parameter["range"].split("..")):
                    setting = f"{parameter['parameter']}={value}"
                    kept = without(words, flag, parameter["parameter"])
                    yield f"{kind} {part['name']} {setting}", kept + [flag, setting]


def prepare(machine):
    """Files that the calls name."""
    machine.run("compile net.yaml --layer b --generator reference --out programs".split(), "a program")
    program = sorted(name for name in os.listdir(machine.path("programs")) if name != "manifest.json")[0]
    os.replace(machine.path("programs/" + program), machine.path("program.bin"))
    machine.run("map net.yaml --layer b --accelerator eyeriss-256 --samples 20 --method random --out run".split(),
                "a run")
    machine.write("map.m", MAPPING)


MAPPING = """Network n {
  Layer a {
    Type: CONV
    Dimensions { K: 8, C: 4, R: 3, S: 3, Y: 14, X: 14 }
    Dataflow {
      SpatialMap(1,1) K;
      TemporalMap(1,1) C;
      TemporalMap(3,1) Y;
      TemporalMap(3,1) X;
      TemporalMap(3,3) R;
      TemporalMap(3,3) S;
    }
  }
}
"""


def extreme(machine, what, words):
    """Ends in time with little memory; work without an end is stopped, which takes no time."""
    machine.trials += 1
    process = machine.start(words, stdout=subprocess.DEVNULL)
    deadline, most, stopped = time.time() + 10 * SECONDS, SECONDS / 3, False
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        taken = faults.processor_seconds(process.pid)
        if taken > most or time.time() > deadline:
            if stopped:
                os.killpg(process.pid, signal.SIGKILL)
                os.wait4(process.pid, 0)
                raise faults.Held(f"{what}: no end after {SECONDS} s, nor after Ctrl-C")
            process.send_signal(signal.SIGINT)
            deadline, most, stopped = time.time() + 10 * SECONDS, SECONDS, True
        time.sleep(0.005)
    process.returncode = os.waitstatus_to_exitcode(status)
    errors = process.stderr.read()
    process.stderr.close()
    if process.returncode < 0 or process.returncode == 70 or b"internal error" in errors:
        raise faults.Held(f"{what}: ended with {process.returncode}: {errors[-300:]}")
    if usage.ru_maxrss * 1024 > BYTES:
        raise faults.Held(f"{what}: took {usage.ru_maxrss >> 10} MiB")
