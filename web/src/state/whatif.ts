// SPDX-License-Identifier: Apache-2.0
// A question what if, and its answer as the page shows it. Pure functions.
import type { ClusterUse, Simulation, SimulateRequest } from "../api/types";
import type { Ghost } from "../picture/renderer";
import { formatBytes, formatCount, formatPrice, formatShare, plural } from "./format";

/** What the server takes; more is refused before it is sent. */
export const manifestBytesMax = 5 << 20;
export const configurationBytesMax = 256 << 10;

export interface ManifestFile {
  readonly name: string;
  readonly text: string;
}

export interface Question {
  readonly manifests: string;
  /** Files that were dropped: they are asked about together with `manifests`. */
  readonly files: readonly ManifestFile[];
  readonly namespace: string;
  /** KIND NAMESPACE/NAME +COUNT, one a line. */
  readonly replicas: string;
  readonly addNodes: string;
  readonly nodeLike: string;
  /** Names, separated by commas, blanks or lines. */
  readonly removeNodes: string;
}

export const noQuestion: Question = { manifests: "", files: [], namespace: "", replicas: "", addNodes: "", nodeLike: "", removeNodes: "" };

/** What is wrong with the text of a configuration before it is sent; "": nothing. Whether it can be read, the server says. */
export function wrongConfiguration(text: string): string {
  const bytes = new TextEncoder().encode(text).length;
  return bytes > configurationBytesMax ? `The configuration has ${formatBytes(bytes)}. At most 256 KiB can be asked about.` : "";
}

/** The configuration of a request; none where nothing has been typed. */
export function configurationOf(text: string): { configuration?: string } {
  return text.trim() === "" ? {} : { configuration: text };
}

export function namesIn(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((name) => name !== ""))];
}

const replicaLine = /^([A-Za-z]+)\s+([^\s/]+)\/([^\s/]+)\s+\+?(\d+)$/;

/** The request of a question, decided by `configuration`, or what is wrong with the question, for the user. */
export function requestOf(question: Question, configuration = ""): { readonly request: SimulateRequest } | { readonly problem: string } {
  const wrong = wrongConfiguration(configuration);
  if (wrong !== "") return { problem: wrong };
  const request: SimulateRequest = configurationOf(configuration);
  const manifests = [question.manifests, ...question.files.map((file) => file.text)].filter((text) => text.trim() !== "").join("\n---\n");
  if (manifests !== "") {
    const bytes = new TextEncoder().encode(manifests).length;
    if (bytes > manifestBytesMax) return { problem: `The manifests have ${(bytes / (1 << 20)).toFixed(1)} MiB. At most 5 MiB can be asked about.` };
    request.manifests = manifests;
  }
  if (question.namespace.trim() !== "") request.namespace = question.namespace.trim();
  const replicas: NonNullable<SimulateRequest["replicas"]> = [];
  for (const line of question.replicas.split("\n").map((each) => each.trim()).filter((each) => each !== "")) {
    const [, kind, namespace, name, count] = replicaLine.exec(line) ?? [];
    if (kind === undefined || namespace === undefined || name === undefined || count === undefined) {
      return { problem: `“${line}” should be like: Deployment shop/web +3` };
    }
    if (Number(count) < 1 || Number(count) > 10_000) return { problem: `“${line}”: 1 to 10,000 more pods can be asked about.` };
    replicas.push({ kind, namespace, name, add: Number(count) });
  }
  if (replicas.length > 0) request.replicas = replicas;
  if (question.addNodes.trim() !== "") {
    const count = Number(question.addNodes);
    if (!Number.isInteger(count) || count < 0 || count > 100_000) return { problem: "The number of nodes to add should be a whole number, at most 100,000." };
    if (count > 0) {
      if (question.nodeLike.trim() === "") return { problem: "Say which node the new ones are like." };
      request.addNodes = count;
      request.nodeLike = question.nodeLike.trim();
    }
  }
  const removed = namesIn(question.removeNodes);
  if (removed.length > 0) request.removeNodes = removed;
  if (!hasChanges(request) && request.configuration === undefined) {
    return { problem: "Nothing is asked yet: paste manifests, or say which pods or nodes come or go." };
  }
  return { request };
}

/** Whether the request is about the pods that wait, and about nothing that changes. */
export function isAboutWaiting(request: SimulateRequest | undefined): boolean {
  return request !== undefined && !hasChanges(request);
}

function hasChanges(request: SimulateRequest): boolean {
  return Boolean(request.manifests || request.replicas || request.addNodes || request.removeNodes);
}

/** The same question by the configuration that decides here, to compare with; undefined where there is nothing to compare. */
export function asItIs(request: SimulateRequest): SimulateRequest | undefined {
  const { configuration, ...plain } = request;
  return configuration !== undefined && hasChanges(plain) ? plain : undefined;
}

export interface Outcome {
  /** Pods that the question is about: new ones, and those that lost their node. */
  readonly asked: number;
  readonly placed: number;
  /** Pods that waited before, and how many of them would get a node now. */
  readonly waited: number;
  readonly waitedPlaced: number;
}

