// SPDX-License-Identifier: Apache-2.0
// The last decisions, bounded: old ones are forgotten as new ones come.
import type { Decision, DecisionList } from "../api/types";

/** Decisions that the page keeps. */
export const decisionsMax = 2000;

export interface Decisions {
  /** 0 until the server has been heard. */
  readonly epoch: number;
  /** The newest first. */
  readonly list: readonly Decision[];
  /** Decisions that were never seen, because the server had dropped them. */
  readonly missed: number;
}

export const noDecisions: Decisions = { epoch: 0, list: [], missed: 0 };

/** With what the server says now; what is known already is not taken twice, and another epoch begins anew. */
export function addDecisions(known: Decisions, said: DecisionList, max = decisionsMax): Decisions {
  const isSame = known.epoch === said.epoch && known.epoch !== 0;
  const newest = isSame ? (known.list[0]?.sequence ?? 0) : 0;
  const fresh = said.decisions.filter((decision) => decision.sequence > newest).sort((a, b) => b.sequence - a.sequence);
  if (isSame && fresh.length === 0) return known;
  const oldest = fresh[fresh.length - 1];
  const gap = isSame && newest > 0 && oldest !== undefined ? Math.max(0, oldest.sequence - newest - 1) : 0;
  const list = isSame ? [...fresh, ...known.list] : fresh;
  return { epoch: said.epoch, list: list.slice(0, max), missed: (isSame ? known.missed : 0) + gap };
}

export function decisionKey(decision: Decision): string {
  return String(decision.sequence);
}

export type Outcome = "all" | "placed" | "refused";

export function filterDecisions(list: readonly Decision[], text: string, outcome: Outcome): readonly Decision[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0 && outcome === "all") return list;
  return list.filter((each) => {
    if (outcome === "placed" && each.node === "") return false;
    if (outcome === "refused" && each.node !== "") return false;
    if (words.length === 0) return true;
    const said = `${each.namespace}/${each.name} ${each.node} ${each.message ?? ""} ${each.why ?? ""}`.toLowerCase();
    return words.every((word) => said.includes(word));
  });
}
