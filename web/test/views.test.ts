// SPDX-License-Identifier: Apache-2.0
// What views show, as pure functions of what the server has said.
import assert from "node:assert/strict";
import test from "node:test";
import type { Explanation, NodeVerdict, Pending, PendingClass, Simulation } from "../src/api/types";
import { addDecisions, filterDecisions, noDecisions } from "../src/state/decisions";
import { funnelOf, pluginsOfScores, runnerUp, splitNodes, verdictOf } from "../src/state/explain";
import type { NumberSample } from "../src/api/types";
import { beganToWait, played } from "../src/state/timeline";
import { addSample, linePath, niceCeiling, plotsOf, summarize } from "../src/state/numbers";
import { filterRows, groupMessage, groupToldIn, pendingRows, summaryOf } from "../src/state/pending";
import { asItIs, comparison, ghostsOf, namesIn, nodesText, noQuestion, outcomeOf, requestOf, workloadRows } from "../src/state/whatif";

function waiting(name: string, count: number, reason: string, more: Partial<PendingClass> = {}): PendingClass {
  return {
    id: `${name}/${reason}`,
    owner: { kind: "Deployment", namespace: "shop", name },
    count,
    oldest: "2026-01-01T10:00:00Z",
    sample: { namespace: "shop", name: `${name}-1` },
    state: "Refused",
    reasons: [{ plugin: "NodeResourcesFit", text: reason, nodes: 5 }],
    nodes: 5,
    attempts: 2,
    queue: { unschedulable: count },
    waitsFor: ["NodeAdd"],
    ...more,
  };
}

const pending: Pending = {
  revision: 1,
  pods: 412,
  summary: [
    { plugin: "NodeResourcesFit", text: "Insufficient cpu", pods: 300, owners: 2 },
    { plugin: "TaintToleration", text: "untolerated taint", pods: 112, owners: 1 },
  ],
  classes: [
    waiting("web", 200, "Insufficient cpu"),
    waiting("job", 112, "untolerated taint", { queue: { backoff: 100, gated: 12 }, oldest: "2026-01-01T09:00:00Z" }),
    waiting("cart", 100, "Insufficient cpu", { attempts: 9, waitsFor: ["PodDelete"], oldest: "2026-01-01T08:00:00Z", queue: { unschedulable: 90, active: 10 } }),
  ],
};

test("the summary says how many wait, whose they are and why", () => {
  const summary = summaryOf(pending);
  assert.equal(summary.sentence, "412 pods of 3 workloads wait for a node.");
  assert.deepEqual(summary.reasons.map((reason) => [reason.text, reason.pods]), [["Insufficient cpu", 300], ["untolerated taint", 112]]);
  assert.equal(summaryOf({ ...pending, pods: 0, classes: [], summary: [] }).sentence, "No pod waits for a node.");
  const many = { ...pending, summary: Array.from({ length: 9 }, (_, i) => ({ plugin: "p", text: `r${i}`, pods: 9 - i, owners: 1 })) };
  assert.equal(summaryOf(many, 4).reasons[3]?.text, "6 other reasons");
  assert.equal(summaryOf(many, 4).reasons.reduce((sum, reason) => sum + reason.pods, 0), 45);
});

test("folded by reason, pods, workloads, queues and events of all its classes come together", () => {
  const rows = pendingRows(pending, "reason");
  assert.deepEqual(rows.map((row) => [row.title, row.pods, row.owners]), [["Insufficient cpu", 300, 2], ["untolerated taint", 112, 1]]);
  const [cpu] = rows;
  assert.equal(cpu?.attempts, 9);
  assert.deepEqual(cpu?.queue, [{ place: "active", pods: 10 }, { place: "unschedulable", pods: 290 }]);
  assert.deepEqual(cpu?.waitsFor, ["NodeAdd", "PodDelete"]);
  assert.equal(cpu?.sample.name, "cart-1", "the sample is the pod that waits longest");
});

test("folded by workload, the server's order is kept", () => {
  assert.deepEqual(pendingRows(pending, "owner").map((row) => row.title), ["web", "job", "cart"]);
  const bare = pendingRows({ ...pending, classes: [{ ...waiting("x", 1, "r"), reasons: undefined, queue: undefined, attempts: undefined, nodes: undefined }] } as unknown as Pending, "owner")[0];
  assert.ok(Number.isNaN(bare?.attempts) && Number.isNaN(bare?.nodes));
});

