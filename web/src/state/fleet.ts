// SPDX-License-Identifier: Apache-2.0
// Nodes and pods of the cluster as the picture and the search use them. A fleet is made from a full frame and changed by
// deltas; each change gives it another revision.
import type { Column, FleetFrame } from "../api/fleet_frame";

export const noId = 4294967295;

export const nodeFlag = { cordoned: 1, tainted: 2, notReady: 4, spot: 8, pressure: 16, ghost: 32 } as const;
export const podFlag = { deleting: 8, gated: 16, nominated: 32, ended: 64, daemon: 128, refused: 256 } as const;
const phases = ["Unknown", "Pending", "Running", "Succeeded", "Failed"] as const;

export interface FleetOwner {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** kind/namespace/name: equal for equal owners. */
  readonly key: string;
}

export interface FleetPod {
  readonly id: number;
  /** Of aggregated pods: "". */
  readonly name: string;
  readonly namespace: string;
  readonly node: number;
  readonly owner: FleetOwner;
  readonly flags: number;
  readonly priority: number;
  readonly created: number;
  readonly labels: string;
  /** By directory.podResources. */
  readonly requests: ArrayLike<number>;
  /** How many pods this stands for. */
  readonly count: number;
}

export interface FleetNode {
  readonly id: number;
  readonly name: string;
  readonly zone: string;
  readonly pool: string;
  readonly taints: string;
  readonly flags: number;
  readonly price: number;
  readonly created: number;
  /** By Fleet.labelKeys. */
  readonly labels: readonly string[];
  /** By Fleet.resources. */
  readonly allocatable: ArrayLike<number>;
  readonly requested: ArrayLike<number>;
  /** Of the pods on it; 0 where the server does not say it. */
  readonly podCount: number;
  /** Of the fleet, when this was said. */
  readonly revision: number;
}

export interface Fleet {
  readonly epoch: number;
  readonly revision: number;
  /** There are too many pods to have them all: `pods` are those that wait, by owner, and `podsOf` has the nodes of `looked`. */
  readonly isAggregated: boolean;
  readonly labelKeys: readonly string[];
  readonly resources: readonly string[];
  readonly podResources: readonly string[];
  /** In the order in which they are shown: by name, later ones behind. */
  readonly nodes: ReadonlyMap<number, FleetNode>;
  readonly pods: ReadonlyMap<number, FleetPod>;
  /** Pods that hold room on a node, by its id, those of one owner together. */
  readonly podsOf: ReadonlyMap<number, readonly FleetPod[]>;
  /** Of an aggregated fleet: the revision in which the pods of a node were read, by its id, those read longest ago first. */
  readonly looked: ReadonlyMap<number, number>;
  /** Of an aggregated fleet: how many pods an owner had when the whole was read, by its key. */
  readonly ownerPods: ReadonlyMap<string, { readonly owner: FleetOwner; readonly pods: number }>;
  /** Counts up when the set of nodes, or what they are grouped by, has changed. */
  readonly shape: number;
}

export function phaseOf(pod: FleetPod): string {
  return phases[pod.flags & 7] ?? "Unknown";
}

export function isWaiting(pod: FleetPod): boolean {
  return pod.node === noId && (pod.flags & podFlag.ended) === 0;
}

/** A text whose order is that of the name with its numbers as numbers. To compare thousands of names by Intl takes longer than all else. */
function orderKey(name: string): string {
  return name.replace(/\d+/g, (digits) => digits.padStart(12, "0"));
}

function inOrder(nodes: readonly FleetNode[]): FleetNode[] {
  const keyed = nodes.map((node) => ({ node, key: orderKey(node.name) }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ node }) => node);
}

export function fleetOf(frame: FleetFrame): Fleet {
  const { directory } = frame;
  const nodes = new Map<number, FleetNode>();
  for (const node of inOrder(readNodes(frame))) nodes.set(node.id, node);
  const pods = new Map<number, FleetPod>();
  for (const pod of directory.aggregated ? readGroups(frame) : readPods(frame)) pods.set(pod.id, pod);
  return {
    epoch: directory.epoch,
    revision: directory.revision,
    isAggregated: directory.aggregated ?? false,
    labelKeys: directory.labelKeys ?? [],
    resources: directory.resources ?? [],
    podResources: directory.podResources ?? [],
    nodes,
    pods,
    podsOf: allOnNodes(pods.values()),
    looked: new Map(),
    ownerPods: readOwnerPods(frame),
    shape: directory.revision,
  };
}

/**
 * The fleet after a delta; undefined if the delta does not belong to it, so that the whole has to be read again. A delta
 * that the fleet already has changes nothing. The maps of `fleet` are changed and handed on: it must not be used any more.
 */
