// SPDX-License-Identifier: Apache-2.0
// Clusters that somebody has a question about, as objects.
import type { KubeObject } from "./berth";

interface Of {
  readonly name: string;
  readonly replicas?: number;
  readonly cpu?: string;
  readonly more?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

export function deployment({ name, replicas = 1, cpu = "500m", more = {}, spec = {} }: Of): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: "main", image: `example.com/${name}`, resources: { requests: { cpu, memory: "1Gi", ...more } } }], ...spec },
      },
    },
  };
}

/** A release that asks for more than any node has left, and beside it pods that wait for a label and behind a gate. */
export const stuckRollout: readonly KubeObject[] = [
  deployment({ name: "checkout", replicas: 5, cpu: "3" }),
  deployment({ name: "search", replicas: 6, cpu: "500m" }),
  deployment({ name: "payments", replicas: 4, cpu: "3500m" }),
  deployment({ name: "reports", replicas: 2, cpu: "100m", spec: { nodeSelector: { disktype: "ssd" } } }),
  deployment({ name: "held", replicas: 1, spec: { schedulingGates: [{ name: "example.com/quota" }] } }),
];

/** A budget that a drain meets. */
export const guarded: readonly KubeObject[] = [
  deployment({ name: "database", replicas: 2, cpu: "2" }),
  { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name: "database" }, spec: { minAvailable: 2, selector: { matchLabels: { app: "database" } } } },
  deployment({ name: "web", replicas: 6, cpu: "500m" }),
];

/** Two workers of a training that needs four find room, so none gets it. */
export const waitingGang: readonly KubeObject[] = [
  { apiVersion: "scheduling.k8s.io/v1beta1", kind: "PodGroup", metadata: { name: "training" }, spec: { schedulingPolicy: { gang: { minCount: 4 } } } },
  ...["0", "1", "2", "3"].map((number) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `training-${number}`, labels: { job: "training" } },
    spec: {
      schedulingGroup: { podGroupName: "training" },
      containers: [{ name: "worker", image: "example.com/worker", resources: { requests: { cpu: "4", "nvidia.com/gpu": "8" }, limits: { "nvidia.com/gpu": "8" } } }],
    },
  })),
];
