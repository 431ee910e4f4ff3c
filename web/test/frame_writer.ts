// SPDX-License-Identifier: Apache-2.0
// Writes frames of the fleet, as docs/reference/page-api.yaml describes them, for tests and the mock server.
export interface NodeValues {
  id: number;
  name: string;
  zone: string;
  pool?: string;
  taints?: string;
  flags?: number;
  price?: number;
  created?: number;
  labels?: string[];
  allocatable: number[];
  requested: number[];
  podCount?: number;
}

export interface PodValues {
  id: number;
  name: string;
  namespace: string;
  node: number;
  owner: { kind: string; namespace: string; name: string };
  flags?: number;
  priority?: number;
  created?: number;
  requests: number[];
  labels?: string;
}

export interface FrameValues {
  kind: "full" | "delta" | "part";
  epoch: number;
  revision: number;
  base?: number;
  labelKeys: string[];
  resources: string[];
  podResources: string[];
  nodes: NodeValues[];
  pods: PodValues[];
  /** Of a delta: what is used of nodes that are else as they were. */
  use?: { id: number; requested: number[]; podCount: number }[];
  removedNodes?: number[];
  removedPods?: number[];
  /** Of a fleet with too many pods: those that wait, by owner. In their place `pods` are left out. */
  groups?: { owner: PodValues["owner"]; count: number; requests: number[] }[];
  /** Of the owners, in their order. */
  ownerPods?: number[];
  /** Of a part: whose pods it has. */
  partOf?: number[];
  aggregated?: boolean;
}

class Strings {
  private readonly places = new Map<string, number>([["", 0]]);
  private readonly parts: Uint8Array[] = [new Uint8Array(0)];
  private readonly encoder = new TextEncoder();

  at(text: string): number {
    let place = this.places.get(text);
    if (place === undefined) {
      place = this.parts.length;
      this.places.set(text, place);
      this.parts.push(this.encoder.encode(text));
    }
    return place;
  }

  columns(): { offset: Uint32Array; bytes: Uint8Array } {
    const offset = new Uint32Array(this.parts.length + 1);
    let sum = 0;
    this.parts.forEach((part, i) => {
      offset[i] = sum;
      sum += part.length;
    });
    offset[this.parts.length] = sum;
    const bytes = new Uint8Array(sum);
    this.parts.forEach((part, i) => bytes.set(part, offset[i]));
    return { offset, bytes };
  }
}

class Differences extends Uint32Array {
  /** Each as the difference to the one before it. */
  static readonly of32 = (list: ArrayLike<number>): Differences => {
    const values = new Differences(list.length);
    for (let i = 0; i < list.length; ++i) values[i] = (list[i] ?? 0) - (i > 0 ? (list[i - 1] ?? 0) : 0);
    return values;
  };
}

type Column = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;

const typeNames = new Map<unknown, string>([
  [Uint8Array, "u8"],
  [Uint16Array, "u16"],
  [Uint32Array, "u32"],
  [Int32Array, "i32"],
  [Differences, "d32"],
  [Float64Array, "f64"],
]);

/** Of rows that are all alike the first, as the server writes it. */
function firstRowIfAlike(column: Column, width = 0): Column {
  if (width === 0 || column.length <= width) return column;
  return column.every((value, i) => Object.is(value, column[i % width])) ? column.subarray(0, width) : column;
}

