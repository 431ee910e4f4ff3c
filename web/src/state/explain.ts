// SPDX-License-Identifier: Apache-2.0
// Why a pod is where it is, or nowhere: the funnel of filters, the nodes by reason, and what a rival lacked.
import type { Explanation, NodeVerdict, Score } from "../api/types";

export interface FunnelStep {
  readonly plugin: string;
  readonly reason: string;
  /** Nodes that fell here first, and all that this would refuse. */
  readonly fell: number;
  readonly wouldRefuse: number;
  /** Nodes left before and after. */
  readonly before: number;
  readonly after: number;
}

/** The filters in the order of the answer, each with the nodes that it left. The answer's steps sum up to what was refused. */
export function funnelOf(said: Explanation): FunnelStep[] {
  let left = said.nodeCount ?? 0;
  return (said.funnel ?? []).map((step) => {
    const before = left;
    left = Math.max(0, left - step.refused);
    return { plugin: step.plugin, reason: step.reason, fell: step.refused, wouldRefuse: step.wouldRefuse, before, after: left };
  });
}

/** The whole of what the answer says in one short sentence. */
export function verdictOf(said: Explanation): { readonly tone: "good" | "wait" | "bad"; readonly text: string } {
  switch (said.state) {
    case "Placed":
      return { tone: "good", text: said.node ? `Placed on ${said.node}` : "Placed" };
    case "Fits":
      // A node would take it, but the pods of a group get their nodes together or not at all.
      if (said.page?.group) return { tone: "wait", text: `Waits for its group ${said.page.group}` };
      return { tone: "good", text: said.node ? `Would fit; the best node is ${said.node}` : "Would fit" };
    case "Gated":
      return { tone: "wait", text: "Held by a scheduling gate" };
    case "Waits":
      return { tone: "wait", text: "Waits for something else than a node" };
    case "Ended":
      return { tone: "good", text: "Has ended" };
    case "Refused":
      return { tone: "bad", text: "Refused by every node" };
    default:
      return { tone: "bad", text: said.state };
  }
}

/** Nodes that fit, the best first, and the nodes that do not. */
export function splitNodes(said: Explanation): { fitting: NodeVerdict[]; refusing: NodeVerdict[] } {
  const nodes = said.nodes ?? [];
  const fits = (node: NodeVerdict): boolean => (node.refusals?.length ?? 0) === 0;
  return {
    fitting: nodes.filter(fits).sort((a, b) => (b.total ?? 0) - (a.total ?? 0)),
    refusing: nodes.filter((node) => !fits(node)),
  };
}

export interface RunnerUp {
  readonly winner: string;
  readonly rival: string;
  readonly gap: number;
  /** What separated them, the largest difference first: positive where the winner was ahead. */
  readonly differences: readonly { readonly plugin: string; readonly points: number }[];
  /** The smallest change of one score that would have made the rival win; undefined if no single one can. */
  readonly wouldWin?: { readonly plugin: string; readonly from: number; readonly to: number; readonly weight: number };
}

const scoreMax = 100;

/** Why the best of the scored nodes won over the second. */
export function runnerUp(nodes: readonly NodeVerdict[], chosen?: string): RunnerUp | undefined {
  const scored = nodes.filter((node) => (node.scores?.length ?? 0) > 0).sort((a, b) => (b.total ?? 0) - (a.total ?? 0));
  const winner = scored.find((node) => node.name === chosen) ?? scored[0];
  const rival = scored.find((node) => node !== winner);
  if (winner === undefined || rival === undefined) return undefined;
  const gap = (winner.total ?? 0) - (rival.total ?? 0);
  const of = (node: NodeVerdict, plugin: string): Score | undefined => node.scores?.find((score) => score.plugin === plugin);
  const differences = (winner.scores ?? [])
    .map((score) => ({ plugin: score.plugin, points: score.weighted - (of(rival, score.plugin)?.weighted ?? 0) }))
    .filter((each) => each.points !== 0)
    .sort((a, b) => Math.abs(b.points) - Math.abs(a.points) || (a.plugin < b.plugin ? -1 : 1));
  let wouldWin: RunnerUp["wouldWin"];
  // A plugin that gave no node a point had nothing to say of this pod.
  const speaking = new Set(scored.flatMap((node) => (node.scores ?? []).filter((score) => score.weighted > 0).map((score) => score.plugin)));
  for (const score of rival.scores ?? []) {
    if (score.weight <= 0 || gap < 0 || !speaking.has(score.plugin)) continue;
    const raise = Math.floor(gap / score.weight) + 1;
    const to = score.normalized + raise;
    if (to > scoreMax) continue;
    if (wouldWin === undefined || raise < wouldWin.to - wouldWin.from) {
      wouldWin = { plugin: score.plugin, from: score.normalized, to, weight: score.weight };
    }
  }
  return { winner: winner.name, rival: rival.name, gap, differences, ...(wouldWin ? { wouldWin } : {}) };
}

/** Plugins in the order of the most points that any node has of them, so that each has its own place in all bars. */
export function pluginsOfScores(nodes: readonly NodeVerdict[]): string[] {
  const most = new Map<string, number>();
  for (const node of nodes) {
    for (const score of node.scores ?? []) most.set(score.plugin, Math.max(most.get(score.plugin) ?? 0, score.weighted));
  }
  return [...most.entries()].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([plugin]) => plugin);
}

/** The reason that a node gives first, by node name; nodes that fit have "". */
export function answersByNode(said: Explanation): Map<string, { readonly reason: string; readonly total: number }> {
  const answers = new Map<string, { reason: string; total: number }>();
  for (const node of said.nodes ?? []) {
    answers.set(node.name, { reason: node.refusals?.[0]?.reason ?? "", total: node.total ?? 0 });
  }
  return answers;
}

const kindTexts: Readonly<Record<string, string>> = {
  request: "Request less",
  toleration: "Tolerate a taint",
  selector: "Ask less of nodes",
  node: "Change a node",
  podLess: "Without another pod",
  newNode: "Add a node",
  together: "Several at once",
};

export function changeKindText(kind: string): string {
  return kindTexts[kind] ?? kind;
}
