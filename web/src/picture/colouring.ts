// SPDX-License-Identifier: Apache-2.0
// By what the nodes of the picture are coloured, and the legend that says so in words, letters and numbers. Pure functions.
import type { Fleet, FleetNode } from "../state/fleet";
import { nodeFlag } from "../state/fleet";
import { formatPrice } from "../state/format";

export type ColourMode = "use" | "health" | "taints" | "spot" | "price" | "answer";

export interface LegendEntry {
  readonly key: string;
  readonly label: string;
  /** Name of the design token of its colour. */
  readonly tone: string;
  /** Written into cells and legend, so that colours need not be told apart; "" where the fill says it. */
  readonly mark: string;
  readonly count: number;
}

export interface Colouring {
  readonly entries: readonly LegendEntry[];
  /** Place in `entries` by node id. */
  readonly of: ReadonlyMap<number, number>;
}

type Answers = ReadonlyMap<string, { readonly reason: string; readonly total: number }>;

interface Class {
  readonly key: string;
  readonly label: string;
  readonly tone: string;
  readonly mark?: string;
}

/** How full a node is of a resource: 0 to 1, or more; NaN where it has none. */
export function useOf(fleet: Fleet, node: FleetNode, resource: string): number {
  const at = fleet.resources.indexOf(resource);
  const whole = node.allocatable[at] ?? 0;
  const used = node.requested[at] ?? 0;
  return whole > 0 ? used / whole : NaN;
}

const useClasses: readonly Class[] = [
  { key: "none", label: "has none", tone: "scale-none" },
  { key: "empty", label: "empty", tone: "scale-0" },
  { key: "25", label: "to 25 %", tone: "scale-1" },
  { key: "50", label: "to 50 %", tone: "scale-2" },
  { key: "75", label: "to 75 %", tone: "scale-3" },
  { key: "90", label: "to 90 %", tone: "scale-4" },
  { key: "100", label: "to 100 %", tone: "scale-5" },
  { key: "over", label: "over 100 %", tone: "scale-over", mark: "!" },
];

function useClass(use: number): number {
  if (Number.isNaN(use)) return 0;
  if (use <= 0) return 1;
  const limits = [0.25, 0.5, 0.75, 0.9, 1.000001];
  const at = limits.findIndex((limit) => use <= limit);
  return at < 0 ? 7 : 2 + at;
}

const healthClasses: readonly Class[] = [
  { key: "ready", label: "ready", tone: "scale-3" },
  { key: "pressure", label: "under pressure", tone: "cat-1", mark: "P" },
  { key: "cordoned", label: "cordoned", tone: "cat-6", mark: "C" },
  { key: "notReady", label: "not ready", tone: "scale-over", mark: "N" },
  { key: "ghost", label: "only named by pods", tone: "cat-4", mark: "?" },
];

function healthClass(flags: number): number {
  if ((flags & nodeFlag.ghost) !== 0) return 4;
  if ((flags & nodeFlag.notReady) !== 0) return 3;
  if ((flags & nodeFlag.cordoned) !== 0) return 2;
  return (flags & nodeFlag.pressure) !== 0 ? 1 : 0;
}

const letters = "ABCDEFGH";
const categoriesMax = 6;

export function colour(fleet: Fleet, mode: ColourMode, resource: string, answers?: Answers): Colouring {
  switch (mode) {
    case "use":
      return classed(fleet, useClasses, (node) => useClass(useOf(fleet, node, resource)));
    case "health":
      return classed(fleet, healthClasses, (node) => healthClass(node.flags));
    case "spot":
      return classed(
        fleet,
        [
          { key: "demand", label: "on demand", tone: "scale-3" },
          { key: "spot", label: "spot", tone: "cat-1", mark: "S" },
        ],
        (node) => ((node.flags & nodeFlag.spot) !== 0 ? 1 : 0),
      );
    case "taints":
      return categories(fleet, (node) => (node.taints === "" ? "" : node.taints), "no taint", "other taints");
    case "price":
      return byPrice(fleet);
    case "answer":
      return byAnswer(fleet, answers ?? new Map());
  }
}

