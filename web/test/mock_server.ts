// SPDX-License-Identifier: Apache-2.0
// A server that answers as docs/reference/page-api.yaml says, for a cluster that is made up, and serves dist/. Tests drive it:
// they make pods come and go, cut connections, and let tokens expire.
import { readFileSync } from "node:fs";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Decision, DrainPlan, Explanation, Headroom, NumberSample, Pending, PendingClass, Simulation, SimulateRequest, Status } from "../src/api/types";
import type { FrameValues, PodValues } from "./frame_writer";
import { writeFrame } from "./frame_writer";
import type { MockCluster } from "./mock_cluster";
import { planOf, shadowOf } from "./mock_reports";
import { frameOf, labelKeys, nobody, podResources, random, resources, take } from "./mock_cluster";

export interface MockOptions {
  readonly cluster: MockCluster;
  readonly dist: string;
  /** Milliseconds by which the server's clock is ahead of the real one. */
  readonly clockAheadMs?: number;
  /** A token that requests must carry. */
  readonly token?: string;
  readonly mode?: Status["mode"];
  /** Of more pods frames have numbers alone. */
  readonly podRowsMax?: number;
}

export const contentSecurityPolicy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

interface Reader {
  response: ServerResponse;
}

export class MockServer {
  readonly cluster: MockCluster;
  readonly decisions: Decision[] = [];
  readonly samples: NumberSample[] = [];
  readonly requests: string[] = [];
  readonly streamsFrom: string[] = [];
  token: string;
  /** The recording that the mode `recording` shows. */
  readonly moment = { from: "2026-03-01T10:00:00.000Z", to: "2026-03-01T11:40:00.000Z", at: "2026-03-01T10:00:00.000Z" };
  private readonly readers = new Set<Reader>();
  private readonly server: Server;
  private readonly history: { base: number; revision: number; frame: string }[] = [];
  private readonly draw = random(11);
  private isDown = false;

  constructor(private readonly options: MockOptions) {
    this.cluster = options.cluster;
    this.token = options.token ?? "";
    for (let i = 0; i < 40; ++i) this.decide(this.cluster.pods[i * 7 + 3], (i - 40) * 900);
    for (let i = 0; i < 300; ++i) this.sample((i - 300) * 2000);
    this.server = createServer((request, response) => {
      void this.answer(request, response).catch((error: unknown) => {
        response.writeHead(500).end(String(error));
      });
    });
  }

