#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What open pages cost `berth run`: CPU time a pod, waiting time and memory, with readers of the page's events and without, by turns.

    page.py BINARY [--nodes 5000] [--pods 50000] [--readers 50] [--rate 500] [--seconds 10] [--rounds 3] [--instructions]

Each turn has a process of its own on berth's own API server, which holds the nodes and pods. Pods are created at the
rate until the seconds are over, and all must be bound. A reader does what a browser does: it reads the whole fleet, then
all events, compressed by zstd, and what waits where an event does not say it. Readers have a process of their own, behind
all others in the queue for the processors: browsers are on other machines. --instructions counts berth's instructions with
callgrind in the place of CPU time, which takes about fifty times as long: ask for a rate of 60 pods a second or fewer, and for
fewer nodes and pods. Exit status 1: a target is missed.
"""

import argparse
import ctypes
import glob
import http.client
import json
import multiprocessing
import os
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from urllib.parse import urlsplit

from explain import PODS, BoundTimes, ordinary, start_scheduler
from simulate import node, owned_by, pod, post_all, start_server

MORE_MAX = 0.05  # of the CPU time, or instructions, a pod takes without a page
# What the wait of one pod in a hundred may be longer, as a part of it and a constant: the median of the rounds.
P99_MORE_MAX, P99_MORE_MAX_MS = 0.1, 2
MEMORY_MORE_MAX_MIB = 400  # 50,000 pods twice, and what 50 readers have not read
CREATORS = 4
OWNERS = 20
FIRST_OWNERS = 250  # of the pods that are there before
BOUND_TIMEOUT_S = 120
READY_TIMEOUT_S = 300
VALGRIND_TIMES = 10
PIECE_S = 2.5  # until each of 50 readers has been told of the last pods
CALM_CPU = 0.3  # of a processor: berth has done what it does when pages are opened
NS_PER_S = 1e9


def cpu_seconds(pid):
    """Of all threads that there are."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            with open(path) as stat:
                total += int(stat.read().split()[0])
        except FileNotFoundError:
            pass  # it has ended
    return total / NS_PER_S


class CpuTime:
    """What a process spends, of all threads that there are."""
    under, unit = (), "us of CPU time"

    def begin(self, pid):
        self.before = cpu_seconds(pid)

    def end(self, pid):
        return 1e6 * (cpu_seconds(pid) - self.before)


class Instructions:
    """The same under callgrind."""
    unit = "instructions"

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.under = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={self.folder.name}/counts")

    def begin(self, pid):
        self.control("--zero", pid)

    def end(self, pid):
        self.control("--dump", pid)
        with open(f"{self.folder.name}/counts.1") as counts:
            return next(int(line.split()[1]) for line in counts if line.startswith("totals:"))

    def control(self, what, pid):
        subprocess.run(["callgrind_control", what, str(pid)], check=True, stdout=subprocess.DEVNULL)


class Unpacker:
    """Reads what zstd has compressed, as it comes: libzstd, since Python 3.11 has none."""

    class Buffer(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]

    LIBRARY = ctypes.CDLL("libzstd.so.1")
    LIBRARY.ZSTD_createDStream.restype = ctypes.c_void_p
    LIBRARY.ZSTD_freeDStream.argtypes = [ctypes.c_void_p]
    LIBRARY.ZSTD_decompressStream.restype = ctypes.c_size_t
    LIBRARY.ZSTD_decompressStream.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    LIBRARY.ZSTD_isError.argtypes = [ctypes.c_size_t]
    ROOM = 1 << 17

    def __init__(self):
        self.stream = self.LIBRARY.ZSTD_createDStream()
        self.room = ctypes.create_string_buffer(self.ROOM)

    def __del__(self):
        self.LIBRARY.ZSTD_freeDStream(self.stream)

    def unpack(self, packed):
        source = ctypes.create_string_buffer(packed, len(packed))
        taken = self.Buffer(ctypes.addressof(source), len(packed), 0)
        parts = []
        while True:
            made = self.Buffer(ctypes.addressof(self.room), self.ROOM, 0)
            left = self.LIBRARY.ZSTD_decompressStream(self.stream, ctypes.byref(made), ctypes.byref(taken))
            if self.LIBRARY.ZSTD_isError(left):
                raise RuntimeError("the events are not what zstd makes")
            parts.append(self.room.raw[:made.pos])
            if taken.pos == taken.size and made.pos < self.ROOM:
                return b"".join(parts)


