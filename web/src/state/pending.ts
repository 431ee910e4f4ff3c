// SPDX-License-Identifier: Apache-2.0
// What waits: the state of the first view, as a pure function of the server's answer.
import type { Owner, Pending, PendingClass, QueuePlaces } from "../api/types";
import { formatCount, plural } from "./format";

export type Folding = "owner" | "reason";

/** A line of the view: the pods of one owner that wait for the same, or all that wait for one reason. */
export interface PendingRow {
  readonly key: string;
  readonly title: string;
  readonly kind: string;
  readonly namespace: string;
  readonly pods: number;
  readonly owners: number;
  readonly oldestMs: number;
  /** NaN: not known. */
  readonly attempts: number;
  readonly queue: readonly { readonly place: string; readonly pods: number }[];
  readonly reasons: readonly { readonly text: string; readonly plugin: string; readonly nodes: number }[];
  /** Nodes that were looked at; NaN: not known. */
  readonly nodes: number;
  readonly state: string;
  readonly message: string;
  readonly waitsFor: readonly string[];
  readonly backoffUntilMs: number;
  readonly sample: { readonly namespace: string; readonly name: string };
  readonly scheduler: string;
  readonly group: string;
}

const placeNames: readonly (readonly [keyof QueuePlaces, string])[] = [
  ["active", "active"],
  ["inFlight", "in flight"],
  ["permit", "at Permit"],
  ["backoff", "backing off"],
  ["unschedulable", "unschedulable"],
  ["gated", "gated"],
];

/** The places of the queue that hold pods, in the order in which pods pass them. */
export function placesOf(queue: QueuePlaces | undefined): { place: string; pods: number }[] {
  if (queue === undefined) return [];
  return placeNames.map(([key, place]) => ({ place, pods: queue[key] ?? 0 })).filter((each) => each.pods > 0);
}

const stateTexts: Readonly<Record<string, string>> = {
  Refused: "refused by every node",
  Gated: "held by a scheduling gate",
  Waits: "waits for something else than a node",
  Fits: "would fit: not tried yet",
  Failed: "an attempt failed",
  Undecided: "not tried yet",
};

export function stateText(state: string): string {
  return stateTexts[state] ?? state;
}

/** The reason by which a class is counted: the first, which refused most nodes; else the state. */
export function leadingReason(each: PendingClass): string {
  return each.reasons?.[0]?.text || stateText(each.state);
}

/** Rows in the order of the server, but that those held by a gate, about which no node has been asked, come last. */
export function pendingRows(pending: Pending, folding: Folding): PendingRow[] {
  if (folding === "reason") return rowsByReason(pending.classes);
  const rows = groupsTogether(pending.classes).map(rowOfClasses);
  return [...rows.filter((row) => row.state !== "Gated"), ...rows.filter((row) => row.state === "Gated")];
}

/** Pods of one group get their nodes together, so that they are one line whatever each was told. Every other class is by itself. */
function groupsTogether(classes: readonly PendingClass[]): PendingClass[][] {
  const lists = new Map<string, PendingClass[]>();
  for (const each of classes) {
    const key = each.group ? `group/${each.owner.namespace}/${each.group}` : each.id;
    const list = lists.get(key);
    if (list) list.push(each);
    else lists.set(key, [each]);
  }
  return [...lists.values()];
}

/** A line of the classes of one group: named by the member of which nodes said something, whose reasons are why the others wait. */
function rowOfClasses(classes: readonly PendingClass[]): PendingRow {
  const telling = classes.find((each) => (each.reasons?.length ?? 0) > 0) ?? classes[0];
  if (telling === undefined) throw new Error("a line without pods");
  const row = rowOfClass(telling);
  if (!telling.group) return row;
  const all = classes.map(rowOfClass);
  const isOfOne = new Set(classes.map((each) => ownerKey(each.owner))).size === 1;
  return {
    ...row,
    key: `group:${row.namespace}/${row.group}`,
    title: isOfOne ? row.title : row.group,
    kind: isOfOne ? row.kind : "PodGroup",
    pods: all.reduce((total, each) => total + each.pods, 0),
    oldestMs: Math.min(...all.map((each) => each.oldestMs)),
    attempts: all.map((each) => each.attempts).reduce(largest, NaN),
    queue: all.map((each) => each.queue).reduce(sum, []),
    waitsFor: [...new Set(all.flatMap((each) => each.waitsFor))],
    backoffUntilMs: all.map((each) => each.backoffUntilMs).reduce(largest, NaN),
    message: all.map((each) => each.message).find((message) => message.includes(placementMark)) ?? row.message,
  };
}

const placementMark = "first placement status: ";

/** What a group was told, without the words around it that are the same for every group; "" for a message of another kind. */
export function groupMessage(message: string): string {
  const at = message.indexOf(placementMark);
  if (at < 0) return "";
  return message.slice(at + placementMark.length).replace(/, pod group preemption: .*$/, "");
}