export function applyDelta(fleet: Fleet, frame: FleetFrame): Fleet | undefined {
  const { directory } = frame;
  if (directory.epoch !== fleet.epoch || fleet.isAggregated !== (directory.aggregated ?? false)) return undefined;
  if (directory.revision <= fleet.revision) return fleet;
  if (directory.base === undefined || directory.base > fleet.revision) return undefined;
  const nodes = fleet.nodes as Map<number, FleetNode>;
  const pods = fleet.pods as Map<number, FleetPod>;
  const podsOf = fleet.podsOf as Map<number, readonly FleetPod[]>;
  let isReshaped = false;
  for (const id of frame.column("node.removed")) isReshaped = nodes.delete(id) || isReshaped;
  for (const node of readNodes(frame)) {
    isReshaped = !isAlikeInGroups(nodes.get(node.id), node) || isReshaped;
    nodes.set(node.id, node);
  }
  setUse(nodes, frame);
  if (fleet.isAggregated) {
    for (const id of frame.column("node.removed")) forget(fleet, id);
    if (frame.has("group.node")) {
      pods.clear();
      for (const pod of readGroups(frame)) pods.set(pod.id, pod);
    }
    return { ...fleet, revision: directory.revision, shape: isReshaped ? directory.revision : fleet.shape };
  }
  const touched = new Map<number, FleetPod[]>();
  const takeOff = (pod: FleetPod | undefined): void => {
    if (pod === undefined || !holdsRoom(pod)) return;
    const list = touchedList(touched, podsOf, pod.node);
    const at = list.findIndex((each) => each.id === pod.id);
    if (at >= 0) list.splice(at, 1);
  };
  for (const id of frame.column("pod.removed")) {
    takeOff(pods.get(id));
    pods.delete(id);
  }
  for (const pod of readPods(frame)) {
    takeOff(pods.get(pod.id));
    pods.set(pod.id, pod);
    if (holdsRoom(pod)) touchedList(touched, podsOf, pod.node).push(pod);
  }
  for (const [node, list] of touched) {
    if (list.length === 0) podsOf.delete(node);
    else podsOf.set(node, list.sort(ownersTogether));
  }
  return { ...fleet, revision: directory.revision, shape: isReshaped ? directory.revision : fleet.shape };
}

/** What is used of nodes that are else as they were. */
function setUse(nodes: Map<number, FleetNode>, frame: FleetFrame): void {
  const { column, directory } = frame;
  const requested = column("use.requested");
  const podCount = column("use.podCount");
  const width = directory.resources?.length ?? 0;
  column("use.node").forEach((id, i) => {
    const node = nodes.get(id);
    if (node === undefined) return;
    nodes.set(id, { ...node, requested: rowOf(frame, requested, i, width), podCount: podCount[i] ?? 0, revision: directory.revision });
  });
}

/** Nodes whose pods are kept at once. */
export const lookedMax = 2_000;
/** Nodes of one part of an aggregated fleet, as the server takes them. */
export const partNodesMax = 256;

function forget(fleet: Fleet, id: number): void {
  (fleet.looked as Map<number, number>).delete(id);
  (fleet.podsOf as Map<number, readonly FleetPod[]>).delete(id);
}

/** The aggregated fleet with the pods of some nodes, of which it forgets others beyond a bound; undefined: of another fleet. */
export function withPart(fleet: Fleet, frame: FleetFrame): Fleet | undefined {
  if (frame.directory.epoch !== fleet.epoch || !fleet.isAggregated) return undefined;
  const looked = fleet.looked as Map<number, number>;
  const podsOf = fleet.podsOf as Map<number, readonly FleetPod[]>;
  const lists = allOnNodes(readPods(frame));
  for (const id of frame.column("part.node")) {
    forget(fleet, id);
    looked.set(id, frame.directory.revision);
    const list = lists.get(id);
    if (list !== undefined) podsOf.set(id, list);
  }
  for (const id of looked.keys()) {
    if (looked.size <= lookedMax) break;
    forget(fleet, id);
  }
  return { ...fleet };
}

/** Those of the nodes whose pods have never been read, or, with `withOld`, have changed since. */
export function unread(fleet: Fleet, ids: readonly number[], withOld: boolean): number[] {
  return ids.filter((id) => {
    const at = fleet.looked.get(id);
    return at === undefined || (withOld && at < (fleet.nodes.get(id)?.revision ?? 0));
  });
}

/** How many pods a node has. */
export function podsOn(fleet: Fleet, node: FleetNode): number {
  if (fleet.isAggregated) return node.podCount;
  return (fleet.podsOf.get(node.id) ?? []).reduce((sum, pod) => sum + pod.count, 0);
}

function touchedList(touched: Map<number, FleetPod[]>, podsOf: ReadonlyMap<number, readonly FleetPod[]>, node: number): FleetPod[] {
  let list = touched.get(node);
  if (list === undefined) {
    list = [...(podsOf.get(node) ?? [])];
    touched.set(node, list);
  }
  return list;
}

function isAlikeInGroups(a: FleetNode | undefined, b: FleetNode): boolean {
  return a !== undefined && a.zone === b.zone && a.pool === b.pool && a.labels.every((value, i) => value === b.labels[i]);
}

function holdsRoom(pod: FleetPod): boolean {
  return pod.node !== noId && (pod.flags & podFlag.ended) === 0;
}