const told = "pod group is unschedulable, 0/1 placements are available, first placement status: minCount (4) cannot be satisfied: 2 scheduled, 1 remaining";

test("pods of one group are one line, which says what nodes lack and what the group was told", () => {
  const member = (name: string, more: Partial<PendingClass>): PendingClass =>
    waiting(name, 1, "Insufficient gpu", { owner: { kind: "Pod", namespace: "shop", name }, group: "training", ...more });
  const gang: Pending = {
    ...pending,
    pods: 4,
    classes: [
      member("t-0", { reasons: [], message: `${told}, pod group preemption: none`, attempts: undefined, oldest: "2026-01-01T09:00:00Z" } as Partial<PendingClass>),
      waiting("web", 1, "Insufficient cpu"),
      member("t-1", {}),
      member("t-2", { reasons: [], message: told }),
    ],
  };
  const rows = pendingRows(gang, "owner");
  assert.deepEqual(rows.map((row) => `${row.kind} ${row.title} ${row.pods}`), ["PodGroup training 3", "Deployment web 1"]);
  assert.equal(rows[0]?.reasons[0]?.text, "Insufficient gpu");
  assert.equal(groupMessage(rows[0]?.message ?? ""), "minCount (4) cannot be satisfied: 2 scheduled, 1 remaining");
  assert.equal(rows[0]?.oldestMs, Date.parse("2026-01-01T09:00:00Z"));
  assert.deepEqual(rows[0]?.queue, [{ place: "unschedulable", pods: 3 }]);
  assert.equal(rows[0]?.sample.name, "t-1-1", "a member of which nodes said something");
  assert.equal(summaryOf(gang).sentence, "4 pods of 2 workloads wait for a node.");
  assert.equal(groupToldIn(gang, "shop", "training"), "minCount (4) cannot be satisfied: 2 scheduled, 1 remaining");
  assert.equal(groupToldIn(gang, "shop", "other"), "");
  assert.equal(groupMessage("0/5 nodes are available: 5 Insufficient cpu."), "");
});

test("a gang of one Deployment keeps its name", () => {
  const rows = pendingRows({ ...pending, classes: [waiting("tune", 3, "a", { group: "g" }), waiting("tune", 2, "b", { group: "g" })] }, "owner");
  assert.deepEqual(rows.map((row) => `${row.kind} ${row.title} ${row.group} ${row.pods}`), ["Deployment tune g 5"]);
});

test("what a gate holds comes behind what nodes have refused", () => {
  const rows = pendingRows({ ...pending, classes: [waiting("held", 1, "gate", { state: "Gated" }), waiting("late", 1, "Insufficient cpu")] }, "owner");
  assert.deepEqual(rows.map((row) => row.title), ["late", "held"]);
});

test("a pod that would fit waits all the same while its group does", () => {
  const said = { pod: "shop/t-1", state: "Fits", node: "gpu-1" } as Explanation;
  assert.deepEqual(verdictOf(said), { tone: "good", text: "Would fit; the best node is gpu-1" });
  assert.deepEqual(verdictOf({ ...said, page: { namespace: "shop", name: "t-1", group: "training" } }), { tone: "wait", text: "Waits for its group training" });
});

test("the filter takes all words, wherever the row says them", () => {
  const rows = pendingRows(pending, "owner");
  assert.deepEqual(filterRows(rows, "CPU cart").map((row) => row.title), ["cart"]);
  assert.deepEqual(filterRows(rows, "gated").map((row) => row.title), ["job"]);
  assert.equal(filterRows(rows, " ").length, 3);
});

test("the funnel falls from all nodes to those that are left", () => {
  const said: Explanation = {
    pod: "shop/web",
    state: "Refused",
    nodeCount: 6,
    funnel: [
      { plugin: "NodeUnschedulable", reason: "node(s) were unschedulable", refused: 1, wouldRefuse: 1 },
      { plugin: "TaintToleration", reason: "node(s) had untolerated taint(s)", refused: 2, wouldRefuse: 2 },
      { plugin: "NodeResourcesFit", reason: "Insufficient cpu", refused: 3, wouldRefuse: 4 },
    ],
  };
  assert.deepEqual(funnelOf(said).map((step) => [step.before, step.fell, step.after]), [[6, 1, 5], [5, 2, 3], [3, 3, 0]]);
  assert.deepEqual(funnelOf({ pod: "p", state: "Placed" }), []);
});

