// SPDX-License-Identifier: Apache-2.0
// Search over nodes, pods, owners and labels of the fleet. Pure.
import type { FoundPods } from "../api/types";
import type { Fleet, FleetOwner } from "./fleet";
import { nodeFlag, noId, phaseOf } from "./fleet";

export interface Found {
  readonly kind: "node" | "pod" | "workload" | "view";
  readonly key: string;
  readonly title: string;
  readonly detail: string;
  readonly namespace: string;
  readonly name: string;
}

const perKindMax = 8;

interface Ranked {
  readonly rank: number;
  readonly found: Found;
}

/**
 * The best matches of each kind. All words must occur; names that begin with the first word come before others. A word with
 * = is looked for in labels, one that begins with node: in the node's name.
 */
export function search(fleet: Fleet | undefined, text: string): Found[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (fleet === undefined || words.length === 0) return [];
  const first = words[0] ?? "";
  const nodes: Ranked[] = [];
  for (const node of fleet.nodes.values()) {
    const name = node.name.toLowerCase();
    const said = `${name} ${node.zone} ${node.pool} ${node.taints} ${node.labels.map((value, i) => `${fleet.labelKeys[i]}=${value}`).join(" ")}`.toLowerCase();
    if (!words.every((word) => said.includes(word.startsWith("node:") ? word.slice(5) : word))) continue;
    const marks = [node.zone, node.pool, (node.flags & nodeFlag.cordoned) !== 0 ? "cordoned" : "", (node.flags & nodeFlag.notReady) !== 0 ? "not ready" : ""];
    nodes.push({
      rank: rankOf(name, first),
      found: { kind: "node", key: `node/${node.name}`, title: node.name, detail: marks.filter((mark) => mark !== "").join(", "), namespace: "", name: node.name },
    });
  }
  const pods: Ranked[] = [];
  // Of a fleet too large for its pods: all owners, whose pods are counted once.
  const isOwnersAlone = fleet.isAggregated;
  const owners = new Map<string, { ranked: Ranked; pods: number; waiting: number }>();
  for (const { owner, pods: count } of fleet.ownerPods.values()) {
    if (owner.kind !== "Pod" && isOwnerLike(owner, words)) owners.set(owner.key, { ranked: rankedOwner(owner, first), pods: count, waiting: 0 });
  }
  for (const pod of fleet.pods.values()) {
    const owner = pod.owner;
    const known = owners.get(owner.key);
    if (known) {
      if (!isOwnersAlone) known.pods += pod.count;
      if (pod.node === noId) known.waiting += pod.count;
    } else if (owner.kind !== "Pod" && isOwnerLike(owner, words)) {
      owners.set(owner.key, { ranked: rankedOwner(owner, first), pods: pod.count, waiting: pod.node === noId ? pod.count : 0 });
    }
    if (pod.name === "") continue;
    const name = pod.name.toLowerCase();
    const isMatch = words.every((word) => {
      if (word.startsWith("node:")) return (fleet.nodes.get(pod.node)?.name ?? "").toLowerCase().includes(word.slice(5));
      return name.includes(word) || `${pod.namespace}/${name}`.includes(word) || pod.labels.toLowerCase().includes(word);
    });
    if (!isMatch || pods.length > 5000) continue;
    pods.push({
      rank: rankOf(name, first),
      found: {
        kind: "pod",
        key: `pod/${pod.namespace}/${pod.name}`,
        title: pod.name,
        detail: `${pod.namespace}, ${fleet.nodes.get(pod.node)?.name ?? (pod.node === noId ? "waits" : phaseOf(pod))}`,
        namespace: pod.namespace,
        name: pod.name,
      },
    });
  }
  const workloads = [...owners.values()].map(({ ranked, pods: count, waiting }) => ({
    rank: ranked.rank,
    found: {
      ...ranked.found,
      detail: `${ranked.found.key.split("/")[0]}, ${ranked.found.namespace}, ${count} pods${waiting > 0 ? `, ${waiting} waiting` : ""}`,
    },
  }));
  return [workloads, nodes, pods].flatMap(best);
}

/** What the server has found of pods that are not all here. */
export function foundPods(said: FoundPods | undefined): Found[] {
  return (said?.pods ?? []).map((pod) => ({
    kind: "pod",
    key: `pod/${pod.namespace}/${pod.name}`,
    title: pod.name,
    detail: `${pod.namespace}, ${pod.node || (pod.phase === "Pending" ? "waits" : pod.phase)}`,
    namespace: pod.namespace,
    name: pod.name,
  }));
}

function isOwnerLike(owner: FleetOwner, words: readonly string[]): boolean {
  const said = `${owner.kind}/${owner.namespace}/${owner.name} ${owner.namespace}/${owner.name}`.toLowerCase();
  return words.every((word) => said.includes(word));
}

function rankedOwner(owner: FleetOwner, first: string): Ranked {
  return {
    rank: rankOf(owner.name.toLowerCase(), first),
    found: { kind: "workload", key: owner.key, title: owner.name, detail: "", namespace: owner.namespace, name: owner.name },
  };
}

function rankOf(name: string, word: string): number {
  if (name === word) return 0;
  return name.startsWith(word) ? 1 : name.includes(word) ? 2 : 3;
}

function best(list: Ranked[]): Found[] {
  return list
    .sort((a, b) => a.rank - b.rank || (a.found.title < b.found.title ? -1 : 1))
    .slice(0, perKindMax)
    .map((each) => each.found);
}
