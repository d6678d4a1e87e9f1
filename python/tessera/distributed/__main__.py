"""python -m tessera.distributed FILE --out DIR --ray ADDRESS"""

from __future__ import annotations

import argparse
import sys

from tessera.distributed import StudyError, run

_INTERRUPTED = 130


def _arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tessera.distributed",
        description="Computes a study on a Ray cluster. The same line again goes on where it stopped; "
        "tessera study --query SQL DIR shows what there is, also meanwhile.")
    parser.add_argument("file", metavar="FILE", help="a study (docs/cluster.md), or the folder of one")
    parser.add_argument("--out", metavar="DIR", help="folder of the results; not needed if FILE is a folder")
    parser.add_argument("--ray", metavar="ADDRESS", default="local",
                        help="auto, HOST:PORT or ray://HOST:PORT; local starts Ray here (default)")
    parser.add_argument("--retries", metavar="N", type=int, default=5,
                        help="how often a unit may be lost before it is given up (default: 5)")
    parser.add_argument("--allow-exec", action="store_true",
                        help="run the programs that units evaluate with (model exec:COMMAND)")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    arguments = _arguments(words)
    try:
        summary = run(arguments.file, arguments.out or arguments.file,
                      ray_address=None if arguments.ray == "local" else arguments.ray,
                      retries=arguments.retries, allow_exec=arguments.allow_exec,
                      remark=lambda text: print(text, file=sys.stderr, flush=True))
    except StudyError as error:
        print(f"tessera.distributed: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return _INTERRUPTED
    sys.stdout.write(summary.shown)
    print(f"computed {summary.computed} units here, tried {summary.retried} again", file=sys.stderr)
    if not summary.complete:
        print(f"given up: units {', '.join(map(str, summary.given_up))}; the same command tries them again",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
