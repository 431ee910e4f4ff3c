// SPDX-License-Identifier: Apache-2.0
// The pods that have no node, by workload: what lies outside of the picture's rows. Pure.
import type { Fleet, FleetOwner } from "./fleet";
import { isWaiting } from "./fleet";

export interface WaitingOwners {
  readonly pods: number;
  /** Those with most pods first. */
  readonly owners: readonly { readonly owner: FleetOwner; readonly pods: number }[];
  /** Pods of owners beyond the bound, and how many owners these are. */
  readonly rest: { readonly owners: number; readonly pods: number };
}

export function waitingOwners(fleet: Fleet, ownersMax = 24): WaitingOwners {
  const counts = new Map<string, { owner: FleetOwner; pods: number }>();
  let pods = 0;
  for (const pod of fleet.pods.values()) {
    if (!isWaiting(pod)) continue;
    pods += pod.count;
    const known = counts.get(pod.owner.key);
    if (known) known.pods += pod.count;
    else counts.set(pod.owner.key, { owner: pod.owner, pods: pod.count });
  }
  const sorted = [...counts.values()].sort((a, b) => b.pods - a.pods || (a.owner.key < b.owner.key ? -1 : 1));
  const others = sorted.slice(ownersMax);
  return {
    pods,
    owners: sorted.slice(0, ownersMax),
    rest: { owners: others.length, pods: others.reduce((sum, each) => sum + each.pods, 0) },
  };
}
