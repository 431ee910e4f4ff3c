# SPDX-License-Identifier: Apache-2.0
"""K active instances that place pods on the same nodes, each seeing the others' placements a watch delay late.

Every instance chooses as the core does with one resource and LeastAllocated: a node with the most free room in its own
view, ties uniformly. Its own placements it knows at once. Placements become true at the place of commit, in the order
in which they arrive there, and each other instance sees them `delay_s` later. As many pods leave as come, so that
utilisation stays where it is. Time is simulated, chance comes from a seed: the same options give the same figures.

Designs, by who finds out that two instances took the same room:
  unchecked    nobody, as with the Binding subresource today: nodes are over-committed
  version      a counter object a node, written with a resourceVersion precondition: whoever has not seen the node's
               last change is refused, whether there is room or not
  coordinator  one process admits placements in the order in which they come, and refuses those that do not fit. With
               `candidates` above 1 an instance proposes so many of its best nodes, and the coordinator takes the best
               of them by what is true: only a pod that fits none of them any more is refused
  leases       each node belongs to one instance, which places there first; a pod that fits none of its nodes is
               proposed to the owner of another, who admits it as a coordinator would
"""

import collections
import dataclasses
import hashlib
import heapq
import random
import statistics

DESIGNS = ("unchecked", "version", "coordinator", "leases")
SIZES = (1, 1, 1, 2, 2, 4)  # units that a pod requests, uniformly distributed
FILLED_NODES_MAX = 5000
TRIES_MAX = 20  # for one pod; then it returns to its queue and counts as given up


@dataclasses.dataclass(frozen=True)
class Options:
    design: str = "coordinator"
    instances: int = 8
    nodes: int = 5000
    room: int = 40  # units per node
    utilisation: float = 0.95
    delay_s: float = 0.05  # until other instances see a placement
    commit_s: float = 0.005  # until a placement is answered
    rate: float = 50.0  # decisions per second of one instance
    seconds: float = 20.0
    prefers_own: bool = False  # among equal nodes, prefers one of the instance's own part
    candidates: int = 1  # nodes that a coordinator is offered for a pod
    seed: int = 1


@dataclasses.dataclass
class Result:
    decisions: int = 0
    placed: int = 0
    refused: int = 0
    refused_with_room: int = 0  # because of a changed version, although the pod would have fitted
    refused_nowhere: int = 0  # no node had room for the pod, whatever the view showed
    unfit: int = 0  # no node in the view had room
    elsewhere: int = 0  # leases: proposed to the owner of another instance's node
    given_up: int = 0
    overcommitted: int = 0  # placements beyond a node's capacity
    latency_s_p99: float = 0.0  # from the first decision to the answer
    used_stddev: float = 0.0  # units in use per node; mean of four samples
    seconds: float = 0.0

    @property
    def conflict_rate(self):
        """The fraction of proposals that were refused although the cluster had room for the pod; without a check, the
        fraction of placements that exceeded a node's room."""
        conflicts = self.refused - self.refused_nowhere
        return (conflicts + self.overcommitted) / max(1, self.placed + conflicts)

    def writes_per_pod(self, design):
        """Writes to the API server for each bound pod: binding and event; for the counter object one more when a pod
        comes and when it goes; and refused writes."""
        return 2 + (2 + self.refused / max(1, self.placed) if design == "version" else 0)

    @property
    def placed_per_s(self):
        return self.placed / self.seconds


