// SPDX-License-Identifier: Apache-2.0
// A plan and a report as berth writes them, for tests and the mock server.
import type { PlannedMove, RebalancePlan, ShadowReport } from "../src/api/types";

function move(name: string, more: Partial<PlannedMove> = {}): PlannedMove {
  return {
    namespace: "shop",
    name,
    owner: "ReplicaSet web",
    from: "n-1",
    to: "n-2",
    strategy: "RemoveDuplicates",
    reason: "two pods of web are on n-1",
    gain: "1 violation fewer",
    cost: "",
    chain: 0,
    makesRoomFor: "",
    changes: [{ strategy: "RemoveDuplicates", change: -1, text: "" }],
    ...more,
  };
}

/** `pods`: two that are on `from`. */
export function planOf(from = "n-1", to = "n-2", pods: readonly { namespace: string; name: string }[] = []): RebalancePlan {
  const [first, second] = [pods[0] ?? { namespace: "shop", name: "web-a" }, pods[1] ?? { namespace: "shop", name: "web-b" }];
  return {
    ...{ kind: "RebalancePlan" },
    pods: 40,
    pending: 0,
    complete: true,
    moves: [
      move(first.name, { namespace: first.namespace, from, to }),
      move(second.name, { namespace: second.namespace, from, to, strategy: "LowNodeUtilization", gain: `${from} 90 % to 70 %`, cost: "RemoveDuplicates: 1 violation more", changes: [{ strategy: "LowNodeUtilization", change: -20, text: `${from} 90 % to 70 %` }, { strategy: "RemoveDuplicates", change: 1, text: "" }] }),
      move("job-x", { from, to: "", gain: "a finished pod is gone" }),
    ],
    staying: [{ namespace: "shop", name: "db-0", node: from, strategy: "RemoveDuplicates", reason: "two pods of db", why: "its disruption budget allows no eviction" }],
    emptied: [],
  };
}

export function shadowOf(theirs = "n-1", ours = "n-2"): ShadowReport {
  return {
    source: "https://made-up.example.com",
    schedulers: ["default-scheduler"],
    configuration: "",
    unknown: [],
    beganAt: "2026-03-01T10:00:00Z",
    endedAt: "2026-03-01T11:00:00Z",
    nodes: 3,
    podsOnNodes: 6,
    decisions: 4,
    agreements: 2,
    unexplained: 1,
    matches: {
      sameNode: { count: 2, explainedByOrder: 0 },
      equallyGoodNode: { count: 0, explainedByOrder: 0 },
      worseNode: { count: 1, explainedByOrder: 1 },
      placedHere: { count: 1, explainedByOrder: 0 },
    },
    leftOut: {},
    cost: { meanMs: 0.08, p50Ms: 0.08, p99Ms: 0.14, maxMs: 0.2 },
    differences: [
      {
        pod: "default/late-1",
        scheduler: "default-scheduler",
        seenAt: "2026-03-01T10:30:00Z",
        match: "worseNode",
        explainedByOrder: true,
        theirs: { node: theirs },
        ours: { node: ours },
        points: 23,
        plugins: [
          { plugin: "ImageLocality", ours: 0, theirs: 5 },
          { plugin: "NodeResourcesFit", ours: 77, theirs: 49 },
        ],
      },
      { pod: "default/lazy", scheduler: "default-scheduler", seenAt: "2026-03-01T10:20:00Z", match: "placedHere", explainedByOrder: false, theirs: { message: "0/3 nodes are available: 3 Insufficient cpu." }, ours: { node: ours } },
    ],
  };
}
