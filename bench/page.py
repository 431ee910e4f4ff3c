#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What open pages cost `berth run`: CPU time a pod and memory, with readers of the page's events and without, by turns.

    page.py BINARY [--nodes 5000] [--pods 50000] [--readers 50] [--rate 500] [--seconds 10] [--rounds 2]

Each turn has a process of its own on berth's own API server, which holds the nodes and pods. Pods are created at the
rate until the seconds are over, and all must be bound. A reader does what a browser does: it reads the whole fleet, then
all events, compressed by zstd, and what waits where an event does not say it. Exit status 1: a target is missed.
"""

import argparse
import ctypes
import glob
import http.client
import json
import os
import ssl
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

from explain import PODS, BoundTimes, ordinary, start_scheduler
from simulate import node, pod, post_all, start_server

CPU_MORE_MAX = 0.05  # of the CPU time a pod takes without a page
MEMORY_MORE_MAX_MIB = 400  # 50,000 pods twice, and what 50 readers have not read
CREATORS = 4
OWNERS = 20
BOUND_TIMEOUT_S = 120
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


def owned(name, number):
    """A pod of one of a few workloads, as most are."""
    owner = f"app-{number % OWNERS}"
    pod = ordinary(name, "1m")
    pod["metadata"] |= {"labels": {"app": owner}, "ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner + "-x", "uid": owner, "controller": True}]}
    return pod


def create(url, prefix, count, rate):
    """Creates the pods, and returns how long it took and when each came."""
    begin = time.monotonic()
    created = {}

    def some(first):
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        for number in range(first, count, CREATORS):
            time.sleep(max(0.0, begin + number / rate - time.monotonic()))
            name = f"{prefix}-{number}"
            created[name] = time.monotonic()
            connection.request("POST", PODS, json.dumps(owned(name, number)), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            if answer.status != 201:
                raise SystemExit(f"a pod was not created: {answer.status}")

    threads = [threading.Thread(target=some, args=(first,)) for first in range(CREATORS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - begin, created


def delete(url, prefix, count):
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    for number in range(count):
        connection.request("DELETE", f"{PODS}/{prefix}-{number}?gracePeriodSeconds=0")
        connection.getresponse().read()


def turn(options, url, prefix, reader_count):
    berth, port = start_scheduler(options.binary, url)
    try:
        bound = BoundTimes(url)
        post_all(url, PODS, [ordinary(f"{prefix}-first", "1m")])
        deadline = time.monotonic() + BOUND_TIMEOUT_S
        while f"{prefix}-first" not in bound.times:
            if time.monotonic() > deadline:
                raise SystemExit("the first pod was not bound")
            time.sleep(0.05)
        readers = [Reader(port) for _ in range(reader_count)]
        for reader in readers:
            reader.is_reading.wait(60)
        time.sleep(3)  # what a page does when it is opened is not a pod's
        threads = status_number(berth.pid, "Threads")
        before = cpu_seconds(berth.pid)
        count = options.rate * options.seconds
        took, created = create(url, prefix, count, options.rate)
        while sum(name.startswith(prefix) for name in list(bound.times)) <= count:
            if time.monotonic() > deadline + took:
                raise SystemExit("not all pods were bound")
            time.sleep(0.05)
        spent = cpu_seconds(berth.pid) - before
        waits = sorted(bound.times[name] - at for name, at in created.items())
        problems = [reader.problem for reader in readers if reader.problem]
        result = {"readers": reader_count, "pods": count, "rate": round(count / took), "cpu_us_a_pod": round(1e6 * spent / count),
                  "peak_mib": status_number(berth.pid, "VmHWM") // 1024, "rest_mib": status_number(berth.pid, "VmRSS") // 1024,
                  "threads": threads, "wait_p50_ms": round(1000 * waits[len(waits) // 2], 1),
                  "wait_p99_ms": round(1000 * waits[len(waits) * 99 // 100], 1), "events": sum(reader.events for reader in readers),
                  "event_bytes": sum(reader.event_bytes for reader in readers),
                  "fleet_bytes": max((reader.fleet_bytes for reader in readers), default=0), "problems": problems[:3]}
        for reader in readers:
            reader.is_ending = True
    finally:
        berth.terminate()
        berth.wait()
    delete(url, prefix, count)
    print(json.dumps(result), flush=True)
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--rate", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    closed, opened = [], []
    server, url = start_server(options.binary)
    try:
        post_all(url, "/api/v1/nodes", [node(n) for n in range(options.nodes)])
        post_all(url, PODS, [pod(n, options.nodes) for n in range(options.pods)])
        for number in range(options.rounds):
            closed.append(turn(options, url, f"closed-{number}", 0))
            opened.append(turn(options, url, f"open-{number}", options.readers))
    finally:
        server.terminate()
        server.wait()
    without, with_pages = (min(each["cpu_us_a_pod"] for each in of) for of in (closed, opened))
    more = with_pages / without - 1
    memory = max(each["peak_mib"] for each in opened) - max(each["peak_mib"] for each in closed)
    is_whole = all(not each["problems"] and each["events"] > 0 for each in opened)
    print(f"a pod takes {with_pages} us of CPU time with {options.readers} open pages and {without} without: {100 * more:+.1f} % "
          f"(at most {100 * CPU_MORE_MAX:.0f}): {'met' if more <= CPU_MORE_MAX else 'missed'}")
    print(f"memory: {memory} MiB more (at most {MEMORY_MORE_MAX_MIB}): {'met' if memory <= MEMORY_MORE_MAX_MIB else 'missed'}")
    if not is_whole:
        print("a reader did not get all: " + "; ".join(problem for each in opened for problem in each["problems"]))
    return 0 if is_whole and more <= CPU_MORE_MAX and memory <= MEMORY_MORE_MAX_MIB else 1


if __name__ == "__main__":
    sys.exit(main())
