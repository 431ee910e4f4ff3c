// SPDX-License-Identifier: Apache-2.0
// The page in a browser: what an operator does, and what can go wrong.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before } from "node:test";
import type { Browser, ElementHandle } from "puppeteer-core";
import type { MockServer } from "../mock_server";
import { hostileNames } from "../mock_cluster";
import { planOf, shadowOf } from "../mock_reports";
import { open, settled, shows, startBrowser, startServer, textsOf } from "./browser";

let browser: Browser;
const servers: MockServer[] = [];

async function serve(...of: Parameters<typeof startServer>): ReturnType<typeof startServer> {
  const started = await startServer(...of);
  servers.push(started.server);
  return started;
}

async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 500 && !holds(); ++i) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok(holds(), String(holds));
}

before(async () => {
  browser = await startBrowser();
});

after(async () => {
  await browser.close();
  for (const server of servers) await server.close();
});

test("the first view says what waits and why; two clicks from there is the funnel, and back leads back", async () => {
  const { url } = await serve();
  const { page, complaints } = await open(browser, url);
  await shows(page, "120 pods of 7 workloads wait for a node.");
  await shows(page, "Insufficient cpu", ".reason-bar");
  await page.click('.segmented button:nth-child(2)');
  await shows(page, "Workloads", "thead");
  assert.match(page.url(), /#\/pending\?by=reason$/);
  await page.click(".table .row-open");
  await settled(page);
  assert.match(page.url(), /q=/);
  await page.click(".table .row-open");
  await shows(page, "Where the nodes fell");
  await shows(page, "What would help");
  await shows(page, "Tried again after");
  assert.match(page.url(), /#\/pod\//);
  await page.goBack();
  await shows(page, "pods of 7 workloads");
  assert.deepEqual(complaints, []);
  await page.close();
});

test("rows stay in place while pods come and go, and the new ones come when they are asked for", async () => {
  const { server, url } = await serve();
  const { page } = await open(browser, url);
  await shows(page, "7 workloads");
  await shows(page, "Live");
  const before = await textsOf(page, ".table .row-open .strong");
  server.arrive("aaa-newcomer", 31);
  await shows(page, "1 new", ".new-rows");
  assert.deepEqual(await textsOf(page, ".table .row-open .strong"), before);
  await page.keyboard.press("r");
  await shows(page, "aaa-newcomer", ".table");
  assert.equal((await textsOf(page, ".new-rows")).join(""), "");
  assert.equal((await textsOf(page, ".table .row-open .strong")).length, 8);
  server.bind(1000);
  await shows(page, "8 gone", ".new-rows");
  assert.equal((await textsOf(page, ".table tr.is-gone")).length, 8);
  await page.keyboard.press("r");
  await shows(page, "Nothing waits");
  await page.close();
});

test("everything is reached by keys", async () => {
  const { url } = await serve();
  const { page, complaints } = await open(browser, url);
  await shows(page, "7 workloads");
  await page.keyboard.press("?");
  await shows(page, "next and previous line", "dialog");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.querySelector("dialog") === null);
  await page.keyboard.press("j");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => [...document.querySelectorAll(".row-open")].indexOf(document.activeElement!)), 1);
  await page.keyboard.press("Enter");
  await shows(page, "Where the nodes fell");
  await page.keyboard.press("Escape");
  await shows(page, "7 workloads");
  assert.equal(await page.evaluate(() => [...document.querySelectorAll(".row-open")].indexOf(document.activeElement!)), 1, "the focus is where it was");
  await page.keyboard.press("/");
  await page.waitForSelector("dialog[open] input");
  await page.keyboard.type("ip-10-20-7-");
  await shows(page, "ip-10-20-7-14", "[role=option]");
  await page.keyboard.press("Enter");
  await shows(page, "ip-10-20-7-14", ".drawer");
  await page.keyboard.press("t");
  await page.waitForSelector(".long-table");
  await page.keyboard.press("t");
  await page.waitForSelector(".picture canvas");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.querySelector(".drawer") === null);
  await page.focus(".picture canvas");
  for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "Enter"] as const) await page.keyboard.press(key);
  await page.waitForSelector(".drawer");
  for (const [key, title] of [["3", "Decisions"], ["4", "What if"], ["5", "Numbers"], ["6", "Reports"], ["2", "Cluster"], ["1", "Pending"]] as const) {
    await page.keyboard.press(key);
    await shows(page, title, "h1");
  }
  assert.deepEqual(complaints, []);
  await page.close();
});

