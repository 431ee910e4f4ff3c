// SPDX-License-Identifier: Apache-2.0
// All that the page knows, each thing in its store. live.ts fills them; views show them.
import type { ConnectionState } from "./api/event_stream";
import type { NumberSample, Pending, RebalancePlan, ShadowReport, Simulation, SimulateRequest, Status, Timeline } from "./api/types";
import type { ServerClock } from "./state/clock";
import { serverNow, unknownClock } from "./state/clock";
import type { Decisions } from "./state/decisions";
import { noDecisions } from "./state/decisions";
import type { Fleet } from "./state/fleet";
import type { Route } from "./state/route";
import { formatRoute, parseRoute } from "./state/route";
import { Store } from "./state/store";

export interface Connection {
  readonly state: ConnectionState | "still";
  readonly problem: string;
  /** When it got into this state, by the counter. */
  readonly sinceMs: number;
}

/** What keeps the page from asking at all: a missing token or right. */
export interface Barrier {
  readonly kind: "none" | "token" | "forbidden";
  readonly sentence: string;
}

export interface Trial {
  readonly request: SimulateRequest | undefined;
  readonly result: Simulation | undefined;
  /** By the configuration that decides here, where the question has brought another one. */
  readonly plain: Simulation | undefined;
}
export const noTrial: Trial = { request: undefined, result: undefined, plain: undefined };

export const status = new Store<Status | undefined>(undefined);
export const connection = new Store<Connection>({ state: "connecting", problem: "", sinceMs: 0 });
export const barrier = new Store<Barrier>({ kind: "none", sentence: "" });
export const clock = new Store<ServerClock>(unknownClock);
/** Counts seconds, so that ages tick. */
export const second = new Store(0);
export const fleet = new Store<Fleet | undefined>(undefined);
export const pending = new Store<Pending | undefined>(undefined);
export const decisions = new Store<Decisions>(noDecisions);
/** Undefined until they have been read. */
export const samples = new Store<readonly NumberSample[] | undefined>(undefined);
export const problem = new Store("");
export const route = new Store<Route>(parseRoute(location.hash));
/** The last answer to a question what if: its ghosts are in the picture. */
export const trial = new Store<Trial>(noTrial);
/** The plan whose moves are arrows in the picture of the cluster. */
export const plan = new Store<RebalancePlan | undefined>(undefined);
/** The report of `berth shadow` that is open. */
export const shadowReport = new Store<ShadowReport | undefined>(undefined);
/** Of a recording: its bounds and the moment that is shown. */
export const timeline = new Store<Timeline | undefined>(undefined);
export const isSearching = new Store(false);
export const isHelping = new Store(false);

/** The server's time now, in milliseconds since 1970. */
export function serverTime(): number {
  return serverNow(clock.value, performance.now(), Date.now());
}

/** The moment that is shown, from which ages are counted: now, or that of a snapshot or a recording. */
export function now(): number {
  const said = status.value;
  return said !== undefined && said.mode !== "live" && said.asOf !== undefined ? Date.parse(said.asOf) : serverTime();
}

/** The address that was shown before a step back or forward; "" after any other step. */
export let cameBackFrom = "";

/** Goes to a view. `replace` changes the address without a step of history: for choices within a view. */
export function go(to: Route, replace = false): void {
  const hash = formatRoute(to);
  if (hash === location.hash) return;
  cameBackFrom = "";
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  route.set(to);
}

// A link is a step too, after which the browser says the same: only a step back finds its address among those that were shown.
const shown: string[] = [formatRoute(route.value)];
const shownMax = 200;

route.listen(() => {
  const hash = formatRoute(route.value);
  if (shown[shown.length - 1] !== hash) shown.push(hash);
  if (shown.length > shownMax) shown.shift();
});

window.addEventListener("popstate", () => {
  const to = parseRoute(location.hash);
  const hash = formatRoute(to);
  const from = formatRoute(route.value);
  if (hash === from) return;
  const isBack = shown[shown.length - 2] === hash;
  cameBackFrom = isBack ? from : "";
  if (isBack) shown.splice(-2, 2);
  route.set(to);
});

setInterval(() => {
  if (!document.hidden) second.update((count) => count + 1);
}, 1000);
