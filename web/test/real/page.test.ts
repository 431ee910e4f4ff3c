// SPDX-License-Identifier: Apache-2.0
// The page of the program itself, in Chromium: what it shows is what the API and the commands of berth say of the cluster.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "puppeteer-core";
import type { DrainPlan, Explanation, NumberSample, Pending, ShadowReport, Simulation } from "../../src/api/types";
import { agreementText } from "../../src/state/reports";
import { axe, open, settled, shows, startBrowser, textsOf } from "../browser/browser";
import { Serving, berth, binary, folder, run, until } from "./berth";
import { deployment, guarded, stuckRollout, waitingGang } from "./scenes";

let browser: Browser;
let cluster: Serving;
let page: Page;
let complaints: readonly string[];
const files = folder();

/** Of the violations of its Content-Security-Policy the document itself tells. */
const watchPolicy = `window.refusedByPolicy = []; document.addEventListener("securitypolicyviolation", (event) => window.refusedByPolicy.push(event.violatedDirective + " " + event.blockedURI));`;

async function pending(): Promise<Pending> {
  return ask<Pending>("pending");
}

/** What the API says to this page: the cookie is the browser's. */
async function ask<T>(path: string): Promise<T> {
  return page.evaluate(async (of: string) => (await (await fetch(`api/v1/${of}`)).json()) as unknown, path) as Promise<T>;
}

async function go(hash: string): Promise<void> {
  await page.goto(`${new URL(page.url()).origin}/ui/${hash}`);
  await settled(page);
}

async function explained(name: string): Promise<Explanation> {
  return JSON.parse(await berth("explain", `pod/default/${name}`, "--nodes", "-o", "json", "--master", cluster.master)) as Explanation;
}

before(async () => {
  assert.notEqual(binary, "", "BERTH_BINARY should name the program");
  browser = await startBrowser();
  cluster = await Serving.start("cluster", "--nodes", "5", "--write-kubeconfig", "");
  await cluster.create(...stuckRollout);
  ({ page, complaints } = await open(browser, cluster.link, { before: watchPolicy }));
  await shows(page, "7 pods of 3 workloads wait");
  // Everything has been tried.
  await until("all that can be refused has been", async () => (await pending()).classes.every((each) => each.state === "Refused" || each.state === "Gated"));
});

after(async () => {
  await browser?.close();
  await cluster?.end();
  files.remove();
});

test("the lines of what waits are those of the API, and those of berth explain --pending", async () => {
  await go("#/pending");
  const said = await pending();
  const shown = await page.$$eval(".main-pending .table tbody tr", (rows) =>
    rows.map((row) => ({ name: row.querySelector(".strong")?.textContent, pods: row.querySelector(".col-pods .strong")?.textContent, why: row.querySelector(".reasons > span")?.textContent })),
  );
  const wanted = said.classes.map((each) => ({ name: each.owner.name, pods: String(each.count), why: each.reasons?.[0]?.text ?? "held by a scheduling gate" }));
  assert.deepEqual(new Set(shown.map((row) => JSON.stringify(row))), new Set(wanted.map((row) => JSON.stringify(row))));
  assert.equal(shown.length, wanted.length);
  interface Told {
    pods: number;
    reasons: { pods: number; owners: { kind: string; name: string; pods: number }[] }[];
  }
  const command = JSON.parse(await berth("explain", "--pending", "-o", "json", "--master", cluster.master)) as Told;
  assert.equal(command.pods, said.pods);
  assert.deepEqual(
    new Set(command.reasons.flatMap((reason) => reason.owners.map((owner) => `${owner.kind} ${owner.name} ${owner.pods}`))),
    new Set(said.classes.map((each) => `${each.owner.kind} ${each.owner.name} ${each.count}`)),
  );
});

