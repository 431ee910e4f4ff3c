#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""against_cbc.py BERTH [--count N] [--seed S]: the prices of `berth buy --placement nominated` beside the optimum, which CBC finds.

Random demands of up to 300 pods and 30 shapes, of which CBC finds and proves the optimum in time (it is given every way to fill a
node, so that it looks at the same problem in another form). Needs coinor-cbc. Prints a line for each instance and the worst of them; ends
with 1 if a price is more than 2 % above the optimum, or a lower bound above it.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

WAYS_MAX = 3_000  # to fill nodes, in one instance
ABOVE_MAX = 0.02


def ways_of(kinds: list[tuple[int, int]], counts: list[int], shapes: list[tuple[int, tuple[int, int, int]]]) -> list[tuple[int, list[int]]] | None:
    """All fills that no further pod fits into, by shape; None: there are too many."""
    sizes = [(*kind, 1) for kind in kinds]
    ways = []

    def descend(shape: int, kind: int, left: tuple[int, ...], fill: list[int]) -> None:
        if len(ways) > WAYS_MAX:
            return
        if kind == len(sizes):
            full = all(fill[k] == counts[k] or any(a > b for a, b in zip(sizes[k], left)) for k in range(len(sizes)))
            if full:
                ways.append((shape, fill))
            return
        most = min(counts[kind], *(room // amount for amount, room in zip(sizes[kind], left)))
        for count in range(most, -1, -1):
            descend(shape, kind + 1, tuple(room - amount * count for amount, room in zip(sizes[kind], left)), [*fill, count])

    for number, (_, room) in enumerate(shapes):
        descend(number, 0, room, [])
    return None if len(ways) > WAYS_MAX else ways


def instance(chance: random.Random):
    while True:
        pods = chance.randint(20, 300)
        kinds = sorted({(chance.choice([250, 500, 1000, 1500, 2000, 3000, 4000]), chance.choice([256, 512, 1024, 2048, 3072, 4096, 8192, 12288]))
                        for _ in range(chance.randint(2, 7))})
        shares = [chance.random() + 0.05 for _ in kinds]
        counts = [max(1, int(pods * share / sum(shares))) for share in shares]
        shapes = []
        for _ in range(chance.randint(3, 30)):
            cpu = chance.choice([2, 4, 8, 16]) * 1000 - chance.choice([0, 80, 150])
            memory = cpu // 1000 * chance.choice([2, 4, 8]) * 1024 - chance.choice([0, 300, 700])
            shapes.append((int((cpu * 0.03 + memory * 0.004) * chance.uniform(0.85, 1.2)), (cpu, memory, chance.choice([29, 58, 110]))))
        if not all(any(all(a <= b for a, b in zip((*kind, 1), room)) for _, room in shapes) for kind in kinds):
            continue
        ways = ways_of(kinds, counts, shapes)
        if ways:
            return kinds, counts, shapes, ways


def optimum(folder: Path, counts: list[int], shapes: list, ways: list, seconds: int) -> int | None:
    words = ["Minimize", "obj:"]
    for number, (shape, _) in enumerate(ways):
        words += ["+", str(shapes[shape][0]), f"x{number}"]
    words.append("\nSubject To")
    for kind, count in enumerate(counts):
        words.append(f"\nc{kind}:")
        for number, (_, fill) in enumerate(ways):
            if fill[kind]:
                words += ["+", str(fill[kind]), f"x{number}", "\n" if number % 20 == 0 else ""]
        words.append(f">= {count}")
    words.append("\nGenerals\n")
    words += [f"x{number}" + ("\n" if number % 20 == 0 else "") for number in range(len(ways))]
    program, solution = folder / "p.lp", folder / "p.out"
    text = " ".join(words).replace("obj:", "obj:\n")
    program.write_text("\n".join(line for part in text.split("\n") for line in fold(part)) + "\nEnd\n")
    subprocess.run(["cbc", program, "ratio", "0", "sec", str(seconds), "solve", "solu", solution], capture_output=True, check=True)
    head = solution.read_text().partition("\n")[0]
    return round(float(head.split()[-1])) if head.startswith("Optimal") else None


def fold(line: str) -> list[str]:
    lines, at = [], ""
    for word in line.split():
        if len(at) + len(word) > 200:
            lines.append(at)
            at = ""
        at += " " + word
    return [*lines, at]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("berth")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=20, help="time for CBC; instances that take longer are left out")
    options = parser.parse_args()
    worst, worst_bound, done, bad, equal, left_out, seed = 0.0, 0.0, 0, 0, 0, 0, options.seed
    total, gaps = 0.0, 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        while done < options.count:
            kinds, counts, shapes, ways = instance(random.Random(seed))
            seed += 1
            best = optimum(folder, counts, shapes, ways, options.seconds)
            if best is None:
                left_out += 1
                continue
            done += 1
            (folder / "catalogue.json").write_text(json.dumps({"shapes": [
                {"name": f"s{i}", "cpu": f"{room[0]}m", "memory": f"{room[1]}Mi", "pods": room[2], "price": f"{price / 1000:.3f}"}
                for i, (price, room) in enumerate(shapes)]}))
            (folder / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [
                {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": f"k{i}"}, "spec": {
                    "replicas": count, "selector": {"matchLabels": {"k": str(i)}}, "template": {"metadata": {"labels": {"k": str(i)}}, "spec": {
                        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": f"{kind[0]}m", "memory": f"{kind[1]}Mi"}}}]}}}}
                for i, (kind, count) in enumerate(zip(kinds, counts))]}))
            ran = subprocess.run([options.berth, "buy", "--no-cluster", "-f", folder / "pods.json", "--catalogue", folder / "catalogue.json",
                                  "--placement", "nominated", "-o", "json"], capture_output=True, text=True, check=True)
            plan = json.loads(ran.stdout)
            price, bound = round(float(plan["price"]) * 1000), round(float(plan["lowerBound"]) * 1000)
            above = price / best - 1
            worst, worst_bound = max(worst, above), max(worst_bound, 1 - bound / best)
            total, gaps = total + above, gaps + 1 - bound / best
            equal += price == best
            is_bad = above > ABOVE_MAX or bound > best or price < best or plan["leftPods"] > 0
            bad += is_bad
            print(f"seed {seed - 1}: {sum(counts)} pods of {len(kinds)} kinds, {len(shapes)} shapes, {len(plan['nodes'])} nodes; "
                  f"optimum {best / 1000:.3f}, price {price / 1000:.3f} (+{above:.2%}), bound {bound / 1000:.3f}{' WRONG' if is_bad else ''}", flush=True)
    print(f"{done} instances ({left_out} left out, CBC took longer): {equal} prices are the optimum; above it {total / done:.3%} on average, "
          f"{worst:.2%} at most; bounds {gaps / done:.2%} below it on average, {worst_bound:.2%} at most; {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
