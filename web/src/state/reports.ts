// SPDX-License-Identifier: Apache-2.0
// Plans of `berth rebalance plan` and reports of `berth shadow`, as `-o json` writes them, and what the page shows of them. Pure.
import type { PlannedMove, RebalancePlan, ShadowDifference, ShadowReport } from "../api/types";
import type { Fleet } from "./fleet";
import { formatCount, plural } from "./format";

/** Longest text that is read. */
export const reportBytesMax = 64 << 20;

export type Report = { readonly kind: "plan"; readonly plan: RebalancePlan } | { readonly kind: "shadow"; readonly report: ShadowReport } | { readonly kind: "wrong"; readonly problem: string };

/** What a text is; of one that is neither, what is wrong with it. */
export function readReport(text: string): Report {
  const wrong = (problem: string): Report => ({ kind: "wrong", problem });
  if (text.length > reportBytesMax) return wrong("This file has more than 64 MiB, which no plan or report has.");
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return wrong("This is no JSON. berth rebalance plan -o json writes a plan, berth shadow -o json a report.");
  }
  if (typeof said !== "object" || said === null) return wrong("This is neither a plan nor a report, which are JSON objects.");
  const of = said as Record<string, unknown>;
  if (of.kind === "RebalancePlan") {
    if (!Array.isArray(of.moves) || !Array.isArray(of.staying)) return wrong("This plan has no moves: it has been cut, or another version of berth has written it.");
    return { kind: "plan", plan: said as RebalancePlan };
  }
  if (typeof of.matches === "object" && of.matches !== null) {
    if (!Array.isArray(of.differences) || typeof of.decisions !== "number") return wrong("This report has no differences: it has been cut, or another version of berth has written it.");
    return { kind: "shadow", report: said as ShadowReport };
  }
  return wrong("This JSON is neither a plan of berth rebalance plan nor a report of berth shadow.");
}

export function moveKey(move: PlannedMove): string {
  return `${move.namespace}/${move.name}`;
}

/** What a plan says, in one sentence. */
export function planSentence(plan: RebalancePlan): string {
  const by = new Map<string, number>();
  for (const move of plan.moves) by.set(move.strategy, (by.get(move.strategy) ?? 0) + 1);
  const strategies = [...by].map(([strategy, count]) => `${formatCount(count)} for ${strategy}`).join(", ");
  const parts = [`${plural(plan.moves.length, "pod")} of ${formatCount(plan.pods)} would move${strategies === "" ? "" : `: ${strategies}`}`];
  if (plan.emptied.length > 0) parts.push(`${plural(plan.emptied.length, "node")} would be emptied`);
  if (plan.staying.length > 0) parts.push(`${formatCount(plan.staying.length)} more ${plan.staying.length === 1 ? "is objected to and stays" : "are objected to and stay"}`);
  if (!plan.complete) parts.push("the plan is not complete: plan again after these moves");
  return `${parts.join("; ")}.`;
}

/** Moves between the same two nodes are one arrow. Those of pods that are only removed have none. */
export interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly moves: number;
}

export function arrowsOf(plan: RebalancePlan | undefined): Arrow[] {
  const arrows = new Map<string, Arrow>();
  for (const { from, to } of plan?.moves ?? []) {
    if (to === "") continue;
    const key = `${from} ${to}`;
    arrows.set(key, { from, to, moves: (arrows.get(key)?.moves ?? 0) + 1 });
  }
  return [...arrows.values()];
}

export interface UseChange {
  readonly resource: string;
  readonly before: number;
  readonly after: number;
}

