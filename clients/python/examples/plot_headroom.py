#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plots how many node losses each workload survives, as an SVG of bars.

    BERTH_URL=https://... BERTH_TOKEN=... BERTH_CA=ca.crt plot_headroom.py headroom.svg [LOSSES]
"""

import html
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from berth_ask import Berth  # noqa: E402

ROW, LABEL, UNIT = 22, 260, 60


def svg(workloads: list[dict], losses: int) -> str:
    """A bar for each workload; those that survive no loss are red."""
    rows = []
    for index, workload in enumerate(workloads):
        y, survives = index * ROW, workload["survives"]
        name = html.escape(f"{workload['kind']} {workload['namespace']}/{workload['name']}")
        colour = "#b3261e" if survives == 0 else "#2f6f4f"
        rows.append(f'<text x="{LABEL - 8}" y="{y + 15}" text-anchor="end">{name}</text>'
                    f'<rect x="{LABEL}" y="{y + 4}" width="{max(2, survives * UNIT)}" height="{ROW - 8}" fill="{colour}"/>'
                    f'<text x="{LABEL + survives * UNIT + 8}" y="{y + 15}">{survives}</text>')
    width, height = LABEL + (losses + 1) * UNIT, ROW * max(1, len(workloads))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
            f'font-size="12">{"".join(rows)}</svg>\n')


def main() -> int:
    target, losses = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    berth = Berth(os.environ["BERTH_URL"], os.environ.get("BERTH_TOKEN", ""), os.environ.get("BERTH_CA"),
                  verify=os.environ.get("BERTH_INSECURE") != "1")
    workloads = berth.headroom(losses=losses)["workloads"]
    target.write_text(svg(workloads, losses))
    print(f"{target}: {len(workloads)} workloads")
    return 0


if __name__ == "__main__":
    sys.exit(main())