class View:
    """The free room of all nodes as one instance sees it, indexed by amount, so that a best node is found without a
    scan."""

    def __init__(self, free, is_own=lambda node: True):
        self.free = list(free)
        self.is_own = [is_own(node) for node in range(len(self.free))]
        self.at = [0] * len(self.free)
        self.by_free = collections.defaultdict(list)  # (is own, free): nodes
        self.left_out = {}
        for node in range(len(self.free)):
            self._add(node)

    def _bucket(self, node):
        return self.by_free[self.is_own[node], self.free[node]]

    def _add(self, node):
        bucket = self._bucket(node)
        self.at[node] = len(bucket)
        bucket.append(node)

    def _remove(self, node):
        bucket = self._bucket(node)
        last = bucket.pop()
        if last != node:
            bucket[self.at[node]] = last
            self.at[last] = self.at[node]

    def change(self, node, amount):
        if node in self.left_out:
            self.free[node] += amount
            return
        self._remove(node)
        self.free[node] += amount
        self._add(node)

    def leave_out(self, node, until):
        """Excludes the node until the view has caught up with the `until`-th change."""
        if node not in self.left_out:
            self._remove(node)
        self.left_out[node] = until

    def caught_up(self, seen):
        for node in [node for node, until in self.left_out.items() if until <= seen]:
            del self.left_out[node]
            self._add(node)

    def _any(self, chance, *keys):
        buckets = [self.by_free[key] for key in keys if key in self.by_free]
        at = int(chance.random() * sum(map(len, buckets)))
        for bucket in buckets:
            if at < len(bucket):
                return bucket[at]
            at -= len(bucket)
        return None

    def best(self, size, room, chance, prefers_own=False):
        """A node with the most room, at least `size`; None if there is none. Ties are broken uniformly, or among the
        instance's own nodes first."""
        for free in range(room, size - 1, -1):
            node = self._any(chance, (True, free)) if prefers_own else None
            if node is None:
                node = self._any(chance, (True, free), (False, free))
            if node is not None:
                return node
        return None

    def best_own(self, size, room, chance):
        for free in range(room, size - 1, -1):
            node = self._any(chance, (True, free))
            if node is not None:
                return node
        return None

    def best_many(self, size, room, chance, count):
        """Up to `count` nodes in descending order of room."""
        nodes = {}
        for free in range(room, size - 1, -1):
            level = self.by_free.get((True, free), []) + self.by_free.get((False, free), [])
            wanted = count - len(nodes)
            nodes.update(dict.fromkeys(level if len(level) <= wanted else chance.sample(level, wanted)))
            if len(nodes) >= count:
                break
        return list(nodes)


_filled = {}


def filled(options):
    """The pods of a cluster that one instance with a perfect view has kept at this utilisation: [(node, size)]. A large
    cluster consists of several copies of a small one."""
    tile = FILLED_NODES_MAX if options.nodes % FILLED_NODES_MAX == 0 else options.nodes
    key = (tile, options.room, options.utilisation, options.seed)
    if key not in _filled:
        chance = random.Random(options.seed)
        view, pods, used = View([options.room] * tile), [], 0
        target = options.utilisation * tile * options.room
        for _ in range(int(1.5 * target / statistics.fmean(SIZES))):
            size = chance.choice(SIZES)
            while used + size > target:
                node, gone = take_any(pods, chance)
                view.change(node, gone)
                used -= gone
            node = view.best(size, options.room, chance)
            if node is not None:
                view.change(node, -size)
                pods.append((node, size))
                used += size
        _filled[key] = pods
    return [(first + node, size) for first in range(0, options.nodes, tile) for node, size in _filled[key]]


def take_any(pods, chance):
    at = int(chance.random() * len(pods))
    pods[at], pods[-1] = pods[-1], pods[at]
    return pods.pop()


