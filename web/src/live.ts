// SPDX-License-Identifier: Apache-2.0
// Fills the stores: asks for everything once, then follows the server's events. What a lost connection has missed comes
// with the next one, from the last event on.
import { ApiError, api } from "./api/client";
import type { StreamEvent } from "./api/event_stream";
import { keepStream } from "./api/event_stream";
import { fromBase64, readFrame } from "./api/fleet_frame";
import type { DecisionList, FleetEvent, NumberSample, PendingEvent, Status } from "./api/types";
import * as model from "./model";
import { hearClock } from "./state/clock";
import { addDecisions, noDecisions } from "./state/decisions";
import { applyDelta, fleetOf, lookedMax, partNodesMax, unread, withPart } from "./state/fleet";
import { addSample, samplesMax } from "./state/numbers";

/** Deltas that wait while the whole fleet is being read; with more, it is read once more. */
const deltasMax = 500;

let endStream: (() => void) | undefined;
let isLoadingFleet = false;
let mustLoadFleet = false;
let waitingDeltas: FleetEvent[] = [];
let isLoadingPending = false;
let mustLoadPending = false;

/** Begins, or begins anew: after a token has been given, or another server answers. */
export async function start(): Promise<void> {
  endStream?.();
  endStream = undefined;
  try {
    // Nothing of the status is needed to ask for the fleet, which is most of what there is to wait for.
    const fleet = api.fleet();
    fleet.catch(() => undefined);
    const status = await api.status();
    model.barrier.set({ kind: "none", sentence: "" });
    takeStatus(status);
    const has = (feature: string): boolean => status.features.includes(feature);
    await Promise.all([
      loadPending(),
      loadFleet(fleet),
      has("decisions") ? loadDecisions() : undefined,
      has("timeline") ? api.timeline().then((said) => model.timeline.set(said), report) : undefined,
      has("numbers") ? loadNumbers() : model.samples.set([]),
    ]);
    if (has("events")) follow();
    else model.connection.set({ state: "still", problem: "", sinceMs: performance.now() });
  } catch (error) {
    report(error);
    if (model.barrier.value.kind === "none") setTimeout(() => void start(), 3000);
  }
}

function takeStatus(status: Status): void {
  const known = model.status.value;
  if (known !== undefined && known.epoch !== status.epoch) {
    model.decisions.set(noDecisions);
    model.samples.set(undefined);
  }
  model.status.set(status);
  heardClock(status.clock);
}

function heardClock(text: string | undefined): void {
  if (text === undefined) return;
  model.clock.set(hearClock(model.clock.value, Date.parse(text), performance.now()));
}

/** Says what went wrong; a missing token or right stands before everything else. */
function report(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  const sentence = error instanceof Error ? error.message : String(error);
  if (error instanceof ApiError && error.code === 401) model.barrier.set({ kind: "token", sentence });
  else if (error instanceof ApiError && error.code === 403) model.barrier.set({ kind: "forbidden", sentence });
  else {
    model.problem.set(sentence);
    if (error instanceof ApiError && error.code === 0) model.connection.set({ state: "lost", problem: sentence, sinceMs: performance.now() });
  }
}

async function loadPending(): Promise<void> {
  if (isLoadingPending) {
    mustLoadPending = true;
    return;
  }
  isLoadingPending = true;
  try {
    do {
      mustLoadPending = false;
      model.pending.set(await api.pending());
    } while (mustLoadPending);
    model.problem.set("");
  } catch (error) {
    report(error);
  } finally {
    isLoadingPending = false;
  }
}

/** `anew`: those that are known are of another moment. */
async function loadDecisions(anew = false): Promise<void> {
  try {
    const said = await api.decisions(500);
    model.decisions.update((known) => addDecisions(anew ? noDecisions : known, said));
  } catch (error) {
    report(error);
  }
}

async function loadNumbers(): Promise<void> {
  try {
    const said = await api.numbers();
    model.samples.set(said.samples.slice(-samplesMax));
  } catch (error) {
    report(error);
  }
}

/** `asked`: an answer that is under way already. */
async function loadFleet(asked?: Promise<ArrayBuffer>): Promise<void> {
  if (isLoadingFleet) {
    mustLoadFleet = true;
    return;
  }
  isLoadingFleet = true;
  try {
    do {
      mustLoadFleet = false;
      model.fleet.set(fleetOf(readFrame(await (asked ?? api.fleet()))));
      asked = undefined;
      const late = waitingDeltas;
      waitingDeltas = [];
      for (const delta of late) takeDelta(delta);
    } while (mustLoadFleet);
  } catch (error) {
    report(error);
  } finally {
    isLoadingFleet = false;
  }
}