function classed(fleet: Fleet, classes: readonly Class[], classOf: (node: FleetNode) => number): Colouring {
  const counts = classes.map(() => 0);
  const of = new Map<number, number>();
  for (const node of fleet.nodes.values()) {
    const at = classOf(node);
    counts[at] = (counts[at] ?? 0) + 1;
    of.set(node.id, at);
  }
  const entries = classes.map((each, i) => ({ key: each.key, label: each.label, tone: each.tone, mark: each.mark ?? "", count: counts[i] ?? 0 }));
  return { entries, of };
}

/** Each text that nodes have gets a colour and a letter, the frequent first; "" is the plain one. */
function categories(fleet: Fleet, textOf: (node: FleetNode) => string, plain: string, rest: string): Colouring {
  const counts = new Map<string, number>();
  for (const node of fleet.nodes.values()) {
    const text = textOf(node);
    if (text !== "") counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const shown = [...counts.entries()].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, categoriesMax).map(([text]) => text);
  const classes: Class[] = [{ key: "", label: plain, tone: "scale-2" }];
  shown.forEach((text, i) => classes.push({ key: text, label: text, tone: `cat-${(i + 1) % 8}`, mark: letters[i] ?? "" }));
  if (counts.size > shown.length) classes.push({ key: "other", label: rest, tone: "cat-6", mark: "+" });
  const places = new Map(shown.map((text, i) => [text, i + 1]));
  return classed(fleet, classes, (node) => {
    const text = textOf(node);
    return text === "" ? 0 : (places.get(text) ?? shown.length + 1);
  });
}

function byPrice(fleet: Fleet): Colouring {
  const prices = [...new Set([...fleet.nodes.values()].map((node) => node.price).filter((price) => !Number.isNaN(price)))].sort((a, b) => a - b);
  const steps = Math.min(5, prices.length);
  const limits = Array.from({ length: steps }, (_, i) => prices[Math.ceil(((i + 1) * prices.length) / steps) - 1] ?? 0);
  const classes: Class[] = limits.map((limit, i) => ({
    key: String(limit),
    label: prices.length <= 5 ? formatPrice(limit) : `to ${formatPrice(limit)}`,
    tone: `scale-${i + 1}`,
  }));
  classes.push({ key: "unknown", label: "price not known", tone: "scale-none", mark: "?" });
  return classed(fleet, classes, (node) => {
    const at = limits.findIndex((limit) => node.price <= limit);
    return at < 0 ? steps : at;
  });
}

/** What each node answers for the pod in hand: how good it is, or the reason why it is none. */
function byAnswer(fleet: Fleet, answers: Answers): Colouring {
  const totals = [...answers.values()].filter((answer) => answer.reason === "").map((answer) => answer.total);
  const best = Math.max(...totals, 0);
  const counts = new Map<string, number>();
  for (const { reason } of answers.values()) {
    if (reason !== "") counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const shown = [...counts.entries()].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, categoriesMax).map(([reason]) => reason);
  const classes: Class[] = [
    { key: "best", label: "fits, the best score", tone: "state-good", mark: "1" },
    { key: "fits", label: "fits", tone: "state-good-soft" },
    { key: "unasked", label: "not asked", tone: "scale-none" },
    ...shown.map((reason, i) => ({ key: reason, label: reason, tone: `cat-${(i + 1) % 8}`, mark: letters[i] ?? "" })),
    { key: "other", label: "for other reasons", tone: "cat-6", mark: "+" },
  ];
  const coloured = classed(fleet, classes, (node) => {
    const answer = answers.get(node.name);
    if (answer === undefined) return 2;
    if (answer.reason === "") return answer.total === best ? 0 : 1;
    const at = shown.indexOf(answer.reason);
    return at < 0 ? classes.length - 1 : 3 + at;
  });
  return coloured;
}