def status_number(pid, name):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name + ":"))


class Reader(threading.Thread):
    """A browser that has the page open."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.fleet_bytes, self.event_bytes, self.events, self.problem, self.is_ending = port, 0, 0, 0, "", False
        self.is_reading = threading.Event()
        self.start()

    def get(self, path):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=ssl._create_unverified_context(), timeout=60)
        connection.request("GET", path, headers={"Accept-Encoding": "gzip, zstd"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status}")
        return answer

    def load(self):
        fleet = self.get("/ui/api/v1/fleet")
        self.fleet_bytes = len(fleet.read())
        return fleet.getheader("ETag").strip('"').split("-")

    def run(self):
        try:
            epoch, revision = self.load()
            answer = self.get(f"/ui/api/v1/events?last={epoch}-{revision}-0")
            is_packed = answer.getheader("Content-Encoding") == "zstd"
            unpacker = Unpacker()
            self.is_reading.set()
            rest = b""
            while not self.is_ending:
                packed = answer.read1(1 << 16)
                if not packed:
                    raise RuntimeError("the stream has ended")
                self.event_bytes += len(packed)
                *events, rest = (rest + (unpacker.unpack(packed) if is_packed else packed)).split(b"\n\n")
                for event in events:
                    self.take(event)
        except (OSError, RuntimeError, http.client.HTTPException) as problem:
            if not self.is_ending:
                self.problem = str(problem)
        finally:
            self.is_reading.set()

    def take(self, event):
        self.events += event.startswith(b"event:")
        if b'"reload":true' in event:
            self.load()
        if event.startswith(b"event: pending") and b'"pending":' not in event:
            self.get("/ui/api/v1/pending").read()


def of_owner(pod, owner):
    pod["metadata"] |= owned_by(owner)
    return pod


def owned(name, number):
    return of_owner(ordinary(name, "1m"), f"app-{number % OWNERS}")


def create(url, prefix, count, rate):
    """Creates the pods, and returns how long it took and when each came."""
    begin = time.monotonic()
    created = {}
    problems = []

    def some(first):
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        for number in range(first, count, CREATORS):
            time.sleep(max(0.0, begin + number / rate - time.monotonic()))
            name = f"{prefix}-{number}"
            created[name] = time.monotonic()
            connection.request("POST", PODS, json.dumps(owned(name, number)), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 201:
                problems.append(f"a pod was not created: {answer.status} {body[:300]!r}")
                return

    threads = [threading.Thread(target=some, args=(first,)) for first in range(CREATORS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise SystemExit(problems[0])
    return time.monotonic() - begin, created


def delete(url, prefix, count):
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    for number in range(count):
        connection.request("DELETE", f"{PODS}/{prefix}-{number}?gracePeriodSeconds=0")
        connection.getresponse().read()


def read_pages(port, count, ended, results):
    """A process with so many readers: tells `results` when all read, and once `ended` is set what came of it."""
    os.nice(19)
    readers = [Reader(port) for _ in range(count)]
    for reader in readers:
        reader.is_reading.wait(READY_TIMEOUT_S)
    results.send("ready")
    ended.wait()
    result = {"events": sum(reader.events for reader in readers), "event_bytes": sum(reader.event_bytes for reader in readers),
              "fleet_bytes": max(reader.fleet_bytes for reader in readers),
              "problems": [reader.problem for reader in readers if reader.problem][:3]}
    for reader in readers:
        reader.is_ending = True
    results.send(result)


def wait_until_calm(pid):
    """What berth does when a page is opened is not a pod's."""
    for _ in range(READY_TIMEOUT_S):
        before = cpu_seconds(pid)
        time.sleep(1)
        if cpu_seconds(pid) - before < CALM_CPU:
            return
    raise SystemExit("berth run does not come to rest")


