// SPDX-License-Identifier: Apache-2.0
// Rows that stay where they are while one reads. New rows wait until they are asked for, and rows that are gone stay, marked,
// in their place. Values of rows that stay may change.

export interface HeldList {
  /** Keys in the order in which rows are shown. */
  readonly order: readonly string[];
}

export interface HeldRow<T> {
  readonly key: string;
  /** What is known of it: the newest, or the last if it is gone. */
  readonly item: T;
  readonly isGone: boolean;
}

export interface HeldView<T> {
  readonly rows: readonly HeldRow<T>[];
  /** Rows that the data have and the list does not show yet. */
  readonly newCount: number;
  readonly goneCount: number;
  /** Whether asking would change anything, order included. */
  readonly isStale: boolean;
}

export const emptyList: HeldList = { order: [] };

/** The list as the data order it: what a reader gets who asks. */
export function take<T>(items: readonly T[], keyOf: (item: T) => string): HeldList {
  return { order: items.map(keyOf) };
}

/**
 * The held rows with today's values. `last` gives what was known of a row that is gone; a row of which nothing is known is
 * left out.
 */
export function viewOf<T>(
  list: HeldList,
  items: readonly T[],
  keyOf: (item: T) => string,
  last: ReadonlyMap<string, T> = new Map(),
): HeldView<T> {
  const now = new Map<string, T>();
  for (const item of items) now.set(keyOf(item), item);
  const rows: HeldRow<T>[] = [];
  const held = new Set<string>();
  let goneCount = 0;
  for (const key of list.order) {
    const item = now.get(key);
    if (item !== undefined) {
      held.add(key);
      rows.push({ key, item, isGone: false });
      continue;
    }
    const known = last.get(key);
    if (known === undefined) continue;
    goneCount += 1;
    rows.push({ key, item: known, isGone: true });
  }
  const newCount = now.size - held.size;
  let isStale = newCount > 0 || goneCount > 0;
  if (!isStale) isStale = items.some((item, i) => rows[i]?.key !== keyOf(item));
  return { rows, newCount, goneCount, isStale };
}