class Simulation:
    def __init__(self, options):
        if (options.design not in DESIGNS or options.instances < 1 or not 0 < options.utilisation <= 1
                or (options.candidates > 1 and options.design != "coordinator")):
            raise ValueError(f"cannot simulate {options}")
        self.options = options
        self.chance = random.Random(options.seed + 1)
        self.pods = filled(options)
        self.free = [options.room] * options.nodes
        for node, size in self.pods:
            self.free[node] -= size
        self.with_free = collections.Counter(self.free)
        self.used = sum(size for _, size in self.pods)
        # Usage stays at the level to which the cluster could be filled; otherwise large pods would eventually find no
        # room.
        self.target = self.used
        self.changes = []  # (time, node, amount, instance that knows already)
        self.version = [0] * options.nodes
        self.views = [View(self.free, lambda node, instance=instance: self.owner(node) == instance)
                      for instance in range(options.instances)]
        self.seen = [0] * options.instances
        self.seen_version = [[0] * options.nodes for _ in range(options.instances)] \
            if options.design == "version" else None
        self.again = [collections.deque() for _ in range(options.instances)]
        self.result = Result(seconds=options.seconds)
        self.latencies = []
        self.events = []
        self.events_made = 0

    def owner(self, node):
        return node % self.options.instances

    def push(self, time, handler, *arguments):
        self.events_made += 1
        heapq.heappush(self.events, (time, self.events_made, handler, arguments))

    def run(self):
        options, result = self.options, self.result
        for instance in range(options.instances):
            self.push((instance + 1) / (options.rate * options.instances), self.decide, instance)
        looks = [options.seconds * part / 4 for part in range(1, 5)]
        spreads = []
        while self.events:
            time, _, handler, arguments = heapq.heappop(self.events)
            while looks and time >= looks[0]:
                looks.pop(0)
                spreads.append(statistics.pstdev(self.free))
            if time > options.seconds and handler == self.decide:
                continue
            handler(time, *arguments)
        result.used_stddev = statistics.fmean(spreads)
        self.latencies.sort()
        if self.latencies:
            result.latency_s_p99 = self.latencies[int(0.99 * (len(self.latencies) - 1))]
        return result

    def catch_up(self, time, instance):
        view, at, end = self.views[instance], self.seen[instance], len(self.changes)
        before = at
        while at < end and self.changes[at][0] <= time - self.options.delay_s:
            _, node, amount, knows = self.changes[at]
            if knows != instance:
                view.change(node, amount)
                if self.seen_version:
                    self.seen_version[instance][node] += 1
            at += 1
        self.seen[instance] = at
        if view.left_out and at != before:
            view.caught_up(at)

    def decide(self, time, instance):
        options, result = self.options, self.result
        self.push(time + 1 / options.rate, self.decide, instance)
        self.catch_up(time, instance)
        again = self.again[instance]
        began, size, tries = again.popleft() if again else (time, self.chance.choice(SIZES), 0)
        result.decisions += 1
        nodes = self.choose(instance, size)
        if not nodes:
            result.unfit += 1
            return
        if options.design == "leases" and self.owner(nodes[0]) != instance:
            result.elsewhere += 1
        # Until it is answered, the pod counts on its first choice.
        self.views[instance].change(nodes[0], -size)
        sent_version = self.seen_version[instance][nodes[0]] if self.seen_version else 0
        if self.seen_version:
            # The answer will have the next version, which the instance's next write to this node will name.
            self.seen_version[instance][nodes[0]] += 1
        self.push(time + options.commit_s / 2, self.commit, instance, nodes, size, began, tries, sent_version)

    def choose(self, instance, size):
        options, view = self.options, self.views[instance]
        if options.candidates > 1:
            return view.best_many(size, options.room, self.chance, options.candidates)
        node = view.best_own(size, options.room, self.chance) if options.design == "leases" else None
        if node is None:
            node = view.best(size, options.room, self.chance, options.prefers_own)
        return [] if node is None else [node]

    def is_admitted(self, instance, node, size, sent_version):
        if self.options.design == "unchecked":
            return True
        if self.options.design == "version" and sent_version != self.version[node]:
            self.result.refused_with_room += self.free[node] >= size
            return False
        if self.options.design == "leases" and self.owner(node) != instance:
            return min(self.free[node], self.views[self.owner(node)].free[node]) >= size
        return self.free[node] >= size

    def commit(self, time, instance, nodes, size, began, tries, sent_version):
        options, result = self.options, self.result
        first = nodes[0]
        node = max(nodes, key=self.free.__getitem__) if len(nodes) > 1 else first
        if not self.is_admitted(instance, node, size, sent_version):
            self.push(time + options.commit_s / 2, self.refused, instance, first, size, began, tries, len(self.changes))
            return
        result.placed += 1
        result.overcommitted += self.free[node] < size
        self.latencies.append(time + options.commit_s / 2 - began)
        self.set_true(time, node, -size, instance)
        if node != first:
            self.push(time + options.commit_s / 2, self.moved, instance, first, node, size)
        if options.design == "leases" and self.owner(node) != instance:
            # Proposer and owner both know at once. Of these two, the log entry excludes the proposer.
            self.views[self.owner(node)].change(node, -size)
            self.push(time + options.delay_s, self.moved, self.owner(node), node, None, size)
        self.pods.append((node, size))
        while self.used > self.target:
            gone_from, gone = take_any(self.pods, self.chance)
            self.set_true(time, gone_from, gone, None)

    def moved(self, _, instance, counted_on, node, size):
        """The instance counted on one node for a pod that is on another, or sees it in the log."""
        self.views[instance].change(counted_on, size)
        if node is not None:
            self.views[instance].change(node, -size)

    def set_true(self, time, node, amount, instance):
        self.with_free[self.free[node]] -= 1
        self.free[node] += amount
        self.with_free[self.free[node]] += 1
        self.used -= amount
        self.version[node] += 1
        self.changes.append((time, node, amount, instance))

    def refused(self, time, instance, node, size, began, tries, changes):
        self.result.refused += 1
        self.result.refused_nowhere += not any(self.with_free[free] for free in range(size, self.options.room + 1))
        view = self.views[instance]
        view.change(node, size)
        if self.seen_version:
            self.seen_version[instance][node] -= 1
        self.catch_up(time, instance)
        if self.seen[instance] < changes:
            view.leave_out(node, changes)
        if tries + 1 >= TRIES_MAX:
            self.result.given_up += 1
        else:
            self.again[instance].append((began, size, tries + 1))