test("a pod's reasons, nodes and changes are those of berth explain", async () => {
  for (const name of ["payments", "reports", "held"]) {
    const sample = (await pending()).classes.find((each) => each.owner.name === name)!.sample.name;
    const command = await explained(sample);
    const api = await ask<Explanation>(`pods/default/${sample}`);
    // What the process knows beside: the queue, and the pod as the page shows it.
    const { live: _live, page: _page, ...shared } = api;
    const { live: _none, page: _nothing, ...wanted } = command;
    assert.deepEqual(shared, wanted, name);
    await go(`#/pod/default/${sample}`);
    await shows(page, command.message ?? "", ".message");
    const funnel = await page.$$eval(".funnel tbody tr", (rows) => rows.slice(1).map((row) => [...row.querySelectorAll("td")].slice(0, 3).map((cell) => cell.textContent)));
    assert.deepEqual(funnel, (command.funnel ?? []).map((step) => [step.plugin, step.reason, `−${step.refused}`]));
    const changes = await page.$$eval(".changes li .change-what", (cells) => cells.map((cell) => [...cell.querySelectorAll("bdi")].map((line) => line.textContent)));
    assert.deepEqual(changes, (command.changes ?? []).map((change) => change.what));
    const nodes = await page.$$eval(".long-table tbody tr", (rows) => rows.map((row) => row.querySelector("td")?.textContent));
    assert.deepEqual(new Set(nodes), new Set((command.nodes ?? []).map((node) => node.name)));
  }
});

test("an answer to what if is that of berth simulate", async () => {
  const manifest = join(files.path, "new.json");
  const text = JSON.stringify(deployment({ name: "new", replicas: 3, cpu: "400m" }));
  writeFileSync(manifest, text);
  const command = JSON.parse(await berth("simulate", "-f", manifest, "--add-nodes", "1", "--node-like", "node-1", "-o", "json", "--master", cluster.master)) as Simulation;
  await go("#/whatif");
  await page.$eval("textarea", (box, value) => {
    box.value = value;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }, text);
  const number = await page.waitForSelector("input[type=number]");
  await number!.type("1");
  await page.type("input[list]", "node-1");
  const answered = page.waitForResponse((response) => response.url().endsWith("/api/v1/simulate"));
  await page.click("button[type=submit]");
  const api = (await (await answered).json()) as Simulation;
  assert.deepEqual(api.pods, command.pods);
  assert.deepEqual([api.pending, api.before, api.after], [command.pending, command.before, command.after]);
  await shows(page, "The cluster, before and after");
  const rows = await page.$$eval(".whatif-answer .table", (tables) => [...tables[0]!.querySelectorAll("tbody tr")].map((row) => [row.querySelector(".strong")?.textContent, row.querySelector(".col-pods")?.textContent, row.querySelector(".col-pending")?.textContent]));
  const wanted = new Map<string, [number, number]>();
  for (const pod of command.pods) {
    const [pods, waiting] = wanted.get(pod.workload.name) ?? [0, 0];
    wanted.set(pod.workload.name, [pods + 1, waiting + (pod.node === null ? 1 : 0)]);
  }
  assert.deepEqual(new Set(rows.map((row) => row.join(" "))), new Set([...wanted].map(([name, counts]) => [name, ...counts].join(" "))));
});

test("a node's boxes and its drawer are what the API server has", async () => {
  const { items } = await cluster.kube<{ items: { metadata: { name: string }; spec: { nodeName?: string } }[] }>("GET", "/api/v1/namespaces/default/pods");
  await go("#/cluster?node=node-1");
  await page.waitForSelector(".drawer .pod-list");
  const names = items.filter((pod) => pod.spec.nodeName === "node-1").map((pod) => pod.metadata.name);
  assert.ok(names.length > 0);
  assert.deepEqual((await page.$$eval(".drawer .pod-list .row-open, .drawer .pod-list a > :first-child", (each) => each.map((name) => name.textContent ?? ""))).sort(), names.sort());
  assert.equal(await page.$eval(".picture canvas", (canvas) => (canvas as HTMLElement).dataset.nodes), "5");
});

test("a decision is that of the scheduler: the node that the pod has", async () => {
  const { items } = await cluster.kube<{ items: { metadata: { name: string }; spec: { nodeName?: string } }[] }>("GET", "/api/v1/namespaces/default/pods");
  await go("#/decisions?show=placed");
  const shown = new Map(await page.$$eval(".main-decisions .table tbody tr", (rows) => rows.map((row) => [row.querySelector(".strong")?.textContent ?? "", row.querySelector(".col-node")?.textContent ?? ""] as [string, string])));
  const placed = items.filter((pod) => pod.spec.nodeName !== undefined);
  assert.equal(placed.length, 11);
  for (const pod of placed) assert.equal(shown.get(pod.metadata.name), pod.spec.nodeName);
});

