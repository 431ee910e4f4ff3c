// SPDX-License-Identifier: Apache-2.0
// The server's time. The browser's clock may be wrong or be set while the page is open, so that ages are counted from the
// server's clock, and between its messages by a counter that no one sets.

export interface ServerClock {
  /** Server's time minus the counter, in milliseconds. */
  readonly offsetMs: number;
  readonly isKnown: boolean;
}

export const unknownClock: ServerClock = { offsetMs: 0, isKnown: false };

/**
 * What the clock says after the server has told its time. A message that was under way for long makes the server look
 * late, so of several the one that leads furthest is right; `drift` is how far behind it a new one may be before the
 * server's clock is taken to have been set back.
 */
export function hearClock(clock: ServerClock, serverMs: number, counterMs: number, driftMs = 5_000): ServerClock {
  if (!Number.isFinite(serverMs)) return clock;
  const offsetMs = serverMs - counterMs;
  if (clock.isKnown && offsetMs <= clock.offsetMs && offsetMs > clock.offsetMs - driftMs) return clock;
  return { offsetMs, isKnown: true };
}

/** The server's time when the counter is at `counterMs`; by the browser's clock while the server has said nothing. */
export function serverNow(clock: ServerClock, counterMs: number, browserMs: number): number {
  return clock.isKnown ? clock.offsetMs + counterMs : browserMs;
}
