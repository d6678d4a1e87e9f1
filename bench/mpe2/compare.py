"""compare.py WANTED.jsonl GOT.jsonl: every number of two files of episodes.

Numbers must be equal; rewards of predator_prey may differ by one unit in the last place (NumPy's own
`exp`). Exit status 1 if anything else differs.
"""
import json
import math
import sys

same = last_place = 0
different = []


def compare(wanted, got, place, near):
    global same, last_place
    if isinstance(wanted, list):
        if not isinstance(got, list) or len(got) != len(wanted):
            different.append(f"{place}: {len(wanted)} values wanted")
            return
        for i, pair in enumerate(zip(wanted, got)):
            compare(*pair, f"{place}[{i}]", near)
    elif wanted == got:
        same += 1
    elif near and abs(wanted - got) <= math.ulp(max(abs(wanted), abs(got))):
        last_place += 1
    else:
        different.append(f"{place}: {got}, wanted {wanted}")


with open(sys.argv[1]) as file:
    rows = [json.loads(line) for line in file]
with open(sys.argv[2]) as file:
    answers = [json.loads(line) for line in file]
compare([row["id"] for row in rows], [row["id"] for row in answers], "id", False)
for row, answer in zip(rows, answers):
    for key in ("pos", "lm", "obs0"):
        compare(row[key], answer[key], f"{row['id']}.{key}", False)
    for key in "pvro":
        compare([step[key] for step in row["steps"]], [step[key] for step in answer["steps"]],
                f"{row['id']}.{key}", key == "r" and row["scenario"] == "predator_prey")
print(f"{len(rows)} episodes: {same} numbers equal, {last_place} rewards differ in the last place, "
      f"{len(different)} differ")
for line in different[:10]:
    print(line)
sys.exit(1 if different else 0)