function scored(name: string, fit: number, spread: number): NodeVerdict {
  const scores = [
    { plugin: "Fit", raw: fit, normalized: fit, weight: 1, weighted: fit },
    { plugin: "Spread", raw: spread, normalized: spread, weight: 2, weighted: 2 * spread },
  ];
  return { name, scores, total: fit + 2 * spread };
}

test("the runner-up lacked the smallest raise of one score", () => {
  const said = runnerUp([scored("b", 60, 70), scored("a", 90, 70), { name: "c", refusals: [{ plugin: "p", reason: "r" }] }]);
  assert.equal(said?.winner, "a");
  assert.equal(said?.rival, "b");
  assert.equal(said?.gap, 30);
  assert.deepEqual(said?.differences, [{ plugin: "Fit", points: 30 }]);
  assert.deepEqual(said?.wouldWin, { plugin: "Spread", from: 70, to: 86, weight: 2 });
});

test("a plugin that gave no node a point is none by which a rival would have won", () => {
  const silent = (node: NodeVerdict): NodeVerdict => ({ ...node, scores: [...(node.scores ?? []), { plugin: "Silent", raw: 0, normalized: 0, weight: 100, weighted: 0 }] });
  const said = runnerUp([silent(scored("b", 60, 70)), silent(scored("a", 90, 70))]);
  assert.notEqual(said?.wouldWin?.plugin, "Silent");
  assert.notEqual(said?.wouldWin, undefined);
});

test("no single score can make a rival win that lacks more than each can give", () => {
  assert.equal(runnerUp([scored("a", 100, 100), scored("b", 0, 0)])?.wouldWin, undefined);
  assert.equal(runnerUp([scored("a", 10, 10)]), undefined);
  const today = runnerUp([scored("a", 10, 10), scored("b", 50, 50)], "a");
  assert.deepEqual([today?.winner, today?.rival, today?.gap, today?.wouldWin], ["a", "b", -120, undefined], "the chosen one is not the best any longer");
});

test("nodes that fit come the best first; plugins the weightiest first", () => {
  const said: Explanation = { pod: "p", state: "Fits", nodes: [scored("a", 1, 1), { name: "r", refusals: [{ plugin: "p", reason: "x" }] }, scored("b", 50, 1)] };
  const { fitting, refusing } = splitNodes(said);
  assert.deepEqual([fitting.map((node) => node.name), refusing.map((node) => node.name)], [["b", "a"], ["r"]]);
  assert.deepEqual(pluginsOfScores(fitting), ["Fit", "Spread"]);
});

function decision(sequence: number, node = "n"): { sequence: number; seed: string; time: string; namespace: string; name: string; node: string } {
  return { sequence, seed: "1", time: "2026-01-01T10:00:00Z", namespace: "shop", name: `web-${sequence}`, node };
}

test("decisions are kept once each, the newest first, and no more than the bound", () => {
  let known = addDecisions(noDecisions, { epoch: 7, last: 2, decisions: [decision(1), decision(2)] }, 4);
  known = addDecisions(known, { epoch: 7, last: 3, decisions: [decision(2), decision(3)] }, 4);
  assert.deepEqual(known.list.map((each) => each.sequence), [3, 2, 1]);
  known = addDecisions(known, { epoch: 7, last: 9, decisions: [decision(8), decision(9)] }, 4);
  assert.deepEqual(known.list.map((each) => each.sequence), [9, 8, 3, 2]);
  assert.equal(known.missed, 4);
  const same = addDecisions(known, { epoch: 7, last: 9, decisions: [decision(9)] }, 4);
  assert.equal(same, known);
});

test("another start of the server begins anew", () => {
  const known = addDecisions(noDecisions, { epoch: 7, last: 9, decisions: [decision(9)] });
  const next = addDecisions(known, { epoch: 8, last: 1, decisions: [decision(1)] });
  assert.deepEqual([next.epoch, next.list.map((each) => each.sequence), next.missed], [8, [1], 0]);
  assert.equal(addDecisions(noDecisions, { epoch: 7, last: 0, decisions: [] }).epoch, 7, "an empty answer is an answer");
});