test("what the process and its profile do is counted, and has plots", async () => {
  type Numbers = { samples: NumberSample[] };
  const sample = await until("there is a sample with counts", async () => (await ask<Numbers>("numbers")).samples.find((each) => each.profiles !== undefined && each.profiles.length > 0));
  assert.deepEqual(sample.profiles?.map((profile) => profile.name), ["default-scheduler"]);
  assert.ok((sample.cpu ?? 0) > 0 && (sample.memoryBytes ?? 0) > 10 << 20, JSON.stringify(sample));
  await go("#/numbers");
  for (const title of ["Scheduled per second, by profile", "Refused per second, by profile", "CPU of this process", "Memory of this process"]) await shows(page, title, ".plots");
});

test("devices of a driver are a resource of their node, and of the pod that holds one", async () => {
  const resource = "/apis/resource.k8s.io/v1";
  const driver = "gpu.example.com";
  await cluster.kube("POST", `${resource}/resourceslices`, { metadata: { name: "gpus" }, spec: { driver, nodeName: "node-1", pool: { name: "node-1", generation: 1, resourceSliceCount: 1 }, devices: [{ name: "gpu-0" }, { name: "gpu-1" }] } });
  await cluster.kube("POST", `${resource}/deviceclasses`, { metadata: { name: "gpu" }, spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] } });
  await cluster.kube("POST", `${resource}/namespaces/default/resourceclaims`, { metadata: { name: "one" }, spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } } });
  const container = { name: "c", image: "x", resources: { claims: [{ name: "gpu" }] } };
  await cluster.kube("POST", "/api/v1/namespaces/default/pods", { metadata: { name: "trainer" }, spec: { resourceClaims: [{ name: "gpu", resourceClaimName: "one" }], containers: [container] } });
  type Facts = { allocatable: Record<string, number>; requested: Record<string, number> };
  const devices = `${driver}/devices`;
  const facts = await until("the pod has its device", async () => {
    const said = await ask<Facts>("nodes/node-1");
    return said.requested[devices] === 1 ? said : undefined;
  });
  assert.equal(facts.allocatable[devices], 2);
  await go(`#/cluster?fill=${encodeURIComponent(devices)}&node=node-1`);
  await shows(page, `${devices} 50 % requested`, ".view-head");
  await cluster.kube("DELETE", "/api/v1/namespaces/default/pods/trainer?gracePeriodSeconds=0");
});

test("another configuration is answered as berth simulate --config does", async () => {
  const manifest = join(files.path, "packed.json");
  const text = JSON.stringify(deployment({ name: "packed", replicas: 3, cpu: "100m" }));
  writeFileSync(manifest, text);
  const configuration = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 100}]}}}]
  plugins: {multiPoint: {disabled: [{name: NodeResourcesBalancedAllocation}, {name: PodTopologySpread}]}}
