// SPDX-License-Identifier: Apache-2.0
// Clusters that are made up, from a seed: for the mock server and for tests of size. Names may be as bad as names can be.
import type { FrameValues, NodeValues, PodValues } from "./frame_writer";

export const nobody = 4294967295;
export const resources = ["cpu", "memory", "example.com/gpu", "ephemeral-storage", "pods"];
export const podResources = ["cpu", "memory", "example.com/gpu"];
export const labelKeys = ["topology.kubernetes.io/zone", "node.kubernetes.io/instance-type", "team"];

export interface MockCluster {
  epoch: number;
  revision: number;
  nowMs: number;
  nodes: NodeValues[];
  pods: PodValues[];
}

export const hostileNames = [
  '<img src=x onerror="window.hacked=1">',
  "\u202egnp.exe\u202c-right-to-left",
  "مهمة-الجدولة",
  "🚀🚀🚀-emoji-👩‍👩‍👧‍👦",
  "a".repeat(63),
  "</script><script>window.hacked=1</script>",
  "tab\tand\nnewline",
  "'; DROP TABLE pods; --",
];

/** A generator of numbers from 0 to 1 (mulberry32). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const kinds = [
  { type: "m6.2xlarge", cpu: 8000, memory: 32, price: 0.384 },
  { type: "m6.4xlarge", cpu: 16000, memory: 64, price: 0.768 },
  { type: "c6.8xlarge", cpu: 32000, memory: 64, price: 1.36 },
  { type: "g5.12xlarge", cpu: 48000, memory: 192, price: 5.672 },
];
const apps = ["checkout", "catalog", "cart", "search", "payments", "ledger", "mailer", "thumbnails", "recommend", "gateway", "audit", "session"];
const namespaces = ["shop", "platform", "data", "ml"];

export function makeCluster(options: { seed: number; nodes: number; pods: number; pending: number; isHostile?: boolean; nowMs: number }): MockCluster {
  const draw = random(options.seed);
  const zones = options.nodes <= 8 ? ["eu-west-1a", "eu-west-1b"] : ["eu-west-1a", "eu-west-1b", "eu-west-1c"];
  const nodes: NodeValues[] = [];
  for (let i = 0; i < options.nodes; ++i) {
    const kind = kinds[i % 17 === 3 ? 3 : Math.floor(draw() * 3)] ?? kinds[0]!;
    const zone = zones[i % zones.length] ?? "";
    const isSpot = draw() < 0.18;
    let flags = isSpot ? 8 : 0;
    let taints = "";
    if (kind.type.startsWith("g5")) {
      taints = "example.com/gpu=true:NoSchedule";
      flags |= 2;
    }
    const fate = draw();
    if (options.nodes > 8 && fate < 0.012) {
      flags |= 1 | 2;
      taints = `${taints === "" ? "" : `${taints}, `}node.kubernetes.io/unschedulable:NoSchedule`;
    } else if (options.nodes > 8 && fate < 0.018) {
      flags |= 4 | 2;
      taints = "node.kubernetes.io/not-ready:NoExecute";
    } else if (options.nodes > 8 && fate < 0.024) flags |= 16;
    nodes.push({
      id: i + 1,
      name: options.isHostile && i < hostileNames.length ? (hostileNames[i] ?? "") : options.nodes <= 8 ? `node-${i + 1}` : `ip-10-${20 + (i >> 8)}-${i & 255}-${7 + (i % 91)}`,
      zone: options.isHostile && i % 5 === 0 ? hostileNames[1]! : zone,
      pool: kind.type.startsWith("g5") ? "gpu" : isSpot ? "spot" : "general",
      taints,
      flags,
      price: Math.round(kind.price * (isSpot ? 0.35 : 1) * 1000) / 1000,
      created: options.nowMs / 1000 - draw() * 86400 * 30,
      labels: [zone, kind.type, draw() < 0.5 ? "core" : "edge"],
      allocatable: [kind.cpu, kind.memory * 2 ** 30, kind.type.startsWith("g5") ? 4 : 0, 100 * 2 ** 30, 110],
      requested: [0, 0, 0, 0, 0],
    });
  }
  const owners = makeOwners(options, draw);
  const pods: PodValues[] = [];
  const fill = nodes.map(() => 0.25 + draw() * 0.72);
  let at = 0;
  for (let i = 0; i < options.pods; ++i) {
    const owner = owners[Math.floor(draw() * draw() * owners.length)] ?? owners[0]!;
    const node = placeFor(nodes, fill, owner.requests, at);
    at = (at + 1) % Math.max(1, nodes.length);
    pods.push(podOf(owner, i + 1, node?.id ?? nobody, options, draw));
    if (node) take(node, owner.requests, 1);
  }
  const waiting = owners.filter((owner) => owner.isWaiting);
  for (let i = 0; i < options.pending; ++i) {
    const owner = waiting[Math.floor(draw() ** 2 * waiting.length)] ?? owners[0]!;
    const pod = podOf(owner, options.pods + i + 1, nobody, options, draw);
    pod.flags = 1 | 256;
    pod.created = options.nowMs / 1000 - 20 - draw() * 4000;
    pods.push(pod);
  }
  return { epoch: 7, revision: 100, nowMs: options.nowMs, nodes, pods };
}

interface MockOwner {
  kind: string;
  namespace: string;
  name: string;
  requests: number[];
  isWaiting: boolean;
}

function makeOwners(options: { pods: number; isHostile?: boolean }, draw: () => number): MockOwner[] {
  const owners: MockOwner[] = [];
  const count = Math.max(4, Math.min(240, Math.round(Math.sqrt(options.pods) * 1.1)));
  for (let i = 0; i < count; ++i) {
    const app = apps[i % apps.length] ?? "app";
    const cpu = [100, 250, 500, 1000, 2000][Math.floor(draw() * 5)] ?? 250;
    owners.push({
      kind: ["Deployment", "Deployment", "Deployment", "StatefulSet", "Job"][i % 5] ?? "Deployment",
      namespace: options.isHostile && i % 4 === 0 ? "طابور" : (namespaces[Math.floor(i / 3) % namespaces.length] ?? "shop"),
      name: options.isHostile && i < hostileNames.length ? (hostileNames[i] ?? app) : i < apps.length ? app : `${app}-${Math.floor(i / apps.length)}`,
      requests: [cpu, cpu * (2 + Math.floor(draw() * 4)) * 2 ** 20, 0],
      isWaiting: i < 7,
    });
  }
  return owners;
}

function podOf(owner: MockOwner, id: number, node: number, options: { nowMs: number }, draw: () => number): PodValues {
  const suffix = Math.floor(draw() * 36 ** 5).toString(36).padStart(5, "0");
  return {
    id,
    name: owner.kind === "StatefulSet" ? `${owner.name}-${id}` : `${owner.name}-${suffix}`,
    namespace: owner.namespace,
    node,
    owner: { kind: owner.kind, namespace: owner.namespace, name: owner.name },
    flags: 2,
    priority: 0,
    created: options.nowMs / 1000 - draw() * 86400 * 5,
    requests: owner.requests,
    labels: `app=${owner.name.slice(0, 40)},team=${draw() < 0.5 ? "core" : "edge"}`,
  };
}

function placeFor(nodes: NodeValues[], fill: number[], requests: number[], start: number): NodeValues | undefined {
  for (let i = 0; i < nodes.length; ++i) {
    const at = (start + i) % nodes.length;
    const node = nodes[at];
    if (node === undefined || ((node.flags ?? 0) & 5) !== 0) continue;
    const limit = fill[at] ?? 1;
    if ((node.requested[0] ?? 0) + (requests[0] ?? 0) <= (node.allocatable[0] ?? 0) * limit && (node.requested[1] ?? 0) + (requests[1] ?? 0) <= (node.allocatable[1] ?? 0)) return node;
  }
  return undefined;
}

export function take(node: NodeValues, requests: number[], sign: 1 | -1): void {
  node.requested = [
    (node.requested[0] ?? 0) + sign * (requests[0] ?? 0),
    (node.requested[1] ?? 0) + sign * (requests[1] ?? 0),
    (node.requested[2] ?? 0) + sign * (requests[2] ?? 0),
    node.requested[3] ?? 0,
    (node.requested[4] ?? 0) + sign,
  ];
}

export function frameOf(cluster: MockCluster): FrameValues {
  return { kind: "full", epoch: cluster.epoch, revision: cluster.revision, labelKeys, resources, podResources, nodes: cluster.nodes, pods: cluster.pods };
}