test("decisions are narrowed by words and by outcome", () => {
  const list = [decision(1), decision(2, ""), decision(12)];
  assert.deepEqual(filterDecisions(list, "", "refused").map((each) => each.sequence), [2]);
  assert.deepEqual(filterDecisions(list, "web-1", "placed").map((each) => each.sequence), [1, 12]);
});

test("samples are bounded and none is taken twice", () => {
  const at = (second: number): { time: string; pending: number } => ({ time: new Date(second * 1000).toISOString(), pending: second });
  let samples = addSample([], at(1), 3);
  for (const second of [2, 2, 1, 3, 4]) samples = addSample(samples, at(second), 3);
  assert.deepEqual(samples.map((sample) => sample.pending), [2, 3, 4]);
});

test("plots have only series with values, and lines are broken where there is none", () => {
  const plots = plotsOf([
    { time: "2026-01-01T10:00:00Z", bound: 4, pending: 2, use: [{ zone: "a", nodes: 1, cpu: 0.5, memory: 0.2, pods: 0.1 }] },
    { time: "2026-01-01T10:00:02Z", pending: 3 },
  ]);
  assert.deepEqual(plots.map((plot) => plot.key), ["rate", "pending", "use-cpu", "use-memory"]);
  assert.deepEqual(plots[0]?.series.map((series) => series.key), ["bound"]);
  assert.equal(linePath([1, NaN, 2, 4], 30, 10, 4), "M0.0 7.5h0M20.0 5.0L30.0 0.0");
  assert.deepEqual(summarize([NaN, 2, 4, NaN]), { last: 4, low: 2, high: 4, mean: 3 });
  assert.deepEqual([0, 0.03, 1, 1.1, 37, 51, 100].map(niceCeiling), [1, 0.05, 1, 2, 50, 100, 100]);
});

test("a question is checked before it is asked", () => {
  const problemOf = (question: Partial<typeof noQuestion>): string => {
    const made = requestOf({ ...noQuestion, ...question });
    return "problem" in made ? made.problem : "";
  };
  assert.match(problemOf({}), /Nothing is asked yet/);
  assert.match(problemOf({ manifests: "x".repeat((5 << 20) + 1) }), /At most 5 MiB/);
  assert.match(problemOf({ addNodes: "2" }), /which node/);
  assert.match(problemOf({ addNodes: "2.5", nodeLike: "a" }), /whole number/);
  assert.match(problemOf({ replicas: "web +3" }), /Deployment shop\/web \+3/);
  assert.match(problemOf({ replicas: "Deployment shop/web +99999" }), /10,000/);
  assert.deepEqual(requestOf({ manifests: "kind: Pod", files: [{ name: "a.yaml", text: "kind: Job" }], namespace: "", replicas: "Deployment shop/web +3\n\nJob a/b 2", addNodes: "2", nodeLike: " a ", removeNodes: "x, y x" }), {
    request: {
      manifests: "kind: Pod\n---\nkind: Job",
      replicas: [{ kind: "Deployment", namespace: "shop", name: "web", add: 3 }, { kind: "Job", namespace: "a", name: "b", add: 2 }],
      addNodes: 2,
      nodeLike: "a",
      removeNodes: ["x", "y"],
    },
  });
  assert.deepEqual(namesIn(" a,b\nc  a"), ["a", "b", "c"]);
});

test("a recording is played to its end, and a pod waits from its first whole second on", () => {
  assert.equal(played(1000, 60_000, 20, 500), 11_000);
  assert.equal(played(59_000, 60_000, 20, 500), 60_000);
  assert.equal(beganToWait(5000, 2000, 60_000), 6000);
  assert.equal(beganToWait(1000, 2000, 60_000), undefined, "it was there before the recording began");
  assert.equal(beganToWait(59_500, 2000, 60_000), 60_000);
});

test("what the process takes and its profiles have plots where they are counted", () => {
  const at = (second: number, more: object): NumberSample => ({ time: new Date(second * 1000).toISOString(), ...more });
  const plots = plotsOf([at(0, { cpu: 0.5, memoryBytes: 1 << 20, profiles: [{ name: "a", scheduled: 4, refused: 1 }] }), at(2, { cpu: 1, memoryBytes: 1 << 20, profiles: [{ name: "a", scheduled: 2, refused: 0 }, { name: "b", scheduled: 1, refused: 0 }] }), at(4, {})]);
  assert.deepEqual(plots.map((plot) => plot.key), ["scheduled", "refused", "cpu", "memory"]);
  assert.deepEqual(plots[0]?.series, [
    { key: "a", name: "a", values: [4, 2, NaN] },
    { key: "b", name: "b", values: [0, 1, NaN] },
  ]);
});

