// SPDX-License-Identifier: Apache-2.0
// A large snapshot in the page of the program itself: what comes over the wire, and how soon there is a picture. With
// BERTH_PAGE_LARGE=1 also 100,000 nodes and a million pods (8 GB of memory, some minutes).
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import test, { after, before } from "node:test";
import type { Browser, Page } from "puppeteer-core";
import { open, startBrowser, web } from "../browser/browser";
import { Serving, folder } from "./berth";

let browser: Browser;
const files = folder();

before(async () => {
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  files.remove();
});

async function serve(nodes: number, pods: number): Promise<Serving> {
  const path = join(files.path, `${nodes}.zst`);
  execFileSync("python3", [join(web, "../bench/page_snapshot.py"), path, "--nodes", String(nodes), "--pods", String(pods), "--pending", "200"]);
  return Serving.start("ui", "--snapshot", path);
}

interface Seen {
  /** From the address on. */
  readonly pictureMs: number;
  readonly wireBytes: number;
  readonly frameBytes: number;
}

async function picture(page: Page, nodes: number): Promise<Seen> {
  await page.waitForFunction((count: number) => document.querySelector<HTMLElement>(".picture canvas")?.dataset.nodes === String(count), { timeout: 60_000, polling: "raf" }, nodes);
  return page.evaluate(() => {
    const entries = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
    const frame = entries.find((entry) => entry.name.endsWith("/fleet"));
    return { pictureMs: Math.round(performance.now()), wireBytes: entries.reduce((sum, entry) => sum + entry.transferSize, 0), frameBytes: frame?.decodedBodySize ?? 0 };
  });
}

/** The picture of a link, opened twice by its address, when the link has given the browser its cookie. */
async function opened(serving: Serving, nodes: number): Promise<{ page: Page; first: Seen; second: Seen }> {
  const { page } = await open(browser, serving.link);
  await page.waitForFunction(() => location.search === "" && document.querySelector("h1") !== null);
  const again = async (): Promise<Seen> => {
    await page.goto("about:blank");
    await page.goto(`${new URL(serving.link).origin}/ui/#/cluster`, { waitUntil: "domcontentloaded" });
    return picture(page, nodes);
  };
  const first = await again();
  return { page, first, second: await again() };
}

// Other programs may run on the machine: bounds on times are a few times what is measured on a quiet one.
test("5,000 nodes and 50,000 pods come in a megabyte", async (t) => {
  const serving = await serve(5000, 50_000);
  try {
    const { page, first, second } = await opened(serving, 5000);
    t.diagnostic(`first picture after ${first.pictureMs} ms, again after ${second.pictureMs} ms; ${first.wireBytes} bytes on the wire, a frame of ${first.frameBytes}`);
    assert.ok(first.frameBytes > 4e6, "all pods are there");
    assert.ok(first.wireBytes <= 1e6, `${first.wireBytes} bytes`);
    assert.ok(Math.min(first.pictureMs, second.pictureMs) < 10_000);
    await page.close();
  } finally {
    await serving.end();
  }
});

test("100,000 nodes and a million pods are drawn, and the pods of those that one looks at", { skip: process.env.BERTH_PAGE_LARGE === undefined }, async (t) => {
  const serving = await serve(100_000, 1_000_000);
  try {
    const { page, first, second } = await opened(serving, 100_000);
    t.diagnostic(`first picture after ${first.pictureMs} ms, again after ${second.pictureMs} ms; ${first.wireBytes} bytes on the wire, a frame of ${first.frameBytes}`);
    await page.focus(".picture canvas");
    for (let i = 0; i < 8; ++i) await page.keyboard.press("+");
    await page.waitForFunction(() => performance.getEntriesByType("resource").some((entry) => entry.name.includes("/fleet/pods?nodes=")), { timeout: 30_000 });
    assert.ok(Math.min(first.pictureMs, second.pictureMs) < 15_000);
    await page.close();
  } finally {
    await serving.end();
  }
});
