// SPDX-License-Identifier: Apache-2.0
// The program itself, as a process: BERTH_BINARY names it. What takes time is asked for again until a deadline.
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

// A million pods take minutes to be read where other programs run.
const deadlineMs = process.env.BERTH_PAGE_LARGE === undefined ? 60_000 : 600_000;

export const binary = process.env.BERTH_BINARY ?? "";

/** The environment without what would lead berth to another cluster. */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(KUBECONFIG|KUBERNETES_SERVICE_.*|.*_proxy)$/i.test(name)));

export async function until<T>(what: string, look: () => Promise<T | undefined | false> | T | undefined | false): Promise<T> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    assert.ok(Date.now() < end, `not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export function folder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), "berth-page-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** A port of loopback that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  assert.ok(typeof address === "object" && address !== null);
  return address.port;
}

/** Runs a command of berth to its end; returns what it has written. It has answered, whatever its status, if it has nothing to complain of. */
export async function berth(...words: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(binary, words, { env: environment, maxBuffer: 1 << 28 }, (error, out, complaint) => {
      if (out !== "" && complaint === "") resolve(out);
      else reject(new Error(`berth ${words.join(" ")}: ${complaint || error?.message}`));
    });
  });
}

/** A command of berth that runs for a while: what it has written when it ends, and what it has complained of so far. */
export function run(...words: string[]): { out: Promise<string>; complaint: () => string } {
  const child = spawn(binary, words, { env: environment, stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let complaint = "";
  child.stdout.on("data", (data: Buffer) => (out += data.toString()));
  child.stderr.on("data", (data: Buffer) => (complaint += data.toString()));
  return { out: new Promise((resolve) => child.on("close", () => resolve(out))), complaint: () => complaint };
}

/** A berth that serves its page. */
export class Serving {
  private constructor(
    private readonly process: ChildProcess,
    /** The link, which one browser may use once. */
    readonly link: string,
    /** The cluster's API server; "": it is another's. */
    readonly master: string,
  ) {}

  static async start(...words: string[]): Promise<Serving> {
    const needsPort = words[0] === "demo" || words[0] === "cluster";
    const listen = `127.0.0.1:${needsPort ? await freePort() : 0}`;
    const child = spawn(binary, [...words, "--listen", listen], { env: environment, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    let hasEnded = false;
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (said += data.toString()));
    child.on("exit", () => (hasEnded = true));
    try {
      const link = await until(`berth ${words.join(" ")} prints its link; it says ${said}`, () => {
        assert.ok(!hasEnded, `berth ${words.join(" ")} has ended: ${said}`);
        return /(http:\/\/\S+\/ui\/\?key=\S+)\n/.exec(said)?.[1];
      });
      return new Serving(child, link, needsPort ? `http://${listen}` : "");
    } catch (error) {
      child.kill("SIGKILL");
      throw error;
    }
  }

  async end(): Promise<void> {
    if (this.process.exitCode !== null) return;
    const ended = new Promise((resolve) => this.process.on("exit", resolve));
    this.process.kill("SIGTERM");
    await ended;
  }

  /** A request to the cluster's API server. */
  async kube<T>(method: string, path: string, body?: unknown): Promise<T> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const answer = await fetch(this.master + path, { method, headers: { "Content-Type": type }, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as T;
  }

  async create(...objects: readonly KubeObject[]): Promise<void> {
    for (const each of objects) {
      const group = each.apiVersion.includes("/") ? `/apis/${each.apiVersion}` : `/api/${each.apiVersion}`;
      const plural = each.kind.toLowerCase().replace(/y$/, "ie").replace(/s$/, "se") + "s";
      const namespace = each.metadata.namespace ?? "default";
      await this.kube("POST", ["Namespace", "PriorityClass"].includes(each.kind) ? `${group}/${plural}` : `${group}/namespaces/${namespace}/${plural}`, each);
    }
  }
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [more: string]: unknown };
  readonly [more: string]: unknown;
}

/** What the page's server says to somebody without a browser, who has used the link. */
export class Client {
  private constructor(
    private readonly origin: string,
    private readonly cookie: string,
  ) {}

  static async of(link: string): Promise<Client> {
    const answer = await fetch(link, { redirect: "manual" });
    const cookie = (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    assert.notEqual(cookie, "", `${link} gives no cookie: ${answer.status}`);
    return new Client(new URL(link).origin, cookie);
  }

  async get<T>(path: string): Promise<T> {
    const answer = await fetch(`${this.origin}/ui/api/v1/${path}`, { headers: { Cookie: this.cookie } });
    assert.equal(answer.status, 200, `${path}: ${await answer.clone().text()}`);
    return (await answer.json()) as T;
  }
}