export function writeFrame(values: FrameValues): ArrayBuffer {
  const strings = new Strings();
  const columns: [string, Column, number?][] = []; // with the width of a matrix
  const u32 = (name: string, list: number[], width = 1): void => void columns.push([name, Uint32Array.from(list), width]);
  const d32 = (name: string, list: number[]): void => void columns.push([name, Differences.of32(list)]);
  const f64 = (name: string, list: number[], width = 1): void => void columns.push([name, Float64Array.from(list), width]);
  const { nodes, pods } = values;
  d32("node.id", nodes.map((node) => node.id));
  d32("node.name", nodes.map((node) => strings.at(node.name)));
  u32("node.zone", nodes.map((node) => strings.at(node.zone)));
  u32("node.pool", nodes.map((node) => strings.at(node.pool ?? "")));
  u32("node.taints", nodes.map((node) => strings.at(node.taints ?? "")));
  columns.push(["node.flags", Uint16Array.from(nodes.map((node) => node.flags ?? 0))]);
  f64("node.price", nodes.map((node) => node.price ?? NaN));
  f64("node.created", nodes.map((node) => node.created ?? NaN));
  u32("node.labels", nodes.flatMap((node) => values.labelKeys.map((_, i) => strings.at(node.labels?.[i] ?? ""))), values.labelKeys.length);
  f64("node.allocatable", nodes.flatMap((node) => node.allocatable), values.resources.length);
  f64("node.requested", nodes.flatMap((node) => node.requested), values.resources.length);
  u32("node.podCount", nodes.map((node) => node.podCount ?? 0));
  const owners = new Map<string, number>();
  const ownerList: PodValues["owner"][] = [];
  const ownerOf = (owner: PodValues["owner"]): number => {
    const key = `${owner.kind}/${owner.namespace}/${owner.name}`;
    let place = owners.get(key);
    if (place === undefined) {
      place = ownerList.length;
      owners.set(key, place);
      ownerList.push(owner);
    }
    return place;
  };
  u32("pod.owner", pods.map((pod) => ownerOf(pod.owner)));
  for (const group of values.groups ?? []) ownerOf(group.owner);
  u32("owner.kind", ownerList.map((owner) => strings.at(owner.kind)));
  u32("owner.namespace", ownerList.map((owner) => strings.at(owner.namespace)));
  u32("owner.name", ownerList.map((owner) => strings.at(owner.name)));
  d32("pod.id", pods.map((pod) => pod.id));
  u32("pod.name", pods.map((pod) => strings.at(pod.name)));
  u32("pod.namespace", pods.map((pod) => strings.at(pod.namespace)));
  u32("pod.node", pods.map((pod) => pod.node));
  if (values.groups) {
    u32("group.node", values.groups.map(() => 4294967295));
    u32("group.owner", values.groups.map((group) => ownerOf(group.owner)));
    u32("group.count", values.groups.map((group) => group.count));
    f64("group.requests", values.groups.flatMap((group) => group.requests), values.podResources.length);
  }
  if (values.partOf) u32("part.node", values.partOf);
  if (values.ownerPods) u32("owner.podCount", values.ownerPods);
  columns.push(["pod.flags", Uint16Array.from(pods.map((pod) => pod.flags ?? 2))]);
  columns.push(["pod.priority", Int32Array.from(pods.map((pod) => pod.priority ?? 0))]);
  f64("pod.created", pods.map((pod) => pod.created ?? NaN));
  f64("pod.requests", pods.flatMap((pod) => pod.requests), values.podResources.length);
  u32("pod.labels", pods.map((pod) => strings.at(pod.labels ?? "")));
  if (values.kind === "delta") {
    const use = values.use ?? [];
    d32("use.node", use.map((each) => each.id));
    f64("use.requested", use.flatMap((each) => each.requested), values.resources.length);
    u32("use.podCount", use.map((each) => each.podCount));
    u32("node.removed", values.removedNodes ?? []);
    u32("pod.removed", values.removedPods ?? []);
  }
  const table = strings.columns();
  columns.push(["string.offset", Differences.of32(table.offset)], ["string.bytes", table.bytes]);

  let offset = 0;
  const written = columns.map(([, column, width]) => firstRowIfAlike(column, width));
  const described = columns.map(([name, column], i) => {
    const stored = written[i]?.length ?? 0;
    const entry = { name, type: typeNames.get(column.constructor) ?? "", offset, length: column.length, ...(stored < column.length && { stored }) };
    offset += Math.ceil((written[i]?.byteLength ?? 0) / 8) * 8;
    return entry;
  });
  const directory = new TextEncoder().encode(
    JSON.stringify({
      kind: values.kind,
      epoch: values.epoch,
      revision: values.revision,
      base: values.base,
      aggregated: values.aggregated ?? false,
      podsMax: 200000,
      nodes: nodes.length,
      pods: pods.length,
      labelKeys: values.labelKeys,
      resources: values.resources,
      podResources: values.podResources,
      columns: described,
    }),
  );
  const begin = Math.ceil((16 + directory.length) / 8) * 8;
  const buffer = new ArrayBuffer(begin + offset);
  const view = new DataView(buffer);
  new Uint8Array(buffer).set([0x42, 0x46, 0x4c, 0x54]);
  view.setUint32(4, 4, true);
  view.setUint32(8, directory.length, true);
  view.setUint32(12, begin, true);
  new Uint8Array(buffer, 16).set(directory);
  described.forEach((entry, i) => {
    const column = written[i];
    if (column) new Uint8Array(buffer, begin + entry.offset).set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength));
  });
  return buffer;
}