function ownersTogether(a: FleetPod, b: FleetPod): number {
  if (a.owner.key !== b.owner.key) return a.owner.key < b.owner.key ? -1 : 1;
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function allOnNodes(pods: Iterable<FleetPod>): Map<number, FleetPod[]> {
  const lists = new Map<number, FleetPod[]>();
  for (const pod of pods) {
    if (!holdsRoom(pod)) continue;
    const list = lists.get(pod.node);
    if (list) list.push(pod);
    else lists.set(pod.node, [pod]);
  }
  for (const list of lists.values()) list.sort(ownersTogether);
  return lists;
}

/** A row of a matrix: where it lies in a whole frame, and a copy of a delta's, which would keep the delta alive. */
function rowOf(frame: FleetFrame, matrix: Column, i: number, width: number): ArrayLike<number> {
  const [begin, end] = [i * width, (i + 1) * width];
  return frame.directory.kind === "full" ? matrix.subarray(begin, end) : matrix.slice(begin, end);
}

function readNodes(frame: FleetFrame): FleetNode[] {
  const { column, text, directory } = frame;
  const id = column("node.id");
  const name = column("node.name");
  const zone = column("node.zone");
  const pool = column("node.pool");
  const taints = column("node.taints");
  const flags = column("node.flags");
  const price = column("node.price");
  const created = column("node.created");
  const labels = column("node.labels");
  const allocatable = column("node.allocatable");
  const requested = column("node.requested");
  const podCount = column("node.podCount");
  const keys = directory.labelKeys?.length ?? 0;
  const width = directory.resources?.length ?? 0;
  const nodes: FleetNode[] = [];
  for (let i = 0; i < id.length; ++i) {
    const values = new Array<string>(keys);
    for (let k = 0; k < keys; ++k) values[k] = text(labels[i * keys + k]);
    nodes.push({
      id: id[i] ?? 0,
      name: text(name[i]),
      zone: text(zone[i]),
      pool: text(pool[i]),
      taints: text(taints[i]),
      flags: flags[i] ?? 0,
      price: price[i] ?? NaN,
      created: created[i] ?? NaN,
      labels: values,
      allocatable: rowOf(frame, allocatable, i, width),
      requested: rowOf(frame, requested, i, width),
      podCount: podCount[i] ?? 0,
      revision: directory.revision,
    });
  }
  return nodes;
}

function readOwners(frame: FleetFrame): FleetOwner[] {
  const kind = frame.column("owner.kind");
  const namespace = frame.column("owner.namespace");
  const name = frame.column("owner.name");
  return Array.from(kind, (_, i) => {
    const owner = { kind: frame.text(kind[i]), namespace: frame.text(namespace[i]), name: frame.text(name[i]) };
    return { ...owner, key: `${owner.kind}/${owner.namespace}/${owner.name}` };
  });
}

const nobody: FleetOwner = { kind: "Pod", namespace: "", name: "", key: "" };

function readPods(frame: FleetFrame): FleetPod[] {
  const { column, text, directory } = frame;
  const owners = readOwners(frame);
  const id = column("pod.id");
  const name = column("pod.name");
  const namespace = column("pod.namespace");
  const node = column("pod.node");
  const owner = column("pod.owner");
  const flags = column("pod.flags");
  const priority = column("pod.priority");
  const created = column("pod.created");
  const labels = column("pod.labels");
  const requests = column("pod.requests");
  const width = directory.podResources?.length ?? 0;
  const pods: FleetPod[] = [];
  for (let i = 0; i < id.length; ++i) {
    pods.push({
      id: id[i] ?? 0,
      name: text(name[i]),
      namespace: text(namespace[i]),
      node: node[i] ?? noId,
      owner: owners[owner[i] ?? 0] ?? nobody,
      flags: flags[i] ?? 0,
      priority: priority[i] ?? 0,
      created: created[i] ?? NaN,
      labels: text(labels[i]),
      requests: rowOf(frame, requests, i, width),
      count: 1,
    });
  }
  return pods;
}

function readOwnerPods(frame: FleetFrame): Map<string, { owner: FleetOwner; pods: number }> {
  const counts = frame.column("owner.podCount");
  if (counts.length === 0) return new Map();
  return new Map(readOwners(frame).map((owner, i) => [owner.key, { owner, pods: counts[i] ?? 0 }]));
}

/** Pods of one owner that wait, as one: the form of a very large cluster. */
function readGroups(frame: FleetFrame): FleetPod[] {
  const { column, directory } = frame;
  const owners = readOwners(frame);
  const node = column("group.node");
  const owner = column("group.owner");
  const count = column("group.count");
  const requests = column("group.requests");
  const width = directory.podResources?.length ?? 0;
  return Array.from(node, (at, i) => {
    const of = owners[owner[i] ?? 0] ?? nobody;
    return {
      id: i,
      name: "",
      namespace: of.namespace,
      node: at,
      owner: of,
      flags: 0,
      priority: 0,
      created: NaN,
      labels: "",
      requests: rowOf(frame, requests, i, width),
      count: count[i] ?? 0,
    };
  });
}