test("another configuration is a question of its own, and is compared with the one that decides", () => {
  const made = requestOf(noQuestion, "kind: KubeSchedulerConfiguration");
  assert.deepEqual(made, { request: { configuration: "kind: KubeSchedulerConfiguration" } });
  assert.equal(asItIs({ configuration: "x" }), undefined, "without changes there is nothing to compare with");
  assert.equal(asItIs({ removeNodes: ["a"] }), undefined);
  assert.deepEqual(asItIs({ configuration: "x", removeNodes: ["a"] }), { removeNodes: ["a"] });
  assert.deepEqual(requestOf(noQuestion, " \n"), requestOf(noQuestion));
  const large = requestOf(noQuestion, "x".repeat((1 << 20) + 1));
  assert.ok("problem" in large && /At most 256 KiB/.test(large.problem));
});

test("where pods go, in few words", () => {
  const node = (name: string, pods: number): { name: string; pods: number } => ({ name, pods });
  assert.equal(nodesText([]), "–");
  assert.equal(nodesText([node("a", 2), node("b", 1)]), "a (2), b (1)");
  assert.equal(nodesText([node("a", 2), node("b", 1), node("c", 1), node("d", 1)]), "4 nodes, at most 2 each");
});

const use = { nodes: 2, nodesInUse: 1, pods: 3, cpuMilli: 1000, cpuMilliAllocatable: 4000, memoryBytes: 1, memoryBytesAllocatable: 4 };
const workload = { kind: "Deployment", namespace: "d", name: "web" };
const simulation: Simulation = {
  pods: [
    { namespace: "d", name: "web-1", workload, origin: "new", node: "a" },
    { namespace: "d", name: "web-2", workload, origin: "new", node: "a" },
    { namespace: "d", name: "web-3", workload, origin: "new", node: null, reason: "0/2 nodes" },
    { namespace: "d", name: "cart-1", workload: { ...workload, name: "cart" }, origin: "evicted", node: "b", previousNode: "a" },
  ],
  pending: 1,
  evictions: [
    { namespace: "d", name: "cart-1", workload, node: "a", preemptor: "d/web-1" },
    { namespace: "d", name: "bare", workload, node: "b", preemptor: "d/web-1" },
  ],
  lost: [{ namespace: "d", name: "agent", node: "c", reason: "a pod of a DaemonSet" }],
  before: use,
  after: { ...use, nodes: 3, pods: 5 },
};

test("pods that wait already are counted by themselves", () => {
  const waits = { namespace: "d", name: "big", workload: { ...workload, kind: "Pod", name: "big" }, origin: "pending", node: null, reason: "0/2 nodes" };
  assert.deepEqual(outcomeOf({ ...simulation, pods: [...simulation.pods, waits, { ...waits, name: "small", node: "a" }] }), { asked: 4, placed: 3, waited: 2, waitedPlaced: 1 });
});

test("ghosts count each pod that comes and goes once", () => {
  const ghosts = ghostsOf(simulation, { removeNodes: ["c"] });
  assert.deepEqual(Object.fromEntries(ghosts), {
    a: { come: 2, go: 1, isRemoved: false },
    b: { come: 1, go: 1, isRemoved: false },
    c: { come: 0, go: 1, isRemoved: true },
  });
  assert.equal(ghostsOf(undefined, undefined).size, 0);
});

test("the answer is folded by workload, and before and after are compared", () => {
  const rows = workloadRows(simulation);
  assert.deepEqual(rows.map((row) => [row.name, row.pods, row.pending]), [["web", 3, 1], ["cart", 1, 0]]);
  assert.deepEqual(rows[0]?.nodes, [{ name: "a", pods: 2 }]);
  assert.deepEqual(rows[0]?.reasons, ["0/2 nodes"]);
  assert.deepEqual(comparison(simulation.before, simulation.after).filter((row) => row.isChanged).map((row) => [row.label, row.before, row.after]), [["Nodes", "2", "3"], ["Pods on nodes", "3", "5"]]);
});