`;
  const file = join(files.path, "packed.yaml");
  writeFileSync(file, configuration);
  const told = async (...flags: string[]): Promise<Simulation> => JSON.parse(await berth("simulate", "-f", manifest, "-o", "json", "--master", cluster.master, ...flags)) as Simulation;
  const [own, plain] = [await told("--config", file), await told()];
  assert.notDeepEqual(own.pods, plain.pods, "it decides otherwise");
  await go("#/whatif");
  await page.click(".field-actions .button:not(.button-primary)"); // the question before is kept
  await page.click(".other-configuration summary");
  for (const [selector, value] of [[".whatif-form textarea", text], [".other-configuration textarea", configuration]] as const) {
    await page.$eval(
      selector,
      (box, typed) => {
        (box as HTMLTextAreaElement).value = typed;
        box.dispatchEvent(new Event("input", { bubbles: true }));
      },
      value,
    );
  }
  const answered = page.waitForResponse((response) => response.url().endsWith("/api/v1/simulate"));
  await page.click("button[type=submit]");
  const api = (await (await answered).json()) as Simulation;
  assert.deepEqual([api.pods, api.after], [own.pods, own.after]);
  await shows(page, "Nodes as it is", ".whatif-answer th");
  await shows(page, "By the configuration that decides here", ".as-it-is");
});

test("a link opens the same view again", async () => {
  const sample = (await pending()).classes.find((each) => each.owner.name === "payments")!.sample.name;
  for (const hash of ["#/pending?by=reason&q=cpu", "#/cluster?color=health&fill=memory&node=node-2", `#/pod/default/${sample}`, "#/whatif?node=node-1&tab=drain", "#/decisions?show=refused"]) {
    await go(hash);
    // Ages count on.
    const seen = async (of: Page): Promise<readonly string[]> => (await textsOf(of, "h1, h2, thead th, .strong, button[aria-pressed=true], option:checked, .drawer h2")).filter((text) => !/\d+[sm]$/.test(text));
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)));
    const first = await seen(page);
    const again = await browser.newPage();
    await again.setViewport({ width: 1280, height: 800 });
    await again.goto(page.url());
    await settled(again);
    await until(`${hash} shows ${first.join(", ")} again`, async () => JSON.stringify(await seen(again)) === JSON.stringify(first));
    await again.close();
  }
});

test("what changes in the cluster is on the page without asking", async () => {
  await go("#/pending");
  const coding = await page.evaluate(async () => {
    const stop = new AbortController();
    const events = await fetch("api/v1/events", { signal: stop.signal });
    stop.abort();
    return events.headers.get("Content-Encoding");
  });
  assert.ok(coding === "zstd" || coding === "gzip", `events come in ${coding}`);
  await cluster.create(deployment({ name: "late", replicas: 2, cpu: "90" }));
  await shows(page, "1 new", ".new-rows");
  await page.keyboard.press("r");
  await shows(page, "late", ".table");
  await cluster.kube("DELETE", "/apis/apps/v1/namespaces/default/deployments/late");
  await shows(page, "1 gone", ".new-rows");
});

test("nothing was complained about, and the policy has refused nothing", async () => {
  for (const hash of ["#/pending", "#/cluster", "#/decisions", "#/whatif", "#/numbers"]) {
    await go(hash);
    assert.deepEqual(await axe(page), [], hash);
    assert.deepEqual(await page.evaluate(() => (window as unknown as { refusedByPolicy: string[] }).refusedByPolicy), [], hash);
  }
  // The watch works: this is refused.
  await page.evaluate(() => document.body.append(Object.assign(document.createElement("script"), { textContent: "1" })));
  await page.waitForFunction(() => (window as unknown as { refusedByPolicy: string[] }).refusedByPolicy.length > 0);
  assert.deepEqual(complaints.filter((text) => !text.includes("Content Security Policy")), []);
});