  async listen(port = 0): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(port, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/ui/`;
  }

  async close(): Promise<void> {
    this.cut();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Ends all streams; while it is down, requests are not answered either. */
  cut(isDown = false): void {
    this.isDown = isDown;
    for (const reader of this.readers) reader.response.destroy();
    this.readers.clear();
  }

  up(): void {
    this.isDown = false;
  }

  /** Another process in its place: another epoch, its own revisions and decisions. */
  restart(): void {
    this.cut();
    this.cluster.epoch += 1;
    this.cluster.revision = 1;
    this.history.length = 0;
    this.decisions.length = 0;
    this.sequence = 0;
  }

  /** So many requests about pods are put off. */
  busyFor = 0;

  get readerCount(): number {
    return this.readers.size;
  }

  now(): number {
    return Date.now() + (this.options.clockAheadMs ?? 0);
  }

  /** Binds a pod that waits to a node, as a delta. */
  bind(count = 1): void {
    const changed: PodValues[] = [];
    const nodes = new Set<MockCluster["nodes"][number]>();
    for (const pod of this.cluster.pods) {
      if (changed.length >= count) break;
      if (pod.node !== nobody) continue;
      const node = this.cluster.nodes[Math.floor(this.draw() * this.cluster.nodes.length)];
      if (node === undefined) continue;
      pod.node = node.id;
      pod.flags = 2;
      take(node, pod.requests, 1);
      nodes.add(node);
      changed.push(pod);
      this.decide(pod, 0);
    }
    this.publish([...nodes], changed, []);
    this.send("decisions", { epoch: this.cluster.epoch, last: this.decisions.length, decisions: this.decisions.slice(-changed.length) });
    this.pendingChanged();
  }

  /** A workload that was not there comes, and all its pods wait. */
  arrive(name: string, count: number): void {
    const added: PodValues[] = [];
    for (let i = 0; i < count; ++i) {
      const pod: PodValues = {
        id: this.cluster.pods.length + 1,
        name: `${name}-${i}`,
        namespace: "shop",
        node: nobody,
        owner: { kind: "Deployment", namespace: "shop", name },
        flags: 1 | 256,
        created: this.now() / 1000,
        requests: [1000, 2 ** 30, 0],
        labels: `app=${name}`,
      };
      this.cluster.pods.push(pod);
      added.push(pod);
    }
    this.publish([], added, []);
    this.pendingChanged();
  }

  /** Some decisions more, without other changes. */
  decideMany(count: number): void {
    for (let i = 0; i < count; ++i) this.decide(this.cluster.pods[Math.floor(this.draw() * this.cluster.pods.length)], 0);
    this.send("decisions", { epoch: this.cluster.epoch, last: this.decisions.length, decisions: this.decisions.slice(-count) });
  }

  sampleNow(): void {
    this.sample(0);
    this.send("numbers", this.samples[this.samples.length - 1]);
  }

  private pendingChanged(): void {
    this.send("pending", { revision: this.cluster.revision, pods: 0, classes: 0 });
  }

  private publish(nodes: MockCluster["nodes"], pods: PodValues[], removedPods: number[]): void {
    const base = this.cluster.revision;
    this.cluster.revision += 1;
    const frame = Buffer.from(
      writeFrame({ kind: "delta", epoch: this.cluster.epoch, revision: this.cluster.revision, base, labelKeys, resources, podResources, nodes, pods, removedPods, removedNodes: [] }),
    ).toString("base64");
    const event = { base, revision: this.cluster.revision, frame };
    this.history.push(event);
    if (this.history.length > 200) this.history.shift();
    this.send("fleet", event);
  }

  private eventId(): string {
    return `${this.cluster.epoch}-${this.cluster.revision}-${this.decisions[this.decisions.length - 1]?.sequence ?? 0}`;
  }

  private send(name: string, data: unknown): void {
    for (const reader of this.readers) reader.response.write(`event: ${name}\nid: ${this.eventId()}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  private sequence = 0;

  private decide(pod: PodValues | undefined, agoMs: number): void {
    if (pod === undefined) return;
    this.sequence += 1;
    const node = this.cluster.nodes.find((each) => each.id === pod.node);
    const count = this.cluster.nodes.length;
    this.decisions.push({
      sequence: this.sequence,
      cycle: 4000 + this.sequence,
      seed: String(14_000_000_000_000_000_000n + BigInt(this.sequence) * 7919n),
      time: new Date(this.now() + agoMs).toISOString(),
      namespace: pod.namespace,
      name: pod.name,
      node: node?.name ?? "",
      attempt: node ? 1 : 3,
      nodes: count,
      feasible: node ? Math.max(1, Math.floor(count * 0.7)) : 0,
      total: node ? 380 + Math.floor(this.draw() * 90) : 0,
      why: node ? `best of ${Math.max(1, Math.floor(count * 0.7))} nodes, by NodeResourcesFit` : "",
      message: node ? "" : `0/${count} nodes are available: ${count} Insufficient cpu.`,
      reasons: node ? [] : [{ plugin: "NodeResourcesFit", text: "Insufficient cpu", nodes: count }],
    });
    if (this.decisions.length > 1000) this.decisions.shift();
  }

  private sample(agoMs: number): void {
    const t = this.samples.length;
    const wave = (period: number, phase = 0): number => 0.5 + 0.5 * Math.sin((t + phase) / period);
    const waiting = this.cluster.pods.filter((pod) => pod.node === nobody).length;
    const zones = [...new Set(this.cluster.nodes.map((node) => node.zone))].slice(0, 4);
    this.samples.push({
      time: new Date(this.now() + agoMs).toISOString(),
      arrived: 20 + 60 * wave(23),
      bound: 18 + 60 * wave(23, -4) + this.draw() * 6,
      decisions: 26 + 62 * wave(23, -4) + this.draw() * 8,
      ...(t % 50 < 44 ? { waitMsP50: 3 + 5 * wave(31), waitMsP99: 18 + 60 * wave(17) } : {}),
      pending: Math.round(waiting * (0.8 + 0.3 * wave(41))),
      cpu: 0.06 + 0.1 * wave(23),
      memoryBytes: (180 + 20 * wave(61)) * 2 ** 20,
      profiles: [
        { name: "default-scheduler", scheduled: 12 + 50 * wave(23, -4), refused: 4 + 3 * wave(7) },
        { name: "packed", scheduled: 6 + 10 * wave(29), refused: wave(11) },
      ],
      queue: { active: Math.round(8 * wave(9)), backoff: Math.round(12 + 20 * wave(19)), unschedulable: Math.round(waiting * 0.7), gated: 3 },
      use: zones.map((zone, i) => ({ zone, nodes: 10, cpu: 0.55 + 0.1 * i + 0.04 * wave(37, i * 20), memory: 0.4 + 0.12 * i + 0.05 * wave(29, i * 9), pods: 0.3 })),
    });
    if (this.samples.length > 450) this.samples.shift();
  }

  private status(): Status {
    const mode = this.options.mode ?? "live";
    const isLive = mode === "live";
    return {
      version: "0.0.0-mock",
      kubernetes: "v1.37.2",
      source: isLive ? "https://10.0.0.1:6443" : "cluster.snapshot",
      mode,
      scheduler: isLive ? "berth" : "other",
      schedulerNames: ["default-scheduler"],
      clock: new Date(this.now()).toISOString(),
      ...(isLive ? {} : { asOf: mode === "recording" ? this.moment.at : new Date(this.now() - 7_200_000).toISOString() }),
      connected: true,
      features: isLive ? ["events", "decisions", "queue", "simulate", "can-drain", "headroom", "numbers", "rebalance", "shadow"] : mode === "recording" ? ["decisions", "timeline"] : ["simulate", "can-drain", "headroom"],
      nodes: this.cluster.nodes.length,
      pods: this.cluster.pods.length,
      pending: this.cluster.pods.filter((pod) => pod.node === nobody).length,
      epoch: this.cluster.epoch,
      revision: this.cluster.revision,
    };
  }

  private pending(): Pending {
    const classes = new Map<string, { pods: PodValues[] }>();
    for (const pod of this.cluster.pods) {
      if (pod.node !== nobody) continue;
      const key = `${pod.owner.kind}/${pod.owner.namespace}/${pod.owner.name}`;
      const known = classes.get(key);
      if (known) known.pods.push(pod);
      else classes.set(key, { pods: [pod] });
    }
    const count = this.cluster.nodes.length;
    const list = [...classes.entries()].map(([id, { pods }], i): PendingClass => {
      const oldest = pods.reduce((a, b) => ((a.created ?? 0) <= (b.created ?? 0) ? a : b));
      const tainted = this.cluster.nodes.filter((node) => (node.taints ?? "") !== "").length;
      const isGated = i === 4;
      const reasons = isGated
        ? []
        : i % 3 === 1
          ? [
              { plugin: "NodeAffinity", text: "node(s) didn't match Pod's node affinity/selector", nodes: count - tainted },
              { plugin: "TaintToleration", text: "node(s) had untolerated taint(s)", nodes: tainted },
            ]
          : [
              { plugin: "NodeResourcesFit", text: i % 3 === 0 ? "Insufficient cpu" : "Insufficient memory", nodes: count - tainted },
              { plugin: "TaintToleration", text: "node(s) had untolerated taint(s)", nodes: tainted },
            ].filter((reason) => reason.nodes > 0);
      return {
        id,
        owner: oldest.owner,
        count: pods.length,
        oldest: new Date((oldest.created ?? 0) * 1000).toISOString(),
        sample: { namespace: oldest.namespace, name: oldest.name },
        scheduler: "default-scheduler",
        state: isGated ? "Gated" : "Refused",
        message: isGated ? "Scheduling is blocked due to non-empty scheduling gates" : `0/${count} nodes are available: ${reasons.map((reason) => `${reason.nodes} ${reason.text}`).join(", ")}.`,
        reasons,
        nodes: count,
        attempts: isGated ? 0 : 3 + i,
        queue: isGated ? { gated: pods.length } : { unschedulable: pods.length - Math.floor(pods.length / 6), backoff: Math.floor(pods.length / 6) },
        backoffUntil: new Date(this.now() + 8000).toISOString(),
        waitsFor: isGated ? ["PodUpdateSchedulingGatesEliminated"] : ["NodeAdd", "NodeUpdateNodeAllocatable", "NodeUpdateNodeTaint", "PodDelete"],
      };
    });
    list.sort((a, b) => (a.oldest < b.oldest ? -1 : 1));
    const summary = new Map<string, { plugin: string; text: string; pods: number; owners: number }>();
    for (const each of list) {
      const reason = each.reasons?.[0];
      const text = reason?.text ?? "held by a scheduling gate";
      const known = summary.get(text) ?? { plugin: reason?.plugin ?? "SchedulingGates", text, pods: 0, owners: 0 };
      known.pods += each.count;
      known.owners += 1;
      summary.set(text, known);
    }
    return {
      revision: this.cluster.revision,
      asOf: new Date(this.now()).toISOString(),
      by: "scheduler",
      pods: list.reduce((sum, each) => sum + each.count, 0),
      summary: [...summary.values()].sort((a, b) => b.pods - a.pods),
      classes: list,
    };
  }

  private explain(namespace: string, name: string): Explanation | undefined {
    const pod = this.cluster.pods.find((each) => each.namespace === namespace && each.name === name);
    if (pod === undefined) return undefined;
    const node = this.cluster.nodes.find((each) => each.id === pod.node);
    const count = this.cluster.nodes.length;
    const scored = (at: number): NonNullable<Explanation["nodes"]>[number] => {
      const each = this.cluster.nodes[at];
      const fit = 70 - ((at * 13) % 37);
      const balance = 64 + ((at * 7) % 30);
      const scores = [
        { plugin: "TaintToleration", raw: 0, normalized: 100, weight: 3, weighted: 300 },
        { plugin: "NodeResourcesFit", raw: fit, normalized: fit, weight: 1, weighted: fit },
        { plugin: "NodeResourcesBalancedAllocation", raw: balance, normalized: balance, weight: 1, weighted: balance },
        { plugin: "PodTopologySpread", raw: 3, normalized: 20 + ((at * 11) % 40), weight: 2, weighted: 2 * (20 + ((at * 11) % 40)) },
      ];
      return { name: each?.name ?? "", total: scores.reduce((sum, score) => sum + score.weighted, 0), scores };
    };
    const page = {
      namespace,
      name,
      owner: pod.owner,
      phase: node ? "Running" : "Pending",
      schedulerName: "default-scheduler",
      created: new Date((pod.created ?? 0) * 1000).toISOString(),
      requests: { cpu: pod.requests[0] ?? 0, memory: pod.requests[1] ?? 0 },
    };
    if (node) {
      return { pod: `${namespace}/${name}`, state: "Placed", schedulerName: "default-scheduler", node: node.name, nodeCount: count, feasibleCount: Math.min(count, 40), bestCount: 1, rank: 1, nodes: this.cluster.nodes.slice(0, 40).map((_, i) => scored(i)), page };
    }
    const nodes = this.cluster.nodes.map((each, i) => {
      const taint = { plugin: "TaintToleration", reason: "node(s) had untolerated taint(s)", resolvable: false };
      const cpu = { plugin: "NodeResourcesFit", reason: i % 5 === 0 ? "Insufficient memory" : "Insufficient cpu", resolvable: true };
      return { name: each.name, refusals: (each.taints ?? "") !== "" ? [taint, cpu] : [cpu] };
    });
    const tainted = nodes.filter((each) => each.refusals.length > 1).length;
    const memory = nodes.filter((each) => each.refusals.length === 1 && each.refusals[0]?.reason === "Insufficient memory").length;
    const first = this.cluster.nodes[0]?.name ?? "";
    return {
      pod: `${namespace}/${name}`,
      state: "Refused",
      schedulerName: "default-scheduler",
      node: "",
      message: `0/${count} nodes are available: ${tainted} node(s) had untolerated taint(s), ${memory} Insufficient memory, ${count - tainted - memory} Insufficient cpu. preemption: 0/${count} nodes are available: ${count} No preemption victims found for incoming pod.`,
      nodeCount: count,
      feasibleCount: 0,
      bestCount: 0,
      funnel: [
        { plugin: "TaintToleration", reason: "node(s) had untolerated taint(s)", refused: tainted, wouldRefuse: tainted },
        { plugin: "NodeResourcesFit", reason: "Insufficient cpu", refused: count - tainted - memory, wouldRefuse: count - memory },
        { plugin: "NodeResourcesFit", reason: "Insufficient memory", refused: memory, wouldRefuse: memory },
      ].filter((step) => step.refused > 0),
      changes: [
        { kind: "request", what: [`spec.containers[c].resources.requests.cpu: 750m instead of ${pod.requests[0]}m`], nodeCount: Math.max(1, count >> 4), nodes: [first] },
        { kind: "toleration", what: ["a toleration of example.com/gpu=true:NoSchedule"], nodeCount: Math.max(1, tainted), nodes: [first] },
        { kind: "podLess", what: [`without pod data/ledger-1 (priority 0) on ${first}`], nodeCount: 1, nodes: [first] },
        { kind: "newNode", what: [`one more node like ${first}`], nodeCount: 1, nodes: [] },
      ],
      changesComplete: true,
      preemption: { node: "", victims: [], pdbViolations: 0, candidateCount: 0, whyNot: "No preemption victims found for incoming pod" },
      wokenBy: ["NodeAdd", "NodeUpdateNodeAllocatable", "NodeUpdateNodeTaint", "PodDelete", "PodUpdatePodScaleDown", "PodUpdatePodToleration"],
      nodes,
      live: {
        askedAt: new Date(this.now()).toISOString(),
        decision: { time: new Date(this.now() - 14_000).toISOString(), cycle: 4312, seed: "14523099120098113347", attempt: 6, node: "", total: 0, nodeCount: count, feasibleCount: 0, message: "" },
        queue: { place: "Backoff", backoffUntil: new Date(this.now() + 8000).toISOString(), refusedBy: ["NodeResourcesFit"], wokenBy: [] },
      },
      page,
    };
  }

  private simulate(request: SimulateRequest): Simulation | string {
    if (request.manifests?.includes("kind: Wrong")) return "manifests: document 1: kind Wrong is not known: Pod, Deployment and other workloads can be simulated";
    const missing = request.removeNodes?.find((name) => !this.cluster.nodes.some((node) => node.name === name));
    if (missing !== undefined) return `node "${missing}" is not there`;
    if (request.configuration?.includes("kind: Pod")) return 'configuration:2: kind "Pod" is not KubeSchedulerConfiguration';
    const byOwn = request.configuration !== undefined;
    const workload = { kind: "Deployment", namespace: "default", name: "web" };
    const pods: Simulation["pods"][number][] = [];
    for (let i = 0; i < 8; ++i) {
      const node = this.cluster.nodes[(i * 3) % this.cluster.nodes.length];
      pods.push(
        i === 7 && !byOwn
          ? { namespace: "default", name: `web-${i}`, workload, origin: "new", node: null, reason: `0/${this.cluster.nodes.length} nodes are available: ${this.cluster.nodes.length} Insufficient cpu.` }
          : { namespace: "default", name: `web-${i}`, workload, origin: "new", node: node?.name ?? null, zone: node?.zone ?? "" },
      );
    }
    const sum = (at: number, of: "allocatable" | "requested"): number => this.cluster.nodes.reduce((total, node) => total + (node[of][at] ?? 0), 0);
    const before = {
      nodes: this.cluster.nodes.length,
      nodesInUse: this.cluster.nodes.filter((node) => (node.requested[4] ?? 0) > 0).length,
      pods: this.cluster.pods.length,
      cpuMilli: sum(0, "requested"),
      cpuMilliAllocatable: sum(0, "allocatable"),
      memoryBytes: sum(1, "requested"),
      memoryBytesAllocatable: sum(1, "allocatable"),
      price: 100,
      priceInUse: 90,
    };
    return {
      pods,
      pending: byOwn ? 0 : 1,
      evictions: [{ namespace: "data", name: "ledger-1", workload: { kind: "StatefulSet", namespace: "data", name: "ledger" }, node: this.cluster.nodes[1]?.name ?? "", preemptor: "default/web-1" }],
      lost: (request.removeNodes ?? []).map((name) => ({ namespace: "platform", name: `agent-${name}`, node: name, reason: "a pod of a DaemonSet" })),
      before,
      after: { ...before, nodes: before.nodes + (request.addNodes ?? 0) - (request.removeNodes?.length ?? 0), pods: before.pods + 7, cpuMilli: before.cpuMilli + 7000 },
      notes: [],
      ...(byOwn ? { warnings: ["extender https://gpu.shop is not asked: its part of the decision is missing"] } : {}),
    };
  }

  private isAggregated(): boolean {
    return this.cluster.pods.length > (this.options.podRowsMax ?? Infinity);
  }

  private aggregated(): FrameValues {
    const counts = new Map<number, number>();
    const groups = new Map<string, { owner: PodValues["owner"]; count: number; requests: number[] }>();
    for (const pod of this.cluster.pods) {
      counts.set(pod.node, (counts.get(pod.node) ?? 0) + 1);
      if (pod.node !== nobody) continue;
      const group = groups.get(pod.owner.name) ?? { owner: pod.owner, count: 0, requests: pod.requests };
      group.count += 1;
      groups.set(pod.owner.name, group);
    }
    const nodes = this.cluster.nodes.map((node) => ({ ...node, podCount: counts.get(node.id) ?? 0 }));
    return { ...frameOf(this.cluster), aggregated: true, nodes, pods: [], groups: [...groups.values()], ownerPods: [...groups.values()].map((group) => group.count) };
  }

  private part(url: URL): FrameValues {
    const partOf = (url.searchParams.get("nodes") ?? "").split(",").map(Number);
    const wanted = new Set(partOf);
    return { ...frameOf(this.cluster), kind: "part", aggregated: true, nodes: [], pods: this.cluster.pods.filter((pod) => wanted.has(pod.node)), partOf };
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://mock");
    this.requests.push(`${request.method} ${url.pathname}`);
    if (this.requests.length > 1000) this.requests.shift();
    if (this.isDown) {
      request.socket.destroy();
      return;
    }
    const secure = { "Content-Security-Policy": contentSecurityPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer" };
    const json = (body: unknown, code = 200): void => {
      response.writeHead(code, { ...secure, "Content-Type": "application/json" }).end(JSON.stringify(body));
    };
    const failure = (code: number, message: string): void => json({ kind: "Status", status: "Failure", message, code }, code);
    if (!url.pathname.startsWith("/ui/api/v1/")) {
      const name = url.pathname === "/ui/" ? "index.html" : url.pathname.slice(4);
      const type = { "index.html": "text/html; charset=utf-8", "app.js": "text/javascript; charset=utf-8", "app.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml" }[name];
      if (type === undefined) failure(404, "not found");
      else response.writeHead(200, { ...secure, "Content-Type": type }).end(readFileSync(join(this.options.dist, name)));
      return;
    }
    if (this.token !== "" && request.headers.authorization !== `Bearer ${this.token}`) {
      failure(401, "Unauthorized: the token is missing or has expired");
      return;
    }
    const path = url.pathname.slice("/ui/api/v1".length);
    const parts = path.split("/").slice(1).map(decodeURIComponent);
    if (request.method === "POST") {
      const body = await bodyOf(request);
      if (body === undefined) {
        failure(413, "the body is larger than 5 MiB");
        return;
      }
      if (path === "/timeline") {
        this.moment.at = (JSON.parse(body) as { at: string }).at;
        this.bind(5);
        json(this.moment);
        return;
      }
      this.answerQuestion(path, JSON.parse(body) as never, json, failure);
      return;
    }
    switch (parts[0]) {
      case "status":
        json(this.status());
        break;
      case "fleet": {
        const frame = parts[1] === "pods" ? this.part(url) : this.isAggregated() ? this.aggregated() : frameOf(this.cluster);
        response.writeHead(200, { ...secure, "Content-Type": "application/vnd.berth.fleet.v4" }).end(Buffer.from(writeFrame(frame)));
        break;
      }
      case "search": {
        const text = url.searchParams.get("text") ?? "";
        const found = this.cluster.pods.filter((pod) => pod.name.includes(text)).slice(0, 8);
        json({ pods: found.map((pod) => ({ namespace: pod.namespace, name: pod.name, node: this.cluster.nodes.find((node) => node.id === pod.node)?.name ?? "", phase: "Running" })) });
        break;
      }
      case "shadow":
        json(shadowOf(this.cluster.nodes[0]?.name, this.cluster.nodes[1]?.name));
        break;
      case "pending":
        json(this.pending());
        break;
      case "decisions":
        json({ epoch: this.cluster.epoch, last: this.sequence, dropped: 0, decisions: this.decisions.slice(-Number(url.searchParams.get("limit") ?? 200)) });
        break;
      case "timeline":
        json(this.moment);
        break;
      case "numbers":
        json({ intervalSeconds: 2, samples: this.samples });
        break;
      case "pods": {
        if (this.busyFor > 0) {
          this.busyFor -= 1;
          response.setHeader("Retry-After", "1");
          failure(429, "another question is being answered");
          break;
        }
        const said = this.explain(parts[1] ?? "", parts[2] ?? "");
        if (said === undefined) failure(404, `pods "${parts[2] ?? ""}" not found`);
        else json(said);
        break;
      }
      case "nodes":
        this.answerNode(parts[1] ?? "", json, failure);
        break;
      case "events":
        this.answerEvents(request, response);
        break;
      default:
        failure(404, "not found");
    }
  }

  private answerNode(name: string, json: (body: unknown) => void, failure: (code: number, message: string) => void): void {
    const node = this.cluster.nodes.find((each) => each.name === name);
    if (node === undefined) {
      failure(404, `nodes "${name}" not found`);
      return;
    }
    const pods = this.cluster.pods.filter((pod) => pod.node === node.id);
    json({
      id: node.id,
      name,
      zone: node.zone,
      created: new Date((node.created ?? 0) * 1000).toISOString(),
      cordoned: ((node.flags ?? 0) & 1) !== 0,
      ready: ((node.flags ?? 0) & 4) === 0,
      labels: Object.fromEntries(labelKeys.map((key, i) => [key, node.labels?.[i] ?? ""])),
      taints: (node.taints ?? "").split(", ").filter((each) => each !== "").map((each) => ({ key: each.split(/[=:]/)[0], value: each.includes("=") ? each.split(/[=:]/)[1] : "", effect: each.split(":").pop() })),
      conditions: [{ type: "Ready", status: "True" }],
      allocatable: Object.fromEntries(resources.map((resource, i) => [resource, node.allocatable[i] ?? 0])),
      requested: Object.fromEntries(resources.map((resource, i) => [resource, node.requested[i] ?? 0])),
      price: node.price,
      podCount: pods.length,
      pods: pods.map((pod) => ({ namespace: pod.namespace, name: pod.name, owner: pod.owner, requests: { cpu: pod.requests[0], memory: pod.requests[1] } })),
    });
  }

  private answerQuestion(path: string, body: SimulateRequest & { nodes?: string[] }, json: (body: unknown) => void, failure: (code: number, message: string) => void): void {
    if (path === "/simulate") {
      const result = this.simulate(body);
      if (typeof result === "string") failure(422, result);
      else json(result);
      return;
    }
    if (path === "/rebalance") {
      const [from, to] = this.cluster.nodes;
      if ((body as { policy?: string }).policy?.includes("DeschedulerPolicy")) json(planOf(from?.name, to?.name, this.cluster.pods.filter((pod) => pod.node === from?.id)));
      else failure(422, "policy:1: kind should be DeschedulerPolicy");
      return;
    }
    if (path === "/can-drain") {
      const node = this.cluster.nodes.find((each) => each.name === body.nodes?.[0]);
      if (node === undefined) {
        failure(422, `node "${body.nodes?.[0] ?? ""}" is not there`);
        return;
      }
      const pods = this.cluster.pods.filter((pod) => pod.node === node.id);
      const plan: DrainPlan = {
        nodes: body.nodes ?? [],
        canDrain: false,
        pods: pods.map((pod, i) => ({
          namespace: pod.namespace,
          name: pod.name,
          node: node.name,
          owner: `${pod.owner.kind} ${pod.owner.name}`,
          drain: "evicted",
          budget: i % 4 === 0 ? "allowed" : "none",
          goesTo: i % 9 === 8 ? "" : (this.cluster.nodes[(i * 5) % this.cluster.nodes.length]?.name ?? ""),
          obstacle: i % 9 === 8 ? "no node has room for it" : "",
        })),
      };
      json(plan);
      return;
    }
    const owners = new Map<string, PodValues["owner"] & { pods: number }>();
    for (const pod of this.cluster.pods) {
      const key = `${pod.owner.kind}/${pod.owner.namespace}/${pod.owner.name}`;
      const known = owners.get(key);
      if (known) known.pods += 1;
      else owners.set(key, { ...pod.owner, pods: 1 });
    }
    const headroom: Headroom = {
      nodes: this.cluster.nodes.length,
      maxLosses: 3,
      workloads: [...owners.values()].slice(0, 40).map((owner, i) => ({
        ...owner,
        nodes: Math.min(owner.pods, this.cluster.nodes.length),
        survives: i % 4,
        isAtLimit: i % 4 === 3,
        ...(i % 4 === 3 ? {} : { failsWithout: { nodes: [this.cluster.nodes[0]?.name ?? ""], podsWithoutPlace: 1 + i } }),
      })),
    };
    json(headroom);
  }

  private answerEvents(request: IncomingMessage, response: ServerResponse): void {
    const last = String(request.headers["last-event-id"] ?? "");
    this.streamsFrom.push(last);
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    response.write(`event: hello\nid: ${last || this.eventId()}\ndata: ${JSON.stringify({ epoch: this.cluster.epoch, revision: this.cluster.revision, clock: new Date(this.now()).toISOString() })}\n\n`);
    const [epoch, revision, sequence] = last.split("-").map(Number);
    const write = (name: string, data: unknown): void => void response.write(`event: ${name}\nid: ${this.eventId()}\ndata: ${JSON.stringify(data)}\n\n`);
    if (epoch === this.cluster.epoch && revision !== undefined) {
      for (const delta of this.history) {
        if (delta.base >= revision) write("fleet", delta);
      }
      const missing = this.decisions.filter((decision) => decision.sequence > (sequence ?? 0));
      if (missing.length > 0) write("decisions", { epoch, last: this.sequence, decisions: missing.slice(-100) });
      write("pending", { revision: this.cluster.revision, pods: 0, classes: 0 });
    } else write("fleet", { revision: this.cluster.revision, reload: true });
    const reader: Reader = { response };
    this.readers.add(reader);
    response.on("close", () => this.readers.delete(reader));
  }
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let sum = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    sum += part.length;
    if (sum <= 5 << 20) parts.push(part);
  }
  return sum > 5 << 20 ? undefined : Buffer.concat(parts).toString("utf8");
}