test("an address shows what it showed, in a new window too", async () => {
  const { url } = await serve();
  const { page } = await open(browser, url, { hash: "#/cluster?color=health&fill=memory&group=pool&node=ip-10-20-7-14" });
  await shows(page, "ip-10-20-7-14", ".drawer h2");
  await shows(page, "Memory", ".view-sub");
  await shows(page, "ready", ".legend");
  assert.deepEqual(await page.$$eval(".toolbar select", (selects) => selects.map((select) => (select as HTMLSelectElement).value)), ["memory", "health", "pool"]);
  await page.close();
});

test("a connection that drops is said, taken up again behind the last event, and brings nothing twice", async () => {
  const { server, url } = await serve();
  const { page } = await open(browser, url, { hash: "#/decisions" });
  await shows(page, "Live");
  server.bind(2);
  await shows(page, "2 new", ".new-rows");
  server.cut(true);
  await shows(page, "The connection to the server is lost", ".problem");
  server.up();
  server.bind(3);
  await shows(page, "Live");
  await shows(page, "5 new", ".new-rows");
  assert.match(server.streamsFrom[server.streamsFrom.length - 1] ?? "", /^7-101-42$/);
  await page.click(".new-rows button");
  const sequences = await page.$$eval(".table .row-open", (rows) => rows.length);
  assert.equal(sequences, 45, "40 were there before");
  await page.waitForFunction(() => document.querySelector(".problem") === null);
  await page.close();
});

test("another process that answers in the place of the first is read anew", async () => {
  const { server, url } = await serve();
  const { page, complaints } = await open(browser, url, { hash: "#/decisions" });
  await shows(page, "The last 40 decisions");
  await shows(page, "Live");
  server.restart();
  server.bind(3);
  await shows(page, "The last 3 decisions");
  assert.equal((await textsOf(page, ".table .row-open")).length, 3);
  await page.keyboard.press("1");
  await shows(page, "117 pods of");
  server.bind(1);
  await shows(page, "116 pods of");
  assert.deepEqual(complaints.filter((text) => !text.includes("ERR_INCOMPLETE_CHUNKED_ENCODING")), []);
  await page.close();
});

test("a question that the server puts off is asked again by itself", async () => {
  const { server, url } = await serve();
  const { page } = await open(browser, url);
  await shows(page, "7 workloads");
  server.busyFor = 1;
  await page.click(".table .row-open");
  await shows(page, "Where the nodes fell");
  assert.equal(server.requests.filter((request) => request.startsWith("GET /ui/api/v1/pods/")).length, 2);
  await page.close();
});

test("the picture zooms in around the pointer, and back to the whole cluster", async () => {
  const { url } = await serve();
  const { page } = await open(browser, url, { hash: "#/cluster", hasMotion: true });
  await settled(page);
  await page.waitForFunction(() => document.querySelector<HTMLElement>(".picture canvas")?.dataset.nodes === "60");
  const { x, y } = await page.$eval(".picture", (box) => {
    const { left, top, width, height } = box.getBoundingClientRect();
    return { x: left + width * 0.4, y: top + height * 0.4 };
  });
  // A point that is in a cell, however the rows are laid out.
  let name = "";
  let at = x;
  for (; name === "" && at < x + 80; at += 7) {
    await page.mouse.move(at, y);
    await page.evaluate(() => new Promise(requestAnimationFrame));
    name = (await textsOf(page, ".tip > bdi")).pop() ?? "";
  }
  at -= 7;
  assert.notEqual(name, "");
  for (let i = 0; i < 8; ++i) await page.mouse.wheel({ deltaY: -120 });
  await page.waitForFunction(() => !document.querySelector<HTMLButtonElement>(".picture-tools button:last-child")!.disabled);
  await page.waitForFunction(() => document.querySelector<HTMLElement>(".picture canvas")!.dataset.isStill === "true");
  await page.mouse.move(at + 1, y);
  await shows(page, name, ".tip");
  await page.click(".picture-tools button:last-child");
  await page.waitForFunction(() => document.querySelector<HTMLButtonElement>(".picture-tools button:last-child")!.disabled);
  await page.close();
});

test("a token is asked for, kept in memory alone, and asked for again when it has expired", async () => {
  const { server, url } = await serve({}, { token: "first" });
  const { page } = await open(browser, url);
  await shows(page, "A token is needed");
  await page.type("input[type=password]", "wrong");
  await page.keyboard.press("Enter");
  await shows(page, "not accepted");
  await page.$eval("input[type=password]", (input) => ((input as HTMLInputElement).value = ""));
  await page.type("input[type=password]", "first");
  await page.keyboard.press("Enter");
  await shows(page, "7 workloads");
  assert.equal(await page.evaluate(() => JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage }) + document.cookie + location.href).then((kept) => kept.includes("first")), false);
  await shows(page, "Live");
  server.token = "second";
  server.cut();
  await shows(page, "not accepted any longer");
  await page.type("input[type=password]", "second");
  await page.keyboard.press("Enter");
  await shows(page, "7 workloads");
  await page.close();
});

