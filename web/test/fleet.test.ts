// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { fromBase64, readFrame } from "../src/api/fleet_frame";
import type { Fleet } from "../src/state/fleet";
import { applyDelta, fleetOf, isWaiting, lookedMax, noId, phaseOf, podsOn, unread, withPart } from "../src/state/fleet";
import { foundPods, search } from "../src/state/search";
import { waitingOwners } from "../src/state/waiting";
import type { FrameValues, NodeValues, PodValues } from "./frame_writer";
import { writeFrame } from "./frame_writer";
import { frameOf, hostileNames, makeCluster } from "./mock_cluster";

const common = { epoch: 3, labelKeys: ["team"], resources: ["cpu", "pods"], podResources: ["cpu"] };

function node(id: number, more: Partial<NodeValues> = {}): NodeValues {
  return { id, name: `n-${id}`, zone: "a", labels: ["core"], allocatable: [4000, 110], requested: [1000, 1], ...more };
}

function pod(id: number, at: number, more: Partial<PodValues> = {}): PodValues {
  return { id, name: `web-${id}`, namespace: "shop", node: at, owner: { kind: "Deployment", namespace: "shop", name: "web" }, requests: [500], labels: "app=web", ...more };
}

function fleet(values: Partial<FrameValues> = {}): Fleet {
  return fleetOf(readFrame(writeFrame({ ...common, kind: "full", revision: 10, nodes: [node(1), node(2)], pods: [pod(1, 1), pod(2, 1), pod(3, noId, { flags: 1 })], ...values })));
}

function delta(values: Partial<FrameValues>): ReturnType<typeof readFrame> {
  return readFrame(writeFrame({ ...common, kind: "delta", revision: 11, base: 10, nodes: [], pods: [], ...values }));
}

test("a frame says what was written", () => {
  const read = fleet();
  assert.deepEqual([...read.nodes.values()].map((each) => [each.name, each.zone, each.labels[0], each.allocatable[0]]), [["n-1", "a", "core", 4000], ["n-2", "a", "core", 4000]]);
  assert.deepEqual(read.podsOf.get(1)?.map((each) => each.name), ["web-1", "web-2"]);
  assert.equal(read.podsOf.has(noId), false);
  const waiting = read.pods.get(3);
  assert.ok(waiting && isWaiting(waiting));
  assert.equal(waiting && phaseOf(waiting), "Pending");
  assert.ok(Number.isNaN(read.nodes.get(1)?.price));
});

test("nodes are in the order of their names, with numbers as numbers", () => {
  const names = ["n-10", "n-9", "a-2-x", "a-10-b", "n-1", "a-2", "b", "n-10"];
  const read = fleet({ nodes: names.map((name, i) => node(i + 1, { name })), pods: [] });
  assert.deepEqual([...read.nodes.values()].map((each) => each.name), ["a-2", "a-2-x", "a-10-b", "b", "n-1", "n-9", "n-10", "n-10"]);
});

test("names of any script are read as they were", () => {
  const names = [...hostileNames];
  const read = fleet({ nodes: names.map((name, i) => node(i + 1, { name })), pods: [] });
  assert.deepEqual(new Set([...read.nodes.values()].map((each) => each.name)), new Set(names));
});

test("of rows that are all alike one is in the frame", () => {
  const ids = Array.from({ length: 1000 }, (_, i) => i + 1);
  const written = (last: number): ArrayBuffer =>
    writeFrame({ ...common, podResources: ["cpu", "memory"], kind: "full", revision: 1, nodes: [node(1)], pods: ids.map((id) => pod(id, 1, { requests: [500, id === 1000 ? last : 2] })) });
  const alike = readFrame(written(2)).column("pod.requests");
  assert.equal(alike.length, 2000);
  assert.deepEqual(new Set(alike.filter((_, i) => i % 2 === 0)), new Set([500]));
  assert.deepEqual(new Set(alike.filter((_, i) => i % 2 === 1)), new Set([2]));
  assert.equal(readFrame(written(3)).column("pod.requests")[1999], 3);
  assert.ok(written(2).byteLength + 15_000 < written(3).byteLength);
});

test("what is no frame is refused in a sentence", () => {
  assert.throws(() => readFrame(new ArrayBuffer(4)), /not in the form/);
  const cut = writeFrame({ ...common, kind: "full", revision: 1, nodes: [node(1)], pods: [] });
  assert.throws(() => readFrame(cut.slice(0, cut.byteLength - 8)), /has been cut/);
  new DataView(cut).setUint32(4, 9, true);
  assert.throws(() => readFrame(cut), /form 9/);
});