def simulate(**options):
    return Simulation(Options(**options)).run()


def shares_by_class(instances, classes, seed=1, exponent=1.0, full_pass_s=1.5e-3, repeat_s=8e-6, pods=1_000_000):
    """The work of the busiest instance relative to the mean if pods go to instances by the hash of their class.

    Sizes of classes follow Zipf's law; a class costs one full pass, and little for each further pod.
    """
    weights = [1 / (rank + 1) ** exponent for rank in range(classes)]
    total = sum(weights)
    work = [0.0] * instances
    for rank, weight in enumerate(weights):
        digest = hashlib.sha256(f"{seed}/{rank}".encode()).digest()
        work[int.from_bytes(digest[:8], "big") % instances] += full_pass_s + repeat_s * pods * weight / total
    return max(work) / statistics.fmean(work)


def broken_spreads(instances, pods=300, zones=3, rate=1000.0, delay_s=0.05, seed=1):
    """The fraction of a Deployment's placements that violate its hard spreading (maxSkew 1) if its pods are distributed
    over instances one by one, each with outdated counts. Nothing checks the rule at commit."""
    chance = random.Random(seed)
    true, placements, broken = [0] * zones, [], 0
    for pod in range(pods):
        # Instance `pod % instances` decides at `time`. It sees all of its own placements, and those of others with a
        # delay.
        time = pod / (rate * instances)
        seen = [0] * zones
        for placed_at, who, zone in placements:
            if who == pod % instances or placed_at <= time - delay_s:
                seen[zone] += 1
        fewest = min(seen)
        zone = chance.choice([zone for zone in range(zones) if seen[zone] == fewest])
        broken += true[zone] + 1 - min(true) > 1
        true[zone] += 1
        placements.append((time, pod % instances, zone))
    return broken / pods
