// SPDX-License-Identifier: Apache-2.0
// The page of `berth ui` on a real control plane whose scheduler is kube-scheduler (tests/e2e/page_test.go starts both and made
// the cluster): what the page shows is what kube-scheduler did, and what the API server and `berth explain` say.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import test, { after, before } from "node:test";
import type { Browser, Page } from "puppeteer-core";
import type { Explanation, NumberSeries, Pending } from "../../src/api/types";
import { axe, open, settled, shows, startBrowser } from "../browser/browser";
import { Serving, binary, until } from "../real/berth";

interface KubePod {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[] };
}

const kubeconfig = process.env.BERTH_KUBECONFIG ?? "";
let browser: Browser;
let serving: Serving;
let page: Page;
let complaints: readonly string[];

/** `berth explain -o json`. What it warns of, as a certificate that is good for an hour, is no matter. */
async function explain(...words: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(binary, ["explain", ...words, "-o", "json", "--kubeconfig", kubeconfig], { maxBuffer: 1 << 28 }, (error, out, complaint) => {
      if (out !== "") resolve(out);
      else reject(new Error(`berth explain ${words.join(" ")}: ${complaint || error?.message}`));
    });
  });
}

/** kubectl with the rights of the cluster's administrator. */
async function kubectl(words: readonly string[], input = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(process.env.BERTH_KUBECTL ?? "kubectl", ["--kubeconfig", process.env.BERTH_ADMIN_KUBECONFIG ?? "", ...words], { maxBuffer: 1 << 28 }, (error, out, complaint) => {
      if (error === null) resolve(out);
      else reject(new Error(`kubectl ${words.join(" ")}: ${complaint}`));
    });
    child.stdin?.end(input);
  });
}

async function pods(): Promise<readonly KubePod[]> {
  return (JSON.parse(await kubectl(["get", "pods", "-o", "json"])) as { items: KubePod[] }).items;
}

async function ask<T>(path: string): Promise<T> {
  return page.evaluate(async (of: string) => (await (await fetch(`api/v1/${of}`)).json()) as unknown, path) as Promise<T>;
}

async function go(hash: string): Promise<void> {
  await page.goto(`${new URL(page.url()).origin}/ui/${hash}`);
  await settled(page);
}

function refusalOf(pod: KubePod): string {
  return pod.status.conditions?.find((each) => each.type === "PodScheduled" && each.status === "False")?.message ?? "";
}

before(async () => {
  browser = await startBrowser();
  serving = await Serving.start("ui", "--kubeconfig", kubeconfig);
  ({ page, complaints } = await open(browser, serving.link));
  await settled(page);
});

after(async () => {
  await browser?.close();
  await serving?.end();
});

test("what waits is what kube-scheduler has refused, and what berth explain --pending says", async () => {
  const waiting = (await pods()).filter((pod) => !pod.spec.nodeName);
  assert.ok(waiting.length >= 3, "the cluster has pods that wait");
  await shows(page, `${waiting.length} pods`);
  const said = await ask<Pending>("pending");
  assert.equal(said.by, "evaluation");
  assert.equal(said.pods, waiting.length);
  const command = JSON.parse(await explain("--pending")) as { pods: number; reasons: { owners: { kind: string; name: string; pods: number }[] }[] };
  assert.equal(command.pods, waiting.length);
  assert.deepEqual(
    new Set(command.reasons.flatMap((reason) => reason.owners.map((owner) => `${owner.kind} ${owner.name} ${owner.pods}`))),
    new Set(said.classes.map((each) => `${each.owner.kind} ${each.owner.name} ${each.count}`)),
  );
  const shown = await page.$$eval(".main-pending .table tbody .strong", (names) => names.map((name) => name.textContent ?? ""));
  for (const each of said.classes) assert.ok(shown.includes(each.owner.name), `${each.owner.name} among ${shown.join(", ")}`);
});

test("a pod's page says what kube-scheduler said of it, and the nodes that berth explain says", async () => {
  const waiting = (await pods()).filter((pod) => !pod.spec.nodeName);
  for (const pod of waiting) {
    const refusal = refusalOf(pod);
    assert.notEqual(refusal, "", `${pod.metadata.name} has been refused`);
    await go(`#/pod/default/${pod.metadata.name}`);
    const command = JSON.parse(await explain(`pod/default/${pod.metadata.name}`, "--nodes")) as Explanation;
    const said = await ask<Explanation>(`pods/default/${pod.metadata.name}`);
    assert.deepEqual({ ...said, page: undefined, cluster: undefined }, { ...command, page: undefined, cluster: undefined });
    // kube-scheduler's own words, up to what preemption added.
    assert.equal(said.condition, refusal);
    assert.equal(said.message?.split(" preemption:")[0], refusal.split(" preemption:")[0]);
    await shows(page, said.message!, ".pod .message");
    assert.equal(await page.$$eval(".funnel tbody tr", (rows) => rows.length), 1 + new Set(said.funnel?.filter((step) => step.refused > 0).map((step) => `${step.plugin}/${step.reason}`)).size);
  }
});

test("each node of the picture has the pods that kube-scheduler has put there", async () => {
  const placed = (await pods()).filter((pod) => pod.spec.nodeName);
  const nodes = [...new Set(placed.map((pod) => pod.spec.nodeName!))];
  assert.ok(nodes.length >= 3);
  await go("#/cluster");
  await page.waitForFunction((count: number) => document.querySelector<HTMLElement>(".picture canvas")?.dataset.nodes === String(count), {}, Number(process.env.BERTH_NODES));
  for (const node of nodes.slice(0, 4)) {
    await go(`#/cluster?node=${node}`);
    await shows(page, node, ".drawer");
    for (const pod of placed.filter((each) => each.spec.nodeName === node)) await shows(page, pod.metadata.name, ".drawer");
  }
});

test("a pod that comes now is seen to be placed by kube-scheduler", async () => {
  await go("#/cluster?view=table");
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "newcomer", labels: { app: "newcomer" } },
    spec: { containers: [{ name: "main", image: "registry.example/main:1", resources: { requests: { cpu: "100m" } } }] },
  };
  await kubectl(["create", "-f", "-"], JSON.stringify(pod));
  const node = await until("kube-scheduler places the newcomer", async () => (await pods()).find((each) => each.metadata.name === "newcomer")?.spec.nodeName);
  await go("#/pod/default/newcomer");
  await until("the page knows its node", async () => (await ask<Explanation>("pods/default/newcomer")).node === node);
  await go("#/pod/default/newcomer");
  await shows(page, node);
  await until("the numbers have counted it", async () => (await ask<NumberSeries>("numbers")).samples.some((sample) => (sample.bound ?? 0) > 0));
});

test("nothing is wrong with the page, and the browser has complained of nothing", async () => {
  for (const hash of ["#/pending", "#/cluster", "#/numbers"]) {
    await go(hash);
    assert.deepEqual(await axe(page), [], hash);
  }
  assert.deepEqual(complaints, []);
});