/** How full the nodes of a plan are, before its moves and after all of them; only where the requests of its pods are known. */
export function usesAfter(fleet: Fleet | undefined, plan: RebalancePlan): Map<string, UseChange[]> {
  const uses = new Map<string, UseChange[]>();
  if (fleet === undefined) return uses;
  const wanted = new Map(plan.moves.map((move) => [moveKey(move), move] as const));
  const change = new Map<string, number[]>();
  const add = (node: string, requests: ArrayLike<number>, sign: 1 | -1): void => {
    const sum = change.get(node) ?? fleet.podResources.map(() => 0);
    change.set(node, sum.map((value, i) => value + sign * (requests[i] ?? 0)));
  };
  for (const pods of fleet.podsOf.values()) {
    for (const pod of pods) {
      const move = wanted.get(`${pod.namespace}/${pod.name}`);
      if (move === undefined) continue;
      add(move.from, pod.requests, -1);
      if (move.to !== "") add(move.to, pod.requests, 1);
    }
  }
  for (const node of fleet.nodes.values()) {
    const by = change.get(node.name);
    if (by === undefined) continue;
    uses.set(
      node.name,
      fleet.podResources.flatMap((resource, i) => {
        const whole = node.allocatable[i] ?? 0;
        const before = node.requested[i] ?? 0;
        return whole > 0 && (i < 2 || by[i] !== 0) ? [{ resource, before: before / whole, after: (before + (by[i] ?? 0)) / whole }] : [];
      }),
    );
  }
  return uses;
}

const matchTexts: Readonly<Record<string, string>> = {
  sameNode: "the same node",
  equallyGoodNode: "another node, equally good",
  sameRefusal: "refused by both, for the same reasons",
  otherReasons: "refused by both, for other reasons",
  otherPreemption: "refused by both, preemption elsewhere",
  worseNode: "another node, with fewer points",
  unfitNode: "another node, which berth refuses",
  refusedHere: "placed, but refused by berth",
  placedHere: "refused, but placed by berth",
  failedHere: "a plugin of berth's failed",
};

const agreeing: ReadonlySet<string> = new Set(["sameNode", "equallyGoodNode", "sameRefusal"]);

export function matchText(match: string): string {
  return matchTexts[match] ?? match;
}

export interface OutcomeRow {
  readonly match: string;
  readonly text: string;
  readonly count: number;
  readonly byOrder: number;
  readonly agrees: boolean;
}

export function outcomeRows(report: ShadowReport): OutcomeRow[] {
  return Object.entries(report.matches)
    .map(([match, { count, explainedByOrder }]) => ({ match, text: matchText(match), count, byOrder: explainedByOrder, agrees: agreeing.has(match) }))
    .filter((row) => row.count > 0);
}

/** "99.98 %": never 100 where something differs. */
export function agreementText(report: ShadowReport): string {
  if (report.decisions === 0) return "–";
  const hundredths = Math.round((10_000 * report.agreements) / report.decisions);
  return `${((report.agreements < report.decisions ? Math.min(hundredths, 9_999) : hundredths) / 100).toFixed(2)} %`;
}

/** Why the two differ, in one line. */
export function differenceText(each: ShadowDifference): string {
  if (each.match === "worseNode") {
    return [...(each.plugins ?? [])]
      .sort((a, b) => Math.abs(b.ours - b.theirs) - Math.abs(a.ours - a.theirs))
      .slice(0, 3)
      .map((plugin) => `${plugin.plugin} ${plugin.theirs} against ${plugin.ours}`)
      .join(", ");
  }
  return each.ours.message ?? each.theirs.message ?? "";
}

const leftOutTexts: Readonly<Record<string, string>> = {
  hadNode: "had a node when seen first",
  otherScheduler: "placed by another scheduler",
  deleted: "deleted before a decision",
  ownClaims: "volumes or claims were bound for it before it was",
  failed: "attempts that ended with an error of the scheduler",
  late: "berth was too far behind",
  gated: "held back by a scheduling gate at the end",
  undecided: "not decided yet at the end",
};

export interface LeftOutRow {
  readonly key: string;
  readonly text: string;
  readonly pods: number;
}

/** The pods that were not compared, by why. */
export function leftOutRows(report: ShadowReport): LeftOutRow[] {
  return Object.entries(report.leftOut ?? {})
    .filter(([, pods]) => pods > 0)
    .map(([key, pods]) => ({ key, text: leftOutTexts[key] ?? key, pods }));
}