function rowOfClass(each: PendingClass): PendingRow {
  return {
    key: each.id,
    title: each.owner.name,
    kind: each.owner.kind,
    namespace: each.owner.namespace,
    pods: each.count,
    owners: 1,
    oldestMs: Date.parse(each.oldest),
    attempts: each.attempts ?? NaN,
    queue: placesOf(each.queue),
    reasons: each.reasons ?? [],
    nodes: each.nodes ?? NaN,
    state: each.state,
    message: each.message ?? "",
    waitsFor: each.waitsFor ?? [],
    backoffUntilMs: each.backoffUntil === undefined ? NaN : Date.parse(each.backoffUntil),
    sample: each.sample,
    scheduler: each.scheduler ?? "",
    group: each.group ?? "",
  };
}

function rowsByReason(classes: readonly PendingClass[]): PendingRow[] {
  const rows = new Map<string, PendingRow>();
  const owners = new Map<string, Set<string>>();
  for (const each of classes) {
    const title = leadingReason(each);
    const key = `reason:${title}`;
    const row = rowOfClass(each);
    const known = rows.get(key);
    const names = owners.get(key) ?? new Set();
    names.add(ownerKey(each.owner));
    owners.set(key, names);
    if (known === undefined) {
      rows.set(key, { ...row, key, title, kind: each.reasons?.[0]?.plugin ?? "", namespace: "", reasons: [] });
      continue;
    }
    const isOlder = !(known.oldestMs <= row.oldestMs);
    rows.set(key, {
      ...known,
      pods: known.pods + row.pods,
      oldestMs: isOlder ? row.oldestMs : known.oldestMs,
      sample: isOlder ? row.sample : known.sample,
      attempts: largest(known.attempts, row.attempts),
      queue: sum(known.queue, row.queue),
      waitsFor: [...new Set([...known.waitsFor, ...row.waitsFor])],
      backoffUntilMs: largest(known.backoffUntilMs, row.backoffUntilMs),
    });
  }
  return [...rows.values()]
    .map((row) => ({ ...row, owners: owners.get(row.key)?.size ?? 1 }))
    .sort((a, b) => b.pods - a.pods || (a.title < b.title ? -1 : 1));
}

function ownerKey(owner: Owner): string {
  return `${owner.kind}/${owner.namespace}/${owner.name}`;
}

function largest(a: number, b: number): number {
  if (Number.isNaN(a)) return b;
  return Number.isNaN(b) ? a : Math.max(a, b);
}

function sum(a: PendingRow["queue"], b: PendingRow["queue"]): PendingRow["queue"] {
  const pods = new Map<string, number>();
  for (const each of [...a, ...b]) pods.set(each.place, (pods.get(each.place) ?? 0) + each.pods);
  return placeNames.filter(([, place]) => pods.has(place)).map(([, place]) => ({ place, pods: pods.get(place) ?? 0 }));
}

/** Rows of which all words occur in what the row says. */
export function filterRows(rows: readonly PendingRow[], text: string): readonly PendingRow[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const said = [row.title, row.kind, row.namespace, row.state, row.message, row.group, row.scheduler, row.sample.name]
      .concat(row.reasons.map((reason) => `${reason.plugin} ${reason.text}`))
      .concat(row.queue.map((each) => each.place))
      .join(" ")
      .toLowerCase();
    return words.every((word) => said.includes(word));
  });
}

/** What the scheduler has told a group that waits, in short; "" where nothing is known of it. */
export function groupToldIn(pending: Pending | undefined, namespace: string, group: string): string {
  const told = (pending?.classes ?? []).filter((each) => each.group === group && each.owner.namespace === namespace).map((each) => groupMessage(each.message ?? ""));
  return told.find((text) => text !== "") ?? "";
}

export interface PendingSummary {
  /** "412 pods of 3 workloads wait", in whole. */
  readonly sentence: string;
  /** The reasons that hold most pods, first the one that holds most, with their share of all pods that wait. */
  readonly reasons: readonly { readonly text: string; readonly plugin: string; readonly pods: number; readonly share: number }[];
}

export function summaryOf(pending: Pending, reasonsMax = 6): PendingSummary {
  const owners = new Set(pending.classes.map((each) => (each.group && each.owner.kind === "Pod" ? `group/${each.owner.namespace}/${each.group}` : ownerKey(each.owner)))).size;
  const sentence =
    pending.pods === 0
      ? "No pod waits for a node."
      : `${plural(pending.pods, "pod")} of ${plural(owners, "workload")} ${pending.pods === 1 ? "waits" : "wait"} for a node.`;
  const named = pending.summary.map((each) => ({
    text: each.text || "for another reason",
    plugin: each.plugin,
    pods: each.pods,
    share: pending.pods > 0 ? each.pods / pending.pods : 0,
  }));
  if (named.length <= reasonsMax) return { sentence, reasons: named };
  const shown = named.slice(0, reasonsMax - 1);
  const rest = named.slice(reasonsMax - 1);
  const pods = rest.reduce((total, each) => total + each.pods, 0);
  shown.push({
    text: `${formatCount(rest.length)} other reasons`,
    plugin: "",
    pods,
    share: pending.pods > 0 ? pods / pending.pods : 0,
  });
  return { sentence, reasons: shown };
}