def turn(options, url, prefix, reader_count):
    spent = Instructions() if options.instructions else CpuTime()
    berth, port = start_scheduler(options.binary, url, spent.under, READY_TIMEOUT_S)
    spawn = multiprocessing.get_context("spawn")
    ended, (results, of_readers) = spawn.Event(), spawn.Pipe()
    readers = spawn.Process(target=read_pages, args=(port, reader_count, ended, of_readers), daemon=True)
    try:
        bound = BoundTimes(url)
        post_all(url, PODS, [ordinary(f"{prefix}-first", "1m")])
        deadline = time.monotonic() + READY_TIMEOUT_S
        while f"{prefix}-first" not in bound.times:
            if time.monotonic() > deadline:
                raise SystemExit("the first pod was not bound")
            time.sleep(0.05)
        if reader_count > 0:
            readers.start()
            if not results.poll(READY_TIMEOUT_S):
                raise SystemExit("the readers do not read")
            results.recv()
        time.sleep(3)
        wait_until_calm(berth.pid)
        threads = status_number(berth.pid, "Threads")
        spent.begin(berth.pid)
        count = options.rate * options.seconds
        took, created = create(url, prefix, count, options.rate)
        deadline = time.monotonic() + (VALGRIND_TIMES if options.instructions else 1) * BOUND_TIMEOUT_S
        while sum(name.startswith(prefix) for name in list(bound.times)) <= count:
            if time.monotonic() > deadline:
                raise SystemExit("not all pods were bound")
            time.sleep(0.05)
        time.sleep(PIECE_S)
        a_pod = spent.end(berth.pid) / count
        waits = sorted(bound.times[name] - at for name, at in created.items())
        result = {"readers": reader_count, "pods": count, "rate": round(count / took), "a_pod": round(a_pod, 1), "unit": spent.unit,
                  "peak_mib": status_number(berth.pid, "VmHWM") // 1024, "rest_mib": status_number(berth.pid, "VmRSS") // 1024,
                  "threads": threads, "wait_p50_ms": round(1000 * waits[len(waits) // 2], 1),
                  "wait_p99_ms": round(1000 * waits[len(waits) * 99 // 100], 1)}
        if reader_count > 0:
            ended.set()
            result |= results.recv()
    finally:
        berth.terminate()
        berth.wait()
        if readers.is_alive():
            readers.terminate()
    delete(url, prefix, count)
    print(json.dumps(result), flush=True)
    return result


def is_met(met):
    return "met" if met else "missed"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--rate", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    closed, opened = [], []
    server, url = start_server(options.binary)
    try:
        post_all(url, "/api/v1/nodes", [node(n) for n in range(options.nodes)])
        post_all(url, PODS, [of_owner(pod(n, options.nodes), f"first-{n % FIRST_OWNERS}") for n in range(options.pods)])
        for number in range(options.rounds):
            # Whichever comes second finds another machine: they change places.
            for is_open in (number % 2 == 1, number % 2 == 0):
                (opened if is_open else closed).append(
                    turn(options, url, f"{'open' if is_open else 'closed'}-{number}", options.readers if is_open else 0))
    finally:
        server.terminate()
        server.wait()
    targets = []
    without, with_pages = (min(each["a_pod"] for each in of) for of in (closed, opened))
    more = with_pages / without - 1
    targets.append(more <= MORE_MAX)
    print(f"a pod takes {with_pages:,.0f} {closed[0]['unit']} with {options.readers} open pages and {without:,.0f} without: "
          f"{100 * more:+.1f} % (at most {100 * MORE_MAX:.0f}): {is_met(targets[-1])}")
    if not options.instructions:
        pairs = [(a["wait_p99_ms"], b["wait_p99_ms"]) for a, b in zip(closed, opened)]
        longer = statistics.median(b - a for a, b in pairs)
        of = statistics.median(a for a, _ in pairs)
        targets.append(longer <= P99_MORE_MAX * of + P99_MORE_MAX_MS)
        print(f"one pod in a hundred waits {longer:+.1f} ms longer than {of:.1f}, as the median of {len(pairs)} pairs "
              f"(at most {P99_MORE_MAX * of + P99_MORE_MAX_MS:.1f}): {is_met(targets[-1])}")
        memory = max(each["peak_mib"] for each in opened) - max(each["peak_mib"] for each in closed)
        targets.append(memory <= MEMORY_MORE_MAX_MIB)
        print(f"memory: {memory} MiB more (at most {MEMORY_MORE_MAX_MIB}): {is_met(targets[-1])}")
    is_whole = all(not each["problems"] and each["events"] > 0 for each in opened)
    if not is_whole:
        print("a reader did not get all: " + "; ".join(problem for each in opened for problem in each["problems"]))
    return 0 if is_whole and all(targets) else 1


if __name__ == "__main__":
    sys.exit(main())
