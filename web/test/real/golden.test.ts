// SPDX-License-Identifier: Apache-2.0
// Of golden cases of every family, as snapshots: what the page's API says of a pod is what berth explain says. Of 200 cases
// unless BERTH_GOLDEN_CASES says how many.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import type { Explanation, Status } from "../../src/api/types";
import { web } from "../browser/browser";
import { Client, Serving, berth, folder } from "./berth";

interface Case {
  readonly name: string;
  readonly objects: Readonly<Record<string, readonly unknown[]>>;
  readonly pending: readonly { readonly metadata: { readonly namespace?: string; readonly name: string }; readonly spec: { readonly schedulerName?: string } }[];
  readonly config?: { readonly profiles?: readonly { readonly schedulerName?: string }[] };
  readonly gates?: Readonly<Record<string, boolean>>;
  readonly expected: { readonly kubernetes?: string };
}

const kinds: Readonly<Record<string, string>> = {
  nodes: "Node",
  pods: "Pod",
  deviceClasses: "DeviceClass",
  resourceSlices: "ResourceSlice",
  resourceClaims: "ResourceClaim",
  persistentVolumeClaims: "PersistentVolumeClaim",
  storageClasses: "StorageClass",
  persistentVolumes: "PersistentVolume",
  namespaces: "Namespace",
  csiNodes: "CSINode",
  csiDrivers: "CSIDriver",
  podGroups: "PodGroup",
  compositePodGroups: "CompositePodGroup",
  csiStorageCapacities: "CSIStorageCapacity",
  podDisruptionBudgets: "PodDisruptionBudget",
  services: "Service",
  volumeAttachments: "VolumeAttachment",
  replicationControllers: "ReplicationController",
  statefulSets: "StatefulSet",
  replicaSets: "ReplicaSet",
};

/** Cases, as many of each family. */
function sample(count: number): string[] {
  const root = join(web, "../tests/golden");
  const families = readdirSync(root).sort();
  const lists = families.map((family) => readdirSync(join(root, family)).filter((name) => name.endsWith(".json")).sort().map((name) => join(root, family, name)));
  const chosen: string[] = [];
  for (let i = 0; chosen.length < count && lists.some((list) => i < list.length); ++i) {
    for (const list of lists) {
      const path = list[i];
      if (path !== undefined && chosen.length < count) chosen.push(path);
    }
  }
  return chosen;
}

function snapshotOf(golden: Case): Buffer {
  const counts: Record<string, number> = {};
  const lines = [JSON.stringify({ format: "berth-snapshot", version: 1, berth: "test" })];
  const add = (kind: string, object: unknown): void => {
    counts[kind] = (counts[kind] ?? 0) + 1;
    lines.push(JSON.stringify({ kind, object }));
  };
  for (const [key, objects] of Object.entries(golden.objects)) {
    const kind = kinds[key];
    assert.ok(kind, `${golden.name}: ${key} is of no kind that this test knows`);
    for (const object of objects) add(kind, object);
  }
  for (const pod of golden.pending) add("Pod", pod);
  lines.push(JSON.stringify({ end: { kubernetes: golden.expected.kubernetes ?? "v1.36.0", source: "golden", readAt: "2030-01-01T00:00:00Z", leftOut: [], counts } }));
  return stored(Buffer.from(`${lines.join("\n")}\n`));
}

/** A frame of zstd (RFC 8878) whose blocks are not compressed. */
function stored(text: Buffer): Buffer {
  const blockBytesMax = 1 << 17;
  const parts: Uint8Array[] = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 11 << 3])];
  for (let at = 0; at < text.length; at += blockBytesMax) {
    const block = text.subarray(at, at + blockBytesMax);
    const head = (block.length << 3) | (at + blockBytesMax >= text.length ? 1 : 0);
    parts.push(Buffer.from([head & 255, (head >> 8) & 255, head >> 16]), block);
  }
  return Buffer.concat(parts);
}

test("the page says of golden cases what berth explain says", async (t) => {
  const files = folder();
  const states = new Map<string, number>();
  try {
    const paths = sample(Number(process.env.BERTH_GOLDEN_CASES ?? 200));
    for (const path of paths) {
      const golden = JSON.parse(readFileSync(path, "utf8")) as Case;
      const profiles = golden.config?.profiles?.map((profile) => profile.schedulerName ?? "default-scheduler") ?? ["default-scheduler"];
      // A pod of a scheduler without a profile is answered as if the page had one of that name (docs/page.md); the command has none.
      const pod = golden.pending.filter((each) => profiles.includes(each.spec.schedulerName ?? "default-scheduler")).at(-1);
      if (pod === undefined) continue;
      const file = join(files.path, "case.snapshot");
      writeFileSync(file, snapshotOf(golden));
      const [, version] = /^v(\d+\.\d+)/.exec(golden.expected.kubernetes ?? "") ?? [];
      const flags = ["--snapshot", file, ...(version === undefined ? [] : ["--kubernetes-version", version])];
      if (golden.config !== undefined) {
        const config = join(files.path, "config.yaml");
        writeFileSync(config, JSON.stringify(golden.config));
        flags.push("--config", config);
      }
      // As the program that checks golden cases: groups need their gate.
      const hasGroups = "podGroups" in golden.objects || "compositePodGroups" in golden.objects;
      const gates = Object.entries({ ...(hasGroups ? { GenericWorkload: true } : {}), ...golden.gates }).map(([name, isOn]) => `${name}=${isOn}`);
      if (gates.length > 0) flags.push("--feature-gates", gates.join(","));
      const namespace = pod.metadata.namespace ?? "default";
      const wanted = JSON.parse(await berth("explain", `pod/${namespace}/${pod.metadata.name}`, "--nodes", "-o", "json", ...flags)) as Explanation;
      const serving = await Serving.start("ui", ...flags);
      try {
        const client = await Client.of(serving.link);
        const status = await client.get<Status>("status");
        assert.equal(status.nodes >= (golden.objects.nodes?.length ?? 0), true, path);
        const { page: facts, ...said } = await client.get<Explanation>(`pods/${namespace}/${pod.metadata.name}`);
        assert.deepEqual(said, wanted, path);
        assert.equal(facts?.name, pod.metadata.name, path);
      } finally {
        await serving.end();
      }
      states.set(wanted.state, (states.get(wanted.state) ?? 0) + 1);
    }
    const compared = [...states.values()].reduce((sum, count) => sum + count, 0);
    t.diagnostic(`${compared} of ${paths.length} cases: ${[...states].map(([state, count]) => `${count} ${state}`).join(", ")}`);
    // Cases that all say the same would compare little.
    assert.ok(paths.length < 50 || ((states.get("Refused") ?? 0) >= 10 && (states.get("Fits") ?? 0) >= 10));
  } finally {
    files.remove();
  }
});
