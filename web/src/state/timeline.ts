// SPDX-License-Identifier: Apache-2.0
// The moments of a recording. Pure functions; times are in milliseconds since 1970.

/** Seconds of the recording in one second. */
export const speeds = [1, 5, 20, 60, 300, 1800] as const;

/** Where a recording that is played has come to, when so many milliseconds have passed since it was at `at`. */
export function played(at: number, to: number, speed: number, elapsedMs: number): number {
  return Math.min(to, at + speed * elapsedMs);
}

/** The first moment at which a pod surely waits: a creationTimestamp has no fractions of its second. Undefined: it waited before. */
export function beganToWait(created: number, from: number, to: number): number | undefined {
  return created < from ? undefined : Math.min(created + 1000, to);
}
