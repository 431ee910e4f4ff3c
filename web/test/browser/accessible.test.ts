// SPDX-License-Identifier: Apache-2.0
// axe finds nothing in any view, light and dark, wide and on a phone. With BERTH_PAGE_PICTURES=FOLDER the pictures of the
// documentation are taken on the way.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import test, { after, before } from "node:test";
import type { Browser, Page } from "puppeteer-core";
import type { MockServer } from "../mock_server";
import { axe, open, settled, shows, startBrowser, startServer } from "./browser";

let browser: Browser;
let server: MockServer;
let url: string;
const pictures = process.env.BERTH_PAGE_PICTURES ?? "";
const pictureBytesMax = 200_000;

before(async () => {
  browser = await startBrowser();
  ({ server, url } = await startServer({ nodes: 90, pods: 1300, pending: 412 }));
});

after(async () => {
  await browser.close();
  await server.close();
});

/** Pictures of the documentation, by view and form. */
const pictureNames: Readonly<Record<string, string>> = {
  "pending-light": "page-pending",
  "pod-light": "page-pod",
  "cluster-node-dark": "page-cluster",
  "decisions-dark": "page-decisions",
  "whatif-light": "page-what-if",
  "numbers-light": "page-numbers",
  "rebalance-light": "page-rebalance",
  "shadow-dark": "page-shadow",
  "pending-phone": "page-phone",
};

async function take(page: Page, name: string): Promise<void> {
  const file = pictureNames[name];
  if (pictures === "" || file === undefined) return;
  const path = join(pictures, `${file}.png`) as `${string}.png`;
  await page.screenshot({ path });
  assert.ok(statSync(path).size < pictureBytesMax, `${path} has ${statSync(path).size} bytes`);
}

async function simulate(page: Page): Promise<void> {
  await page.type("textarea", "kind: Deployment");
  await page.click("button[type=submit]");
  await shows(page, "1 stays pending");
}

const views: readonly { name: string; hash: string; then?: (page: Page) => Promise<void> }[] = [
  { name: "pending", hash: "#/pending" },
  { name: "pending-by-reason", hash: "#/pending?by=reason" },
  {
    name: "pod",
    hash: "#/pending",
    then: async (page) => {
      await page.click(".table .row-open");
      await shows(page, "Where the nodes fell");
    },
  },
  { name: "cluster", hash: "#/cluster" },
  { name: "cluster-node", hash: "#/cluster?color=health&node=ip-10-20-7-14", then: (page) => shows(page, "Ready", ".drawer") },
  { name: "cluster-table", hash: "#/cluster?view=table&color=taints" },
  {
    name: "decisions",
    hash: "#/decisions?show=placed",
    then: async (page) => {
      await page.click(".table tbody tr:nth-child(2) .row-open");
      await page.waitForSelector(".score-bars");
    },
  },
  { name: "whatif", hash: "#/whatif", then: simulate },
  {
    name: "whatif-configuration",
    hash: "#/whatif",
    then: async (page) => {
      await page.click(".other-configuration summary");
      await page.type(".other-configuration textarea", "kind: KubeSchedulerConfiguration");
      await page.type("textarea", "kind: Deployment");
      await page.click("button[type=submit]");
      await shows(page, "1 stays pending", ".as-it-is");
    },
  },
  {
    name: "drain",
    hash: "#/whatif?tab=drain&node=ip-10-20-7-14",
    then: async (page) => {
      await page.click("button[type=submit]");
      await shows(page, "Cannot be drained");
    },
  },
  {
    name: "headroom",
    hash: "#/whatif?tab=headroom",
    then: async (page) => {
      await page.click("button[type=submit]");
      await shows(page, "Survives");
    },
  },
  { name: "numbers", hash: "#/numbers" },
  {
    name: "rebalance",
    hash: "#/reports",
    then: async (page) => {
      await page.waitForSelector("textarea");
      await page.type("textarea", "kind: DeschedulerPolicy");
      await page.click("button[type=submit]");
      await shows(page, "3 moves", ".pill");
      await page.click(".table .row-open");
      await page.waitForSelector(".sides");
    },
  },
  {
    name: "shadow",
    hash: "#/reports?tab=shadow",
    then: async (page) => {
      await shows(page, "50.00 % agreement");
      await page.click(".table .row-open");
      await page.waitForSelector(".sides");
    },
  },
  {
    name: "search",
    hash: "#/pending",
    then: async (page) => {
      await page.keyboard.press("/");
      await page.waitForSelector("dialog[open] input");
      await page.keyboard.type("check");
      await shows(page, "checkout", "[role=option]");
    },
  },
  {
    name: "help",
    hash: "#/pending",
    then: async (page) => {
      await page.keyboard.press("?");
      await page.waitForSelector("dialog[open]");
    },
  },
];

for (const view of views) {
  test(`${view.name} is accessible`, async () => {
    for (const [theme, width, height] of [["light", 1280, 800], ["dark", 1280, 800], ["light", 390, 844]] as const) {
      const { page, complaints } = await open(browser, url, { hash: view.hash, theme, width, height });
      await settled(page);
      await view.then?.(page);
      await settled(page);
      assert.deepEqual(await axe(page), [], `${view.name}, ${theme}, ${width} wide`);
      assert.deepEqual(complaints, []);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${view.name} is wider than ${width}`);
      await take(page, `${view.name}-${width < 500 ? "phone" : theme}`);
      await page.close();
    }
  });
}

test("a recording is accessible", async () => {
  const recording = await startServer({}, { mode: "recording" });
  const { page } = await open(browser, recording.url);
  await settled(page);
  await page.waitForSelector(".timeline");
  assert.deepEqual(await axe(page), []);
  await page.close();
  await recording.server.close();
});

test("asking for a token is accessible", async () => {
  const guarded = await startServer({}, { token: "x" });
  const { page } = await open(browser, guarded.url, { theme: "dark" });
  await shows(page, "A token is needed");
  assert.deepEqual(await axe(page), []);
  await page.close();
  await guarded.server.close();
});