test("names with markup, emoji and writing from right to left are text, cut, and whole when pointed at", async () => {
  const { url } = await serve({ nodes: 24, pods: 260, pending: 60, isHostile: true });
  for (const hash of ["#/pending", "#/cluster?view=table", "#/cluster?group=zone", "#/decisions", "#/numbers"]) {
    const { page, complaints } = await open(browser, url, { hash });
    await settled(page);
    assert.equal(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked), undefined);
    assert.equal(await page.$$eval("img, #app script", (found) => found.length), 0);
    assert.deepEqual(complaints, [], hash);
    if (hash === "#/pending") {
      const markup = hostileNames[0]!;
      await shows(page, markup, ".table");
      assert.ok(await page.$$eval(".name", (names, long) => names.some((name) => name.textContent === long && name.getAttribute("title") === long && name.scrollWidth <= 700), "a".repeat(63)));
      await page.evaluate((name: string) => [...document.querySelectorAll<HTMLElement>(".row-open")].find((row) => row.textContent?.includes(name))?.click(), markup);
      await shows(page, "Where the nodes fell");
      assert.ok((await textsOf(page, "h1"))[0]?.startsWith(markup));
    }
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${hash} is wider than the window`);
    await page.close();
  }
});

test("a cluster without nodes says so", async () => {
  const { url } = await serve({ nodes: 0, pods: 0, pending: 9 });
  const { page, complaints } = await open(browser, url, { hash: "#/cluster" });
  await shows(page, "This cluster has no nodes");
  await page.click('a[href="#/pending"]');
  await shows(page, "9 pods of");
  assert.deepEqual(complaints, []);
  await page.close();
});

test("ages are right in a browser whose clock is an hour off", async () => {
  const { url } = await serve({ pending: 1 });
  const { page } = await open(browser, url, {
    before: `{ const real = Date.now; Date.now = () => real() - 3600000; }`,
  });
  await shows(page, "1 pod of 1 workload waits");
  const age = (await textsOf(page, ".table time"))[0] ?? "";
  const created = await page.$eval(".table time", (time) => Date.parse((time as HTMLTimeElement).dateTime));
  const minutes = Math.floor((Date.now() - created) / 60_000);
  assert.ok(age.startsWith(`${minutes}m`) || age.endsWith("s"), `${age} for ${minutes} minutes`);
  assert.notEqual(age, "0s");
  await page.close();
});

test("what if: a question is answered, its ghosts are in the picture, and what is wrong with it is said", async () => {
  const { server, url } = await serve();
  const { page, complaints } = await open(browser, url, { hash: "#/whatif" });
  await settled(page);
  await page.click("button[type=submit]");
  await shows(page, "Nothing is asked yet", ".problem");
  const asked = server.requests.filter((request) => request.startsWith("POST")).length;
  const folder = mkdtempSync(join(tmpdir(), "berth-page-"));
  const large = join(folder, "large.yaml");
  writeFileSync(large, `# ${"x".repeat(1022)}\n`.repeat((5 << 10) + 8));
  const small = join(folder, "web.yaml");
  writeFileSync(small, "kind: Deployment");
  const chooser = (await page.$("input[type=file]")) as ElementHandle<HTMLInputElement>;
  await chooser.uploadFile(large);
  await shows(page, "At most 5 MiB", ".problem");
  assert.equal(server.requests.filter((request) => request.startsWith("POST")).length, asked, "it is not sent");
  await chooser.uploadFile(small);
  await shows(page, "web.yaml", ".files");
  rmSync(folder, { recursive: true });
  await page.click("button[type=submit]");
  await shows(page, "1 stays pending");
  await shows(page, "Insufficient cpu", ".why-pending");
  await page.click(".answer-head a");
  await shows(page, "Ghosts of", ".in-hand");
  await page.goBack();
  await shows(page, "1 stays pending");
  await page.close();
  const other = await open(browser, url, { hash: "#/whatif?tab=drain&node=nothing" });
  await settled(other.page);
  await other.page.click("button[type=submit]");
  await shows(other.page, 'node "nothing" is not there', ".problem");
  assert.deepEqual(complaints, []);
  await other.page.close();
});