/** What becomes of the pods. Those that wait in the cluster already are counted by themselves. */
export function outcomeOf(result: Simulation): Outcome {
  const waited = result.pods.filter((pod) => pod.origin === "pending");
  const asked = result.pods.filter((pod) => pod.origin !== "pending");
  return {
    asked: asked.length,
    placed: asked.filter((pod) => pod.node).length,
    waited: waited.length,
    waitedPlaced: waited.filter((pod) => pod.node).length,
  };
}

export interface WorkloadRow {
  readonly key: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly origin: string;
  readonly pods: number;
  readonly pending: number;
  /** Nodes with how many pods each gets, the most first. */
  readonly nodes: readonly { readonly name: string; readonly pods: number }[];
  /** Why some stay pending, each text once. */
  readonly reasons: readonly string[];
}

export function workloadRows(result: Simulation): WorkloadRow[] {
  const rows = new Map<string, { row: WorkloadRow; nodes: Map<string, number>; reasons: Set<string> }>();
  for (const pod of result.pods) {
    const key = `${pod.workload.kind}/${pod.workload.namespace}/${pod.workload.name}/${pod.origin}`;
    let known = rows.get(key);
    if (known === undefined) {
      known = { row: { key, ...pod.workload, origin: pod.origin, pods: 0, pending: 0, nodes: [], reasons: [] }, nodes: new Map(), reasons: new Set() };
      rows.set(key, known);
    }
    known.row = { ...known.row, pods: known.row.pods + 1, pending: known.row.pending + (pod.node ? 0 : 1) };
    if (pod.node) known.nodes.set(pod.node, (known.nodes.get(pod.node) ?? 0) + 1);
    else if (pod.reason) known.reasons.add(pod.reason);
  }
  return [...rows.values()].map(({ row, nodes, reasons }) => ({
    ...row,
    nodes: [...nodes.entries()].map(([name, pods]) => ({ name, pods })).sort((a, b) => b.pods - a.pods || (a.name < b.name ? -1 : 1)),
    reasons: [...reasons],
  }));
}

/** Where the pods of a workload go, in few words. */
export function nodesText(nodes: WorkloadRow["nodes"]): string {
  if (nodes.length === 0) return "–";
  if (nodes.length > 3) return `${plural(nodes.length, "node")}, at most ${nodes[0]?.pods} each`;
  return nodes.map((node) => `${node.name} (${node.pods})`).join(", ");
}

/** What the answer changes on each node: the ghosts of the picture. */
export function ghostsOf(result: Simulation | undefined, request: SimulateRequest | undefined): Map<string, Ghost> {
  const ghosts = new Map<string, Ghost>();
  const change = (name: string | null | undefined, by: Partial<Ghost>): void => {
    if (!name) return;
    const known = ghosts.get(name) ?? { come: 0, go: 0, isRemoved: false };
    ghosts.set(name, { come: known.come + (by.come ?? 0), go: known.go + (by.go ?? 0), isRemoved: known.isRemoved || (by.isRemoved ?? false) });
  };
  for (const name of request?.removeNodes ?? []) change(name, { isRemoved: true });
  for (const pod of result?.pods ?? []) {
    change(pod.node, { come: 1 });
    if (pod.previousNode && pod.previousNode !== pod.node) change(pod.previousNode, { go: 1 });
  }
  // An evicted pod that comes back is among the pods, with its previous node; one that does not is only here.
  const counted = new Set((result?.pods ?? []).filter((pod) => pod.previousNode).map((pod) => `${pod.namespace}/${pod.name}`));
  for (const pod of result?.evictions ?? []) {
    if (!counted.has(`${pod.namespace}/${pod.name}`)) change(pod.node, { go: 1 });
  }
  for (const pod of result?.lost ?? []) change(pod.node, { go: 1 });
  return ghosts;
}

export interface ComparisonRow {
  readonly label: string;
  readonly before: string;
  readonly after: string;
  readonly isChanged: boolean;
}

/** The cluster before and after, line by line. */
export function comparison(before: ClusterUse, after: ClusterUse): ComparisonRow[] {
  const row = (label: string, of: (use: ClusterUse) => string): ComparisonRow => {
    const [a, b] = [of(before), of(after)];
    return { label, before: a, after: b, isChanged: a !== b };
  };
  const rows = [
    row("Nodes", (use) => formatCount(use.nodes)),
    row("Nodes in use", (use) => formatCount(use.nodesInUse)),
    row("Pods on nodes", (use) => formatCount(use.pods)),
    row("CPU requested", (use) => formatShare(use.cpuMilli, use.cpuMilliAllocatable)),
    row("Memory requested", (use) => formatShare(use.memoryBytes, use.memoryBytesAllocatable)),
  ];
  if (typeof before.priceInUse === "number" && typeof after.priceInUse === "number") {
    rows.push(row("Price of nodes in use", (use) => formatPrice(use.priceInUse ?? NaN)));
  }
  return rows;
}
