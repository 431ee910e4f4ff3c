// SPDX-License-Identifier: Apache-2.0
// What the server says, as docs/reference/page-api.yaml describes it. Fields that the page does not read are left out.

export interface Status {
  readonly version: string;
  readonly kubernetes?: string;
  readonly source?: string;
  readonly mode: "live" | "snapshot" | "recording";
  readonly scheduler: "berth" | "other";
  readonly schedulerNames?: readonly string[];
  readonly clock: string;
  readonly asOf?: string;
  readonly connected?: boolean;
  readonly problem?: string;
  readonly features: readonly string[];
  /** Why this berth decides nothing now; absent: it does. */
  readonly notDeciding?: string;
  readonly leftOut?: readonly string[];
  readonly nodes: number;
  readonly pods: number;
  readonly pending: number;
  readonly epoch: number;
  readonly revision: number;
}

export interface Owner {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface Reason {
  readonly plugin: string;
  readonly text: string;
  readonly nodes: number;
}

export interface QueuePlaces {
  readonly active?: number;
  readonly backoff?: number;
  readonly unschedulable?: number;
  readonly gated?: number;
  readonly inFlight?: number;
  readonly permit?: number;
}

export type PendingState = "Refused" | "Gated" | "Waits" | "Fits" | "Failed" | "Undecided";

export interface PendingClass {
  readonly id: string;
  readonly owner: Owner;
  readonly count: number;
  readonly oldest: string;
  readonly sample: { readonly namespace: string; readonly name: string };
  readonly scheduler?: string;
  readonly group?: string;
  readonly state: PendingState;
  readonly message?: string;
  readonly reasons?: readonly Reason[];
  readonly nodes?: number;
  readonly attempts?: number;
  readonly queue?: QueuePlaces;
  readonly backoffUntil?: string;
  readonly waitsFor?: readonly string[];
}

export interface Pending {
  readonly revision: number;
  readonly asOf?: string;
  readonly by?: "scheduler" | "evaluation";
  readonly pods: number;
  readonly notLookedAt?: number;
  readonly summary: readonly { readonly plugin: string; readonly text: string; readonly pods: number; readonly owners: number }[];
  readonly classes: readonly PendingClass[];
}

export interface Score {
  readonly plugin: string;
  readonly raw: number;
  readonly normalized: number;
  readonly weight: number;
  readonly weighted: number;
}

export interface NodeVerdict {
  readonly name: string;
  readonly refusals?: readonly { readonly plugin: string; readonly reason: string; readonly resolvable?: boolean }[];
  readonly total?: number;
  readonly scores?: readonly Score[];
}

export interface Explanation {
  readonly pod: string;
  readonly state: string;
  readonly schedulerName?: string;
  /** No profile is for the pod's scheduler: the one that answered. */
  readonly askedProfile?: string;
  readonly node?: string;
  readonly message?: string;
  readonly condition?: string;
  readonly nodeCount?: number;
  readonly feasibleCount?: number;
  readonly bestCount?: number;
  readonly rank?: number;
  readonly blockingObjects?: readonly string[];
  readonly funnel?: readonly { readonly plugin: string; readonly reason: string; readonly refused: number; readonly wouldRefuse: number }[];
  readonly changes?: readonly { readonly kind: string; readonly what: readonly string[]; readonly nodeCount: number; readonly nodes: readonly string[] }[];
  readonly changesComplete?: boolean;
  readonly preemption?: {
    readonly node: string;
    readonly victims: readonly string[];
    readonly pdbViolations: number;
    readonly candidateCount: number;
    readonly whyNot: string;
  };
  readonly wokenBy?: readonly string[];
  readonly nodes?: readonly NodeVerdict[];
  readonly leftOut?: readonly string[];
  readonly live?: {
    readonly askedAt?: string;
    readonly decision?: {
      readonly time: string;
      readonly cycle: number;
      readonly seed: string;
      readonly attempt: number;
      readonly node: string;
      readonly total: number;
      readonly nodeCount: number;
      readonly feasibleCount: number;
      readonly message: string;
    };
    readonly queue?: {
      readonly place: string;
      readonly backoffUntil?: string;
      readonly refusedBy?: readonly string[];
      readonly wokenBy?: readonly string[];
    };
    readonly notAsked?: readonly string[];
  };
  readonly page?: PodFacts;
}

export interface PodFacts {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
  readonly owner?: Owner;
  readonly phase?: string;
  readonly node?: string;
  readonly nominated?: string;
  readonly priority?: number;
  readonly schedulerName?: string;
  readonly created?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly requests?: Readonly<Record<string, number>>;
  readonly gates?: readonly string[];
  readonly group?: string;
}

export interface NodeFacts {
  readonly name: string;
  readonly zone?: string;
  readonly created?: string;
  readonly cordoned?: boolean;
  readonly ready?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  readonly allocatable?: Readonly<Record<string, number>>;
  readonly requested?: Readonly<Record<string, number>>;
  readonly price?: number;
  readonly podCount?: number;
  readonly pods?: readonly PodFacts[];
}

export interface Decision {
  readonly sequence: number;
  readonly cycle?: number;
  readonly seed: string;
  readonly time: string;
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly attempt?: number;
  readonly nodes?: number;
  readonly feasible?: number;
  readonly total?: number;
  readonly why?: string;
  readonly message?: string;
  readonly reasons?: readonly Reason[];
}

export interface FoundPods {
  readonly pods: readonly { readonly namespace: string; readonly name: string; readonly node: string; readonly phase: string }[];
}

export interface DecisionList {
  readonly epoch: number;
  readonly last: number;
  readonly dropped?: number;
  readonly decisions: readonly Decision[];
}

export interface NumberSample {
  readonly time: string;
  readonly bound?: number;
  readonly arrived?: number;
  readonly decisions?: number;
  readonly waitMsP50?: number;
  readonly waitMsP99?: number;
  readonly pending?: number;
  readonly queue?: QueuePlaces;
  /** Cores. */
  readonly cpu?: number;
  readonly memoryBytes?: number;
  /** Attempts per second. */
  readonly profiles?: readonly { readonly name: string; readonly scheduled: number; readonly refused: number }[];
  readonly use?: readonly { readonly zone: string; readonly nodes: number; readonly cpu: number; readonly memory: number; readonly pods: number }[];
}

export interface NumberSeries {
  readonly intervalSeconds: number;
  readonly samples: readonly NumberSample[];
}

export interface SimulateRequest {
  manifests?: string;
  namespace?: string;
  replicas?: { kind: string; namespace: string; name: string; add: number }[];
  addNodes?: number;
  nodeLike?: string;
  removeNodes?: string[];
  /** A KubeSchedulerConfiguration to decide by, in place of the server's. */
  configuration?: string;
}

export interface DrainRequest {
  nodes: string[];
  force: boolean;
  configuration?: string;
}

export interface HeadroomRequest {
  losses: number;
  configuration?: string;
}

export interface ClusterUse {
  readonly nodes: number;
  readonly nodesInUse: number;
  readonly pods: number;
  readonly cpuMilli: number;
  readonly cpuMilliAllocatable: number;
  readonly memoryBytes: number;
  readonly memoryBytesAllocatable: number;
  readonly price?: number | null;
  readonly priceInUse?: number | null;
}

export interface Simulation {
  readonly pods: readonly {
    readonly namespace: string;
    readonly name: string;
    readonly workload: Owner;
    readonly origin: string;
    readonly node: string | null;
    readonly zone?: string;
    readonly previousNode?: string;
    readonly podGroup?: string;
    readonly reason?: string;
  }[];
  readonly pending: number;
  readonly evictions?: readonly { readonly namespace: string; readonly name: string; readonly workload: Owner; readonly node: string; readonly preemptor: string | null }[];
  readonly lost?: readonly { readonly namespace: string; readonly name: string; readonly node: string; readonly reason: string }[];
  readonly before: ClusterUse;
  readonly after: ClusterUse;
  readonly notes?: readonly string[];
  /** What a reader of the answer should know. */
  readonly warnings?: readonly string[];
}

export interface DrainPlan {
  readonly nodes: readonly string[];
  readonly canDrain: boolean;
  readonly pods: readonly {
    readonly namespace: string;
    readonly name: string;
    readonly node: string;
    readonly owner: string;
    readonly drain: string;
    readonly budget: string;
    readonly budgets?: readonly string[];
    readonly goesTo: string;
    readonly obstacle: string;
    readonly unknown?: string;
  }[];
  readonly warnings?: readonly string[];
}

export interface Headroom {
  readonly nodes: number;
  readonly maxLosses: number;
  readonly interrupted?: boolean;
  readonly workloads: readonly {
    readonly namespace: string;
    readonly kind: string;
    readonly name: string;
    readonly pods: number;
    readonly nodes: number;
    readonly survives?: number;
    readonly isAtLimit?: boolean;
    readonly unknown?: string;
    readonly failsWithout?: { readonly nodes: readonly string[]; readonly podsWithoutPlace: number };
  }[];
  readonly warnings?: readonly string[];
}

export interface PlannedMove {
  readonly namespace: string;
  readonly name: string;
  readonly owner: string;
  readonly from: string;
  /** "": a pod that has ended and is removed. */
  readonly to: string;
  readonly strategy: string;
  readonly reason: string;
  readonly gain: string;
  readonly cost: string;
  /** Moves of one number belong together; 0: of none. */
  readonly chain: number;
  readonly makesRoomFor: string;
  readonly changes: readonly { readonly strategy: string; readonly change: number; readonly text: string }[];
}

export interface RebalancePlan {
  readonly pods: number;
  readonly pending: number;
  readonly complete: boolean;
  readonly moves: readonly PlannedMove[];
  readonly staying: readonly { readonly namespace: string; readonly name: string; readonly node: string; readonly strategy: string; readonly reason: string; readonly why: string }[];
  readonly emptied: readonly string[];
}

interface ShadowSide {
  readonly node?: string;
  readonly message?: string;
  readonly preemptionNode?: string;
}

export interface ShadowDifference {
  readonly pod: string;
  readonly scheduler: string;
  readonly seenAt: string;
  readonly match: string;
  readonly explainedByOrder: boolean;
  readonly theirs: ShadowSide;
  readonly ours: ShadowSide;
  readonly points?: number;
  readonly plugins?: readonly { readonly plugin: string; readonly ours: number; readonly theirs: number }[];
}

export interface ShadowReport {
  readonly source: string;
  readonly schedulers: readonly string[];
  readonly configuration: string;
  readonly unknown: readonly string[];
  readonly beganAt: string;
  readonly endedAt: string;
  readonly nodes: number;
  readonly podsOnNodes: number;
  readonly decisions: number;
  readonly agreements: number;
  readonly unexplained: number;
  readonly matches: Readonly<Record<string, { readonly count: number; readonly explainedByOrder: number }>>;
  readonly leftOut: Readonly<Record<string, number>>;
  readonly cost: { readonly meanMs: number; readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number };
  readonly differences: readonly ShadowDifference[];
}

export interface Timeline {
  readonly from: string;
  readonly to: string;
  readonly at: string;
  /** Why the recording cannot be followed to its end; absent: it can. */
  readonly problem?: string;
}

export interface PendingEvent {
  readonly revision: number;
  /** All of it, where it is short. */
  readonly pending?: Pending;
}

export interface FleetEvent {
  readonly revision: number;
  readonly base?: number;
  readonly frame?: string;
  readonly reload?: boolean;
}