/** What has changed on nodes in sight is read again no more often. */
const partPauseMs = 1000;
let inSight: readonly number[] = [];
let isLoadingParts = false;
let partsReadMs = 0;

/** The pods of these nodes are to be seen. Of a fleet that does not have all pods they are read. */
export function lookAtNodes(ids: readonly number[]): void {
  inSight = ids.slice(0, lookedMax);
  if (!isLoadingParts) void loadParts();
}

async function loadParts(): Promise<void> {
  isLoadingParts = true;
  try {
    for (;;) {
      const fleet = model.fleet.value;
      if (fleet === undefined || !fleet.isAggregated) return;
      const pauseMs = partsReadMs + partPauseMs - performance.now();
      const ids = unread(fleet, inSight, pauseMs <= 0).slice(0, partNodesMax);
      if (ids.length === 0) {
        if (pauseMs <= 0 || unread(fleet, inSight, true).length === 0) return;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        continue;
      }
      const frame = readFrame(await api.podsOf(ids));
      partsReadMs = performance.now();
      const known = model.fleet.value;
      const next = known === undefined ? undefined : withPart(known, frame);
      if (next === undefined) return;
      model.fleet.set(next);
    }
  } catch (error) {
    report(error);
  } finally {
    isLoadingParts = false;
  }
}

function takeDelta(event: FleetEvent): void {
  const fleet = model.fleet.value;
  if (event.reload || event.frame === undefined || fleet === undefined) {
    void loadFleet();
    return;
  }
  const next = applyDelta(fleet, readFrame(fromBase64(event.frame)));
  if (next === undefined) mustReload();
  else model.fleet.set(next);
}

function mustReload(): void {
  if (isLoadingFleet) mustLoadFleet = true;
  else void loadFleet();
}

function follow(): void {
  const status = model.status.value;
  const fleet = model.fleet.value;
  const first = fleet === undefined ? "" : `${fleet.epoch}-${fleet.revision}-${model.decisions.value.list[0]?.sequence ?? 0}`;
  let epoch = status?.epoch;
  endStream = keepStream({
    first,
    open: (last, signal) => api.events(last, signal),
    onEvent: (event) => {
      try {
        const said = JSON.parse(event.data) as unknown;
        if (event.name === "hello") {
          const hello = said as { epoch: number; clock?: string };
          heardClock(hello.clock);
          if (epoch !== undefined && hello.epoch !== epoch) {
            epoch = hello.epoch;
            void beginAnew();
          }
          return;
        }
        take(event, said);
      } catch (error) {
        report(error);
      }
    },
    onState: (state, sentence) => {
      model.connection.set({ state, problem: sentence, sinceMs: performance.now() });
      if (state === "live") model.problem.set("");
      // Why it was refused is what an ordinary request is told.
      if (state === "refused") void api.status().then(() => start(), report);
    },
  });
}

/** Shows another moment of a recording. Nothing is empty meanwhile. */
export async function seek(at: string): Promise<void> {
  try {
    model.timeline.set(await api.seek(at));
    takeStatus(await api.status());
    const has = (feature: string): boolean => model.status.value?.features.includes(feature) ?? false;
    await Promise.all([loadFleet(), loadPending(), has("decisions") ? loadDecisions(true) : undefined]);
  } catch (error) {
    report(error);
  }
}

/** Another process answers than before: ids and revisions of the old one mean nothing. */
async function beginAnew(): Promise<void> {
  try {
    takeStatus(await api.status());
    model.fleet.set(undefined);
    const has = (feature: string): boolean => model.status.value?.features.includes(feature) ?? false;
    await Promise.all([loadFleet(), loadPending(), has("decisions") ? loadDecisions() : undefined, has("numbers") ? loadNumbers() : undefined]);
  } catch (error) {
    report(error);
  }
}

function take(event: StreamEvent, said: unknown): void {
  switch (event.name) {
    case "fleet": {
      const delta = said as FleetEvent;
      if (isLoadingFleet && !delta.reload) {
        if (waitingDeltas.length < deltasMax) waitingDeltas.push(delta);
        else mustLoadFleet = true;
      } else takeDelta(delta);
      break;
    }
    case "pending": {
      const { pending } = said as PendingEvent;
      // An answer that is under way may be older than what is said here.
      if (pending === undefined || isLoadingPending) void loadPending();
      else model.pending.set(pending);
      break;
    }
    case "decisions":
      model.decisions.update((known) => addDecisions(known, said as DecisionList));
      break;
    case "numbers":
      model.samples.update((known) => addSample(known ?? [], said as NumberSample));
      heardClock((said as NumberSample).time);
      break;
    case "status":
      takeStatus(said as Status);
      break;
  }
}