test("what if: another configuration is asked about, beside the one that decides", async () => {
  const { server, url } = await serve();
  const { page, complaints } = await open(browser, url, { hash: "#/whatif" });
  await settled(page);
  const type = (selector: string, text: string): Promise<void> =>
    page.$eval(
      selector,
      (box, value) => {
        (box as HTMLTextAreaElement).value = value;
        box.dispatchEvent(new Event("input", { bubbles: true }));
      },
      text,
    );
  const posts = (): number => server.requests.filter((request) => request.startsWith("POST")).length;
  await page.click(".other-configuration summary");
  await type(".other-configuration textarea", "kind: KubeSchedulerConfiguration");
  await page.click("button[type=submit]");
  await shows(page, "All placed");
  await shows(page, "extender https://gpu.shop is not asked", ".whatif-answer");
  assert.equal(posts(), 1, "the pods that wait are the question: there is nothing to compare with");
  await type(".whatif-form textarea", "kind: Deployment");
  await page.click("button[type=submit]");
  await shows(page, "By the configuration that decides here 1 stays pending", ".as-it-is");
  assert.equal(posts(), 3);
  assert.ok((await textsOf(page, ".whatif-answer th")).includes("Nodes as it is"));
  assert.deepEqual(complaints, []);
  await type(".other-configuration textarea", "kind: Pod");
  await page.click("button[type=submit]");
  await shows(page, 'kind "Pod" is not KubeSchedulerConfiguration', ".problem");
  await type(".other-configuration textarea", "#".repeat((1 << 20) + 1));
  const asked = posts();
  await page.click("button[type=submit]");
  await shows(page, "At most 256 KiB", ".problem");
  assert.equal(posts(), asked, "it is not sent");
  await page.close();
});

test("a decision that is opened says its scores, and what the runner-up lacked", async () => {
  const { url } = await serve();
  const { page } = await open(browser, url, { hash: "#/decisions?show=placed" });
  await settled(page);
  await page.click(".table .row-open");
  await page.waitForSelector(".score-bars");
  await shows(page, "TaintToleration", ".score-key");
  await page.waitForSelector(".runner-up");
  await page.click(".scores-head button");
  await shows(page, "Total", ".scores th");
  assert.match(page.url(), /open=\d+/);
  await page.close();
});

