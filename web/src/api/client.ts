// SPDX-License-Identifier: Apache-2.0
// Requests to the server. A token, where one is needed, is kept in this module's memory and nowhere else.
import type {
  DecisionList,
  DrainPlan,
  DrainRequest,
  Explanation,
  FoundPods,
  Headroom,
  HeadroomRequest,
  NodeFacts,
  NumberSeries,
  Pending,
  RebalancePlan,
  ShadowReport,
  SimulateRequest,
  Simulation,
  Status,
  Timeline,
} from "./types";

/** What the server refused, with its sentence for the user. */
export class ApiError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

let token = "";

/** The bearer token of all later requests; "" for none. */
export function setToken(text: string): void {
  token = text.trim().replace(/^Bearer\s+/i, "");
}

export function hasToken(): boolean {
  return token !== "";
}

function headers(more: Record<string, string> = {}): Record<string, string> {
  return token === "" ? more : { ...more, Authorization: `Bearer ${token}` };
}

const base = "api/v1";

/** Tries of one request while the server answers other questions. */
const triesMax = 5;

/** Waits, unless the request is given up meanwhile. */
function wait(ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("given up", "AbortError"));
    });
  });
}

async function request(path: string, options: RequestInit = {}, tries = 1): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`${base}${path}`, {
      ...options,
      headers: headers(options.headers as Record<string, string> | undefined),
      cache: "no-store",
      credentials: "same-origin",
    });
  } catch (error) {
    if (error instanceof Error && error.name === "AbortError") throw error;
    throw new ApiError(0, "The server cannot be reached.");
  }
  if (response.ok) return response;
  if (response.status === 429 && tries < triesMax) {
    await wait(Math.min(5, Number(response.headers.get("Retry-After")) || 1) * 1000, options.signal);
    return request(path, options, tries + 1);
  }
  throw new ApiError(response.status, await sentenceOf(response));
}

/** The server's own sentence, or one that says what the number means. */
async function sentenceOf(response: Response): Promise<string> {
  try {
    const body = (await response.json()) as { message?: unknown };
    if (typeof body.message === "string" && body.message !== "") return body.message;
  } catch {
    // Not JSON: the number says it.
  }
  switch (response.status) {
    case 401:
      return "The server asks for a token, or the token has expired.";
    case 403:
      return "The server refuses this browser: open the link that berth has printed.";
    case 404:
      return "There is no such thing on the server.";
    case 413:
      return "That is more than the server takes (5 MiB).";
    case 429:
      return "The server is answering another question. Try again in a moment.";
    case 503:
      return "The server has not read the cluster yet.";
    default:
      return `The server answered ${response.status}.`;
  }
}

async function json<T>(path: string, options?: RequestInit): Promise<T> {
  return (await (await request(path, options)).json()) as T;
}

function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return json<T>(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json" },
    ...(signal ? { signal } : {}),
  });
}

const part = encodeURIComponent;

export const api = {
  status: () => json<Status>("/status"),
  pending: () => json<Pending>("/pending"),
  pod: (namespace: string, name: string, signal?: AbortSignal) =>
    json<Explanation>(`/pods/${part(namespace)}/${part(name)}`, signal ? { signal } : {}),
  node: (name: string, signal?: AbortSignal) => json<NodeFacts>(`/nodes/${part(name)}`, signal ? { signal } : {}),
  decisions: (limit: number) => json<DecisionList>(`/decisions?limit=${limit}`),
  numbers: () => json<NumberSeries>("/numbers"),
  fleet: async () => (await request("/fleet")).arrayBuffer(),
  /** The pods on some nodes, by their ids. */
  podsOf: async (nodes: readonly number[]) => (await request(`/fleet/pods?nodes=${nodes.join(",")}`)).arrayBuffer(),
  search: (text: string, signal: AbortSignal) => json<FoundPods>(`/search?text=${part(text)}`, { signal }),
  simulate: (body: SimulateRequest, signal?: AbortSignal) => post<Simulation>("/simulate", body, signal),
  canDrain: (body: DrainRequest, signal?: AbortSignal) => post<DrainPlan>("/can-drain", body, signal),
  headroom: (body: HeadroomRequest, signal?: AbortSignal) => post<Headroom>("/headroom", body, signal),
  /** What a DeschedulerPolicy would have moved. */
  rebalance: (policy: string, withinScheduler: boolean, signal?: AbortSignal) => post<RebalancePlan>("/rebalance", { policy, withinScheduler }, signal),
  /** The report of `berth shadow` that the server was given. */
  shadow: () => json<ShadowReport>("/shadow"),
  timeline: () => json<Timeline>("/timeline"),
  /** Shows another moment of the recording, to all readers. */
  seek: (at: string) => post<Timeline>("/timeline", { at }),
  /** The stream of events behind `last` ("EPOCH-REVISION-SEQUENCE"), whatever its status. */
  events: (last: string, signal: AbortSignal) =>
    fetch(`${base}/events`, {
      headers: headers(last === "" ? { Accept: "text/event-stream" } : { Accept: "text/event-stream", "Last-Event-ID": last }),
      cache: "no-store",
      credentials: "same-origin",
      signal,
    }),
};
