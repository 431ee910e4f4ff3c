// SPDX-License-Identifier: Apache-2.0
// What the browser tests share: a Chromium without a screen, pages that report every complaint of the browser, and axe.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "puppeteer-core";
import { launch } from "puppeteer-core";
import type { makeCluster } from "../mock_cluster";
import { MockServer } from "../mock_server";
import { makeCluster as make } from "../mock_cluster";

const here = dirname(fileURLToPath(import.meta.url));
export const web = join(here, "../..");

const paths = [process.env.BERTH_CHROMIUM ?? "", "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Ends the browser, and the servers that were started, when the tests of a file are over. */
export async function startBrowser(): Promise<Browser> {
  const path = paths.find((each) => each !== "" && existsSync(each));
  assert.ok(path, "no Chromium: install the package chromium, or name one in BERTH_CHROMIUM");
  return launch({ executablePath: path, args: ["--no-sandbox", "--disable-dev-shm-usage", "--js-flags=--expose-gc", "--force-color-profile=srgb", "--hide-scrollbars"], protocolTimeout: 120_000 });
}

export type Shape = Partial<Parameters<typeof makeCluster>[0]>;

export async function startServer(shape: Shape = {}, options: Partial<ConstructorParameters<typeof MockServer>[0]> = {}): Promise<{ server: MockServer; url: string }> {
  const nowMs = Date.now() + (options.clockAheadMs ?? 0);
  const cluster = make({ seed: 5, nodes: 60, pods: 600, pending: 120, nowMs, ...shape });
  const server = new MockServer({ cluster, dist: join(web, "dist"), ...options });
  return { server, url: await server.listen() };
}

export interface Opened {
  readonly page: Page;
  /** What the browser has complained about: errors in the console, exceptions, requests that failed. */
  readonly complaints: string[];
}

export interface OpenOptions {
  readonly hash?: string;
  readonly theme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
  /** With movements; else the page is asked for none. */
  readonly hasMotion?: boolean;
  /** Run before the page's own script. */
  readonly before?: string;
}

export async function open(browser: Browser, url: string, options: OpenOptions = {}): Promise<Opened> {
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warn") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.setViewport({ width: options.width ?? 1280, height: options.height ?? 800 });
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: options.theme ?? "light" },
    { name: "prefers-reduced-motion", value: options.hasMotion ? "no-preference" : "reduce" },
  ]);
  if (options.before) await page.evaluateOnNewDocument(options.before);
  await page.goto(`${url}${options.hash ?? ""}`, { waitUntil: "domcontentloaded" });
  return { page, complaints };
}

/** Waits until the page shows a text, anywhere or in what a selector names. */
export async function shows(page: Page, text: string, selector = "body"): Promise<void> {
  await page.waitForFunction(
    (wanted: string, where: string) => [...document.querySelectorAll(where)].some((element) => ((element as HTMLElement).innerText ?? element.textContent ?? "").includes(wanted)),
    { timeout: 20_000 },
    text,
    selector,
  );
}

export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(() => document.querySelector(".loading") === null && document.querySelector("h1") !== null, { timeout: 30_000 });
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

export async function textsOf(page: Page, selector: string): Promise<string[]> {
  return page.$$eval(selector, (elements) => elements.map((element) => (element as HTMLElement).innerText.trim()));
}

/** What axe finds wrong with the page as it is, a line each. */
export async function axe(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(join(web, "node_modules/axe-core/axe.min.js"), "utf8"));
  return page.evaluate(async () => {
    interface Found {
      id: string;
      help: string;
      nodes: { html: string; failureSummary?: string }[];
    }
    const { violations } = await (window as unknown as { axe: { run: (where: Document) => Promise<{ violations: Found[] }> } }).axe.run(document);
    return violations.flatMap((found) => found.nodes.map((node) => `${found.id}: ${found.help}: ${node.html.slice(0, 200)} ${node.failureSummary ?? ""}`));
  });
}
