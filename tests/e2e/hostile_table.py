#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/reliability.md, from what ./dev hostile has measured.

  hostile_table.py FILE...                  prints the table
  hostile_table.py FILE... --into DOCUMENT  puts it between the document's marks instead

Of several runs of an attack at a strength the last line counts: lines are in the order in which they were measured.
"""

import argparse
import json
import sys

BEGIN, END = "<!-- table of ./dev hostile -->", "<!-- end of the table -->"
# A short description of each attack.
MEANING = {
    "calm": "nothing",
    "bindings-dead": "webhook on bindings, dead URL",
    "bindings-hang": "webhook on bindings that hangs",
    "silenced": "webhook on statuses and events that hangs",
    "clock": "clock set back and forth",
    "affinity-keys": "56,100 node affinity expressions in a pod",
    "soft-spreads": "12,000 soft spread constraints in a pod",
    "anti-affinity": "40,000 anti-affinity terms in a pod",
    "resources": "30,000 extended resources in a pod",
    "big-pods": "pods of 1.1 to 1.4 MB come and go",
    "annotation": "annotation changed while a binding is refused",
    "rotation": "new CA, CA file replaced",
    "first-address": "first address swallows packets",
    "plugin-hangs": "credential plugin hangs, writing",
    "newlines": "watch of newlines alone",
    "unauthorized": "401 until the token file is renewed",
    "silence": "connections fall silent",
    "plain-http": "token and an http:// server",
    "stale-list": "list from a replica that lags",
    "two-leaders": "two that ask for leader election",
    "annotation-storm": "annotations of waiting pods change",
    "deletion": "namespace emptied while its pods are bound",
    "flapping": "node flaps, 200 pods wait",
    "volumes": "claims nobody fulfils, changing",
    "selectors": "device claims of dear selectors",
    "gates": "scheduling gates taken away",
    "flood": "pods that fit nowhere",
}
HEAD = ["attack", "strength", "scheduler", "p50", "p99", "after the watch", "slowest", "not bound", "told", "memory", "CPU", "holds"]


def read(paths):
    """The last line of each attack, strength and scheduler, in order of first occurrence."""
    lines = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for text in file:
                if text.strip():
                    line = json.loads(text)
                    lines[line["attack"], line["strength"], line["scheduler"]] = line
    order = list(MEANING)
    return [lines[key] for key in sorted(lines, key=lambda key: (order.index(key[0]) if key[0] in order else len(order),
                                                                 key[0], key[1], key[2]))]


def seconds(value):
    return f"{value:.2f} s" if value < 10 else f"{value:.0f} s"


def reported(line):
    counts = [line.get("told_tenant"), line.get("told_others")]
    return ", ".join(f"{count['told']} of {count['of']}" for count in counts if count) or "-"


def row(line):
    strength = f"{line['strength']:,} {line['unit']}" if line["strength"] else "-"
    first = [MEANING.get(line["attack"], line["attack"]), strength, line["scheduler"]]
    if line.get("not_tried"):
        return first + ["-"] * 8 + ["not tried: " + line["not_tried"]]
    faults = line.get("faults") or []
    has_pods = line["pods"] > 0
    memory = f"{line['before_mib']:.0f} / {line['peak_mib']:.0f} / {line['after_mib']:.0f}" if line["peak_mib"] else "-"
    return first + [
        seconds(line["p50_s"]) if has_pods else "-", seconds(line["p99_s"]) if has_pods else "-",
        seconds(line["own_p99_s"]) if has_pods else "-",
        seconds(line["slowest_s"]) if has_pods else "-",
        f"{line['never_bound']} of {line['pods']}" if has_pods else "-", reported(line), memory,
        f"{line['cpu_s']:.1f} s" if has_pods else "-", "**no**: " + "; ".join(faults) if faults else "yes"]


def table(lines):
    """A Markdown table with a row for each attack, strength and scheduler, and a line with place and time."""
    rows = [HEAD, ["---"] * len(HEAD)] + [row(line) for line in lines]
    text = "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n" for cells in rows)
    versions = sorted({line["scheduler"] + " (" + line["version"] + ")" for line in lines})
    dates = sorted(line["date"][:10] for line in lines)
    loads = [load for line in lines for load in line["load"] if load]
    return (f"{text}\n{', '.join(versions)}; {'from ' + dates[0] + ' to ' if dates[0] != dates[-1] else ''}{dates[-1]}; "
            f"{lines[0]['cores']} cores, load average {min(loads, default=0):.1f} to {max(loads, default=0):.1f}.\n")


def put(document, text):
    """The document with the text inserted between its marks."""
    if document.count(BEGIN) != 1 or document.count(END) != 1 or document.index(BEGIN) > document.index(END):
        raise ValueError(f"the document needs the lines {BEGIN} and {END}, once and in this order")
    return document[:document.index(BEGIN) + len(BEGIN)] + "\n" + text + document[document.index(END):]


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--into", metavar="DOCUMENT")
    options = parser.parse_args(arguments)
    lines = read(options.files)
    if not lines:
        sys.exit("hostile_table: no line in " + ", ".join(options.files))
    if not options.into:
        print(table(lines), end="")
        return
    with open(options.into, encoding="utf-8") as file:
        document = file.read()
    changed = put(document, table(lines))
    with open(options.into, "w", encoding="utf-8") as file:
        file.write(changed)


if __name__ == "__main__":
    main(sys.argv[1:])