test("a drain that a budget forbids says so, as berth can-drain does", async () => {
  const another = await Serving.start("cluster", "--nodes", "4", "--write-kubeconfig", "");
  try {
    await another.create(...guarded);
    interface Pods {
      items: { metadata: { name: string }; spec: { nodeName?: string } }[];
    }
    const placed = await until("all are placed", async () => {
      const { items } = await another.kube<Pods>("GET", "/api/v1/namespaces/default/pods");
      return items.length === 8 && items.every((pod) => pod.spec.nodeName) ? items : undefined;
    });
    await until("the budget counts both", async () => {
      const { status } = await another.kube<{ status?: { currentHealthy?: number } }>("GET", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/database");
      return status?.currentHealthy === 2;
    });
    const node = placed.find((pod) => pod.metadata.name.startsWith("database"))!.spec.nodeName!;
    const { page: own } = await open(browser, another.link);
    await settled(own);
    await own.goto(`${new URL(own.url()).origin}/ui/#/whatif?tab=drain&node=${node}`);
    await shows(own, "Nodes to drain");
    await own.$eval("button[type=submit]", (button) => (button as HTMLElement).click());
    await shows(own, "Cannot be drained");
    const command = JSON.parse(await berth("can-drain", node, "-o", "json", "--master", another.master)) as DrainPlan;
    assert.equal(command.canDrain, false);
    const held = command.pods.filter((pod) => pod.obstacle !== "");
    assert.ok(held.length > 0);
    assert.deepEqual(await textsOf(own, ".obstacles li"), held.map((pod) => `${pod.name}: ${pod.obstacle}`));
    const shown = await own.$$eval(".whatif-answer tbody tr", (rows) => rows.map((row) => row.querySelector(".strong")?.textContent ?? ""));
    assert.deepEqual(new Set(shown), new Set(placed.filter((pod) => pod.spec.nodeName === node).map((pod) => pod.metadata.name)));
    await own.close();
  } finally {
    await another.end();
  }
});

test("a gang that waits says what its group lacks", async () => {
  const nodes = join(files.path, "nodes.yaml");
  writeFileSync(nodes, "nodes:\n- {name: gpu, count: 2, cpu: 16, memory: 256Gi, resources: {nvidia.com/gpu: 8}}\n- {name: plain, count: 3}\n");
  const another = await Serving.start("cluster", "--nodes-file", nodes, "--kubernetes-version", "1.37", "--write-kubeconfig", "");
  try {
    await another.create(...waitingGang);
    const { page: own } = await open(browser, another.link);
    await shows(own, "4 pods of");
    await shows(own, "4 pods of 1 workload wait");
    await shows(own, "training", ".main-pending .table .strong");
    await shows(own, "PodGroup", ".main-pending .table");
    await until("the group has been tried", async () => (await textsOf(own, ".reasons"))[0]?.includes("minCount (4) cannot be satisfied: 2 scheduled"));
    assert.equal((await textsOf(own, ".main-pending .table tbody tr")).length, 1);
    await own.click(".table .row-open");
    await shows(own, "Waits for its group training", ".verdict");
    await shows(own, "minCount (4) cannot be satisfied", ".message");
    await own.close();
  } finally {
    await another.end();
  }
});

test("berth shadow --page writes what the page shows of its report into one file", async () => {
  const another = await Serving.start("cluster", "--nodes", "3", "--write-kubeconfig", "");
  try {
    const path = join(files.path, "shadow.html");
    const pods = Array.from({ length: 6 }, (_, i) => `by-hand-${i}`);
    const watching = run("shadow", "--master", another.master, "--scheduler-name", "by-hand", "--pods", String(pods.length), "-o", "json", "--page", path);
    await until("berth shadow compares", () => watching.complaint().includes("decisions are compared"));
    const nodes = await another.kube<{ items: { metadata: { name: string } }[] }>("GET", "/api/v1/nodes");
    const all = "/api/v1/namespaces/default/pods";
    for (const name of pods) {
      const spec = { schedulerName: "by-hand", containers: [{ name: "c", image: "nginx", resources: { requests: { cpu: "500m" } } }] };
      await another.kube("POST", all, { apiVersion: "v1", kind: "Pod", metadata: { name }, spec });
      // All on one node, which is the best one only for the first of them.
      await another.kube("POST", `${all}/${name}/binding`, { apiVersion: "v1", kind: "Binding", metadata: { name }, target: { kind: "Node", name: nodes.items[0]?.metadata.name } });
    }
    const report = JSON.parse(await watching.out) as ShadowReport;
    assert.equal(report.decisions, pods.length);
    assert.ok(report.differences.length > 0);
    const { page: file, complaints: of } = await open(browser, pathToFileURL(path).href, { before: watchPolicy });
    await shows(file, `${agreementText(report)} agreement`);
    await file.click(".shadow .row-open");
    await shows(file, "by-hand", ".side");
    const lines = await textsOf(file, "[aria-label='Differences, the newest first'] .row-open");
    assert.equal(lines.length, report.differences.length);
    assert.equal(await file.$(".nav"), null, "there is nothing else to go to");
    assert.equal(await file.$(".side a"), null);
    assert.deepEqual(await axe(file), []);
    assert.deepEqual(await file.evaluate(() => (window as unknown as { refusedByPolicy: string[] }).refusedByPolicy), []);
    assert.deepEqual(of, []);
    await file.close();
  } finally {
    await another.end();
  }
});