test("a snapshot is one state: no events are asked for, and Decisions says why it has none", async () => {
  const { server, url } = await serve({}, { mode: "snapshot" });
  const { page, complaints } = await open(browser, url, { hash: "#/decisions" });
  await shows(page, "No berth decides here");
  await shows(page, "Snapshot", ".where");
  assert.equal(server.requests.some((request) => request.endsWith("/events") || request.endsWith("/decisions")), false);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a recording is shown at the moment that is chosen", async () => {
  const { server, url } = await serve({}, { mode: "recording" });
  const { page, complaints } = await open(browser, url);
  await shows(page, "120 pods of 7 workloads");
  await shows(page, "0s of 100m", ".timeline");
  await page.focus(".timeline input");
  for (let i = 0; i < 3; ++i) await page.keyboard.press("ArrowRight");
  await shows(page, "115 pods of 7 workloads");
  assert.equal(server.moment.at, "2026-03-01T10:00:03.000Z");
  assert.equal(server.requests.filter((request) => request === "POST /ui/api/v1/timeline").length, 1, "three keys are one question");
  await page.click(".timeline button:last-of-type");
  await shows(page, "110 pods of 7 workloads");
  assert.equal(server.moment.at, "2026-03-01T10:01:03.000Z");
  await shows(page, "Recording", ".where");
  // Played, at another speed, and paused.
  await page.select(".timeline select", "1800");
  const shown = Date.parse(server.moment.at);
  await page.click(".timeline button");
  await shows(page, "Pause", ".timeline");
  await until(() => Date.parse(server.moment.at) > shown);
  await page.click(".timeline button");
  await shows(page, "Play", ".timeline");
  const minutes = (Date.parse(server.moment.at) - shown) / 60_000;
  assert.ok(minutes > 10, `${minutes} minutes in half a second at 30 minutes a second`);
  const asked = server.requests.length;
  await new Promise((resolve) => setTimeout(resolve, 1200));
  assert.equal(server.requests.length, asked, "it is paused");
  // To the moment of a decision, and to that in which a pod began to wait.
  await page.goto(`${url}#/decisions`);
  await page.click(".main-decisions .table .row-open");
  await shows(page, "Go to that moment", ".opened");
  const decided = await page.$eval(".main-decisions .table tbody time", (time) => (time as HTMLTimeElement).dateTime);
  const lists = (): number => server.requests.filter((request) => request.startsWith("GET /ui/api/v1/decisions")).length;
  const before = lists();
  await page.click(".opened .button-small");
  await until(() => server.moment.at === decided);
  await until(() => lists() > before);
  await settled(page);
  await page.click(".opened a");
  await shows(page, "When it began to wait", ".view-head");
  await page.click(".view-head button");
  await until(() => server.moment.at === server.moment.to);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("the theme is the system's until one is chosen, and the choice is kept", async () => {
  const { url } = await serve();
  const { page } = await open(browser, url, { theme: "dark" });
  await settled(page);
  const ground = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await ground(), "rgb(13, 15, 18)");
  await page.click(".nav-tools button");
  assert.equal(await ground(), "rgb(246, 247, 249)");
  await page.reload();
  await settled(page);
  assert.equal(await ground(), "rgb(246, 247, 249)");
  await page.evaluate(() => localStorage.clear());
  await page.close();
});

test("a plan is made by a policy, and its moves are arrows in the picture", async () => {
  const { url } = await serve();
  const { page, complaints } = await open(browser, url, { hash: "#/reports" });
  await page.waitForSelector("textarea");
  await page.type("textarea", "kind: Pod");
  await page.click("button[type=submit]");
  await shows(page, "kind should be DeschedulerPolicy", "[role=alert]");
  await page.type("textarea", "DeschedulerPolicy");
  await page.click("button[type=submit]");
  await shows(page, "3 pods of 40 would move");
  await page.click(".table .row-open");
  await shows(page, "1 violation fewer", ".sides");
  assert.equal((await page.$$(".sides .side")).length, 2);
  await page.evaluate(() => [...document.querySelectorAll("a")].find((link) => link.textContent === "Show in the cluster")?.click());
  await page.waitForFunction(() => document.querySelector<HTMLElement>(".picture canvas")?.dataset.arrows === "1");
  await page.click('[aria-label="Put the moves away"]');
  await page.waitForFunction(() => document.querySelector<HTMLElement>(".picture canvas")?.dataset.arrows === "0");
  assert.deepEqual(complaints.filter((line) => !line.includes("422")), []);
  await page.close();
});

test("files of plans and reports are opened, and others are refused in a sentence", async () => {
  const { url } = await serve({}, { mode: "snapshot" });
  const folder = mkdtempSync(join(tmpdir(), "berth-page-"));
  try {
    const file = (name: string, value: unknown): string => {
      const path = join(folder, name);
      writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
      return path;
    };
    const { page, complaints } = await open(browser, url, { hash: "#/reports" });
    await shows(page, "No plan is open");
    assert.equal(await page.$("textarea"), null, "this server plans nothing");
    const input = (await page.$("input[type=file]")) as ElementHandle<HTMLInputElement>;
    await input.uploadFile(file("notes.json", "hello"));
    await shows(page, "notes.json: This is no JSON", "[role=alert]");
    await input.uploadFile(file("plan.json", planOf()));
    await shows(page, "3 pods of 40 would move");
    await input.uploadFile(file("shadow.json", shadowOf(hostileNames[0], hostileNames[1])));
    await shows(page, "50.00 % agreement");
    await page.click(".link");
    await page.waitForFunction(() => document.querySelectorAll(".shadow .row-open").length === 1);
    await page.click(".shadow .row-open");
    await shows(page, "NodeResourcesFit", ".sides");
    assert.equal(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked), undefined);
    assert.deepEqual(complaints, []);
    await page.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("of a fleet with too many pods those in sight are read, and the search finds the others", async () => {
  const { server, url } = await serve({ nodes: 60, pods: 600, pending: 12 }, { podRowsMax: 100 });
  const { page, complaints } = await open(browser, url, { hash: "#/cluster" });
  await page.waitForFunction(() => document.querySelector<HTMLElement>(".picture canvas")?.dataset.nodes === "60");
  await shows(page, "12 waiting", ".waiting");
  const parts = (): number => server.requests.filter((each) => each.endsWith("/fleet/pods")).length;
  await page.focus(".picture canvas");
  for (let i = 0; i < 3; ++i) await page.keyboard.press("+");
  await page.waitForFunction(() => performance.getEntriesByType("resource").some((entry) => entry.name.includes("/fleet/pods?nodes=")));
  assert.ok(parts() >= 1);
  await page.keyboard.press("/");
  await page.waitForSelector("dialog[open] input");
  const wanted = server.cluster.pods[100]!.name;
  await page.keyboard.type(wanted);
  await shows(page, wanted, "[role=option]");
  assert.deepEqual(complaints, []);
  await page.close();
});