test("a delta moves, adds and removes", () => {
  const next = applyDelta(fleet(), delta({ nodes: [node(2, { requested: [2000, 2] })], pods: [pod(3, 2), pod(4, 1)], removedPods: [1] }));
  assert.equal(next?.revision, 11);
  assert.deepEqual(next?.podsOf.get(1)?.map((each) => each.name), ["web-2", "web-4"]);
  assert.deepEqual(next?.podsOf.get(2)?.map((each) => each.name), ["web-3"]);
  assert.equal(next?.nodes.get(2)?.requested[0], 2000);
  assert.equal(next?.shape, 10, "the rows of the picture stay as they were");
});

test("what is used of a node changes, and the rest of it stays", () => {
  const before = fleet().nodes.get(2);
  const next = applyDelta(fleet(), delta({ use: [{ id: 2, requested: [2500, 3], podCount: 3 }, { id: 9, requested: [1, 1], podCount: 1 }] }));
  assert.deepEqual(next?.nodes.get(2), { ...before, requested: Float64Array.of(2500, 3), podCount: 3, revision: 11 });
  assert.equal(next?.shape, 10);
  assert.equal(next?.nodes.has(9), false, "a node that the reader does not have");
  assert.equal(next?.nodes.get(1)?.revision, 10);
});

test("a pod that has ended gives its room back", () => {
  const next = applyDelta(fleet(), delta({ pods: [pod(1, 1, { flags: 3 | 64 })] }));
  assert.deepEqual(next?.podsOf.get(1)?.map((each) => each.name), ["web-2"]);
});

test("nodes that come, go or change their group change the picture's rows", () => {
  assert.equal(applyDelta(fleet(), delta({ nodes: [node(3)] }))?.shape, 11);
  assert.equal(applyDelta(fleet(), delta({ removedNodes: [2] }))?.shape, 11);
  assert.equal(applyDelta(fleet(), delta({ nodes: [node(2, { zone: "b" })] }))?.shape, 11);
});

test("a delta that is known changes nothing, and one that does not fit asks for the whole", () => {
  const known = fleet();
  assert.equal(applyDelta(known, delta({ revision: 10, base: 9, removedPods: [1] })), known);
  assert.equal(known.pods.size, 3);
  assert.equal(applyDelta(known, delta({ revision: 13, base: 12 })), undefined);
  assert.equal(applyDelta(known, readFrame(writeFrame({ ...common, epoch: 4, kind: "delta", revision: 11, base: 10, nodes: [], pods: [] }))), undefined);
});

test("a fleet after deltas is the one that is read whole", () => {
  const cluster = makeCluster({ seed: 21, nodes: 30, pods: 200, pending: 40, nowMs: 1e12 });
  let changed: Fleet | undefined = fleetOf(readFrame(writeFrame(frameOf(cluster))));
  for (let step = 0; step < 40; ++step) {
    const at = cluster.pods[(step * 13) % cluster.pods.length]!;
    at.node = cluster.nodes[(step * 7) % cluster.nodes.length]!.id;
    at.flags = 2;
    const removed = cluster.pods.splice((step * 5) % cluster.pods.length, 1).map((each) => each.id);
    const values = frameOf(cluster);
    cluster.revision += 1;
    const frame = writeFrame({ ...values, kind: "delta", base: values.revision, revision: cluster.revision, nodes: [], pods: removed.includes(at.id) ? [] : [at], removedPods: removed });
    assert.ok(changed);
    changed = applyDelta(changed, readFrame(fromBase64(Buffer.from(frame).toString("base64"))));
  }
  const whole = fleetOf(readFrame(writeFrame(frameOf(cluster))));
  const places = (of: Fleet | undefined): string[] => [...(of?.podsOf.entries() ?? [])].map(([id, pods]) => `${id}: ${pods.map((each) => each.id).join(",")}`).sort();
  assert.deepEqual(places(changed), places(whole));
});

test("what waits is counted by workload, and beyond a bound together", () => {
  const owner = (name: string): PodValues["owner"] => ({ kind: "Job", namespace: "shop", name });
  const read = fleet({ pods: [pod(1, 1), pod(2, noId), pod(3, noId), pod(4, noId, { owner: owner("a") }), pod(5, noId, { owner: owner("b") }), pod(6, noId, { flags: 3 | 64 })] });
  const waiting = waitingOwners(read, 1);
  assert.equal(waiting.pods, 4);
  assert.deepEqual(waiting.owners.map((each) => [each.owner.name, each.pods]), [["web", 2]]);
  assert.deepEqual(waiting.rest, { owners: 2, pods: 2 });
});

