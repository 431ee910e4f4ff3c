#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real clients against `berth cluster`: one folder here each, with a script `test` and, where something is to be built or
installed first, a script `build`.

Scripts run in their folder. They get the server's address in BERTH_URL, a kubeconfig in KUBECONFIG, the release of
Kubernetes that the cluster says it is in BERTH_KUBERNETES, and in BUILD a folder of their own that stays from run to run.
A script that ends with 77 cannot run on this machine; the last line that it printed says why. Any other status but 0 is a
failure, which the last line explains.
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Clients that are ready within about a minute from scratch; --day takes them in turn.
QUICK = ["scheduler-bash", "python", "scheduler-go", "kopf", "scheduler-python", "javascript"]
CANNOT = 77
BUILD_SECONDS_MAX = 1200
TEST_SECONDS_MAX = 180


def clients() -> list[str]:
    return sorted(path.parent.name for path in HERE.glob("*/test"))


def of_day(day: int) -> list[str]:
    """Two of the quick clients: each runs every three days."""
    at = day * 2 % len(QUICK)
    return QUICK[at:at + 2]


def last_line(log: pathlib.Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:160] if lines else ""


def script(name: str, what: str, environment: dict, log, seconds: int) -> int:
    """The exit status of a client's script. Ends the script and all its child processes."""
    process = subprocess.Popen([HERE / name / what], cwd=HERE / name, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        log.write(f"\n{what}: did not end within {seconds} s\n")
        return 1
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


class Cluster:
    """`berth cluster` on a free port."""

    def __init__(self, berth: str, release: str, folder: pathlib.Path):
        self.kubeconfig = folder / "kubeconfig"
        self.log = open(folder / "cluster.log", "w+")
        self.process = subprocess.Popen(
            [berth, "cluster", "--listen", "127.0.0.1:0", "--nodes", "3", "--kubernetes-version", release,
             "--write-kubeconfig", str(self.kubeconfig)], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + 60
        while True:
            text = pathlib.Path(self.log.name).read_text()
            if found := re.search(r"http://127\.0\.0\.1:\d+", text):
                self.url = found.group(0)
                return
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"tests/clients: berth cluster did not start: {text.strip()[-300:]}")
            time.sleep(0.05)

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def run(name: str, berth: str, release: str) -> tuple[str, str]:
    """The result of a client, and the last line of its output if it did not pass."""
    build = ROOT / "build/clients" / name
    build.mkdir(parents=True, exist_ok=True)
    log = build / f"log-{release}"
    environment = {**os.environ, "BUILD": str(build), "BERTH_KUBERNETES": release, "NO_PROXY": "127.0.0.1,localhost",
                   "no_proxy": "127.0.0.1,localhost"}
    with open(log, "w", buffering=1) as output, tempfile.TemporaryDirectory(prefix="berth-clients-") as folder:
        status = 0
        if (HERE / name / "build").exists():
            status = script(name, "build", environment, output, BUILD_SECONDS_MAX)
        if status == 0:
            cluster = Cluster(berth, release, pathlib.Path(folder))
            try:
                environment |= {"BERTH_URL": cluster.url, "KUBECONFIG": str(cluster.kubeconfig)}
                status = script(name, "test", environment, output, TEST_SECONDS_MAX)
                if cluster.process.poll() is not None:
                    output.write("berth cluster has ended\n")
                    status = 1
            finally:
                cluster.end()
    if status == 0:
        return "passed", ""
    return ("left out" if status == CANNOT else "FAILED"), last_line(log)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev clients", description="Runs real clients against berth cluster.")
    parser.add_argument("--berth", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--kubernetes-version", choices=["1.36", "1.37"], default="1.36", help="that the cluster says it is")
    parser.add_argument("--day", type=int, help="two of those that are soon built, others each day")
    parser.add_argument("--list", action="store_true", help="their names, and nothing else")
    parser.add_argument("names", nargs="*", metavar="CLIENT", help="these alone")
    arguments = parser.parse_args()
    known = clients()
    if arguments.list:
        print("\n".join(known))
        return 0
    if unknown := [name for name in arguments.names if name not in known]:
        parser.error(f"there is no client {unknown[0]}; there are {', '.join(known)}")
    names = arguments.names or (of_day(arguments.day) if arguments.day is not None else known)
    # Child processes end with this program, however it ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    counts = {"passed": 0, "FAILED": 0, "left out": 0}
    print(f"{'CLIENT':<20} {'RESULT':<9} {'SECONDS':>7}  Kubernetes {arguments.kubernetes_version}", flush=True)
    for name in names:
        began = time.monotonic()
        result, why = run(name, arguments.berth, arguments.kubernetes_version)
        counts[result] += 1
        print(f"{name:<20} {result:<9} {time.monotonic() - began:>7.0f}  {why}".rstrip(), flush=True)
    print(f"{counts['passed']} passed, {counts['FAILED']} failed, {counts['left out']} skipped")
    if counts["FAILED"]:
        print("What they printed: build/clients/CLIENT/log-" + arguments.kubernetes_version, file=sys.stderr)
    return 1 if counts["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
