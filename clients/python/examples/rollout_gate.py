#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A CI job that refuses a rollout which would not fit: ends with 1 and says what would stay pending and why.

    BERTH_URL=https://... BERTH_TOKEN=... BERTH_CA=ca.crt rollout_gate.py web.yaml db.yaml
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from berth_ask import Berth  # noqa: E402


def main() -> int:
    berth = Berth(os.environ["BERTH_URL"], os.environ.get("BERTH_TOKEN", ""), os.environ.get("BERTH_CA"),
                  verify=os.environ.get("BERTH_INSECURE") != "1")
    answer = berth.simulate(files={name: Path(name).read_text() for name in sys.argv[1:]})
    for warning in answer.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if answer:
        print("The rollout fits.")
        return 0
    for pod in answer.pending():
        print(f"{pod['name']} would stay pending: {pod.get('reason', '')}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