test("the search finds by name, label, owner and node, the exact name first", () => {
  const read = fleet({ pods: [pod(1, 1), pod(2, 2, { name: "web", labels: "app=web,tier=front" }), pod(3, noId)] });
  assert.equal(search(read, "web").find((found) => found.kind === "pod")?.title, "web");
  assert.equal(search(read, "web").find((found) => found.kind === "workload")?.detail, "Deployment, shop, 3 pods, 1 waiting");
  assert.deepEqual(search(read, "tier=front").map((found) => found.title), ["web"]);
  assert.deepEqual(search(read, "node:n-1").filter((found) => found.kind === "pod").map((found) => found.title), ["web-1"]);
  assert.deepEqual(search(read, "team=core n-2").map((found) => found.title), ["n-2"]);
  assert.deepEqual(search(read, ""), []);
  assert.deepEqual(search(read, "no such thing"), []);
});

const shopWeb = { kind: "Deployment", namespace: "shop", name: "web" };

/** A fleet whose pods are too many for a frame. */
function large(values: Partial<FrameValues> = {}): Fleet {
  const whole = { aggregated: true, nodes: [node(1, { podCount: 300 }), node(2, { podCount: 2 })], pods: [], groups: [{ owner: shopWeb, count: 7, requests: [3500] }], ownerPods: [309] };
  return fleet({ ...whole, ...values });
}

function partOf(partNodes: number[], pods: PodValues[], revision = 10): ReturnType<typeof readFrame> {
  return readFrame(writeFrame({ ...common, kind: "part", aggregated: true, revision, nodes: [], pods, partOf: partNodes }));
}

test("of too many pods a fleet has numbers, and the pods of the nodes that one looks at", () => {
  const read = large();
  assert.equal(podsOn(read, read.nodes.get(1)!), 300);
  assert.deepEqual(unread(read, [1, 2], false), [1, 2]);
  const seen = withPart(read, partOf([1], [pod(4, 1), pod(5, 1)]));
  assert.ok(seen);
  assert.deepEqual(seen.podsOf.get(1)?.map((each) => each.name), ["web-4", "web-5"]);
  assert.deepEqual(unread(seen, [1, 2], true), [2]);
  const next = applyDelta(seen, delta({ aggregated: true, nodes: [node(1, { podCount: 301 })] }));
  assert.ok(next);
  assert.equal(podsOn(next, next.nodes.get(1)!), 301);
  assert.deepEqual([...next.pods.values()].map((each) => each.count), [7], "nothing else waits");
  assert.deepEqual(unread(next, [1], false), []);
  assert.deepEqual(unread(next, [1], true), [1], "its pods have changed");
  assert.deepEqual(unread(withPart(next, partOf([1], [pod(4, 1)], 11))!, [1], true), []);
});

test("what waits in a large fleet is replaced when it has changed", () => {
  const next = applyDelta(large(), delta({ aggregated: true, groups: [{ owner: { ...shopWeb, name: "api" }, count: 2, requests: [100] }] }));
  assert.ok(next);
  assert.deepEqual(waitingOwners(next).owners.map((each) => [each.owner.name, each.pods]), [["api", 2]]);
  assert.equal(applyDelta(large(), delta({})), undefined, "the fleet is not too large any more");
});

test("pods of nodes that one has left are forgotten", () => {
  let read: Fleet | undefined = large();
  for (let id = 1; id <= lookedMax + 10; ++id) read = withPart(read!, partOf([id], [pod(id, id)]));
  assert.equal(read?.looked.size, lookedMax);
  assert.equal(read?.podsOf.size, lookedMax);
  assert.equal(read?.podsOf.has(1), false);
});

test("the search of a large fleet finds workloads here and pods by the server", () => {
  assert.equal(search(large(), "web").find((found) => found.kind === "workload")?.detail, "Deployment, shop, 309 pods, 7 waiting");
  assert.deepEqual(
    foundPods({ pods: [{ namespace: "shop", name: "web-1", node: "", phase: "Pending" }, { namespace: "shop", name: "web-2", node: "n-1", phase: "Running" }] }).map((found) => found.detail),
    ["shop, waits", "shop, n-1"],
  );
});
