// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { emptyList, take, viewOf } from "../src/state/held_list";

interface Item {
  readonly key: string;
  readonly value: number;
}
const keyOf = (item: Item): string => item.key;
const a = { key: "a", value: 1 };
const b = { key: "b", value: 2 };
const c = { key: "c", value: 3 };

test("rows stay in their order while the data are in another", () => {
  const view = viewOf(take([a, b], keyOf), [c, b, { ...a, value: 9 }], keyOf);
  assert.deepEqual(view.rows.map((row) => row.key), ["a", "b"]);
  assert.equal(view.rows[0]?.item.value, 9, "values are today's");
  assert.equal(view.newCount, 1);
  assert.ok(view.isStale);
});

test("a row that is gone stays in its place, marked, with what was known last", () => {
  const view = viewOf(take([a, b, c], keyOf), [a, c], keyOf, new Map([["b", b]]));
  assert.deepEqual(view.rows.map((row) => [row.key, row.isGone]), [["a", false], ["b", true], ["c", false]]);
  assert.equal(view.goneCount, 1);
});

test("asking again takes the order of the data", () => {
  const items = [c, a];
  const view = viewOf(take(items, keyOf), items, keyOf);
  assert.deepEqual(view.rows.map((row) => row.key), ["c", "a"]);
  assert.equal(view.isStale, false);
});

test("another order of the same rows is worth asking for", () => {
  assert.equal(viewOf(take([a, b], keyOf), [b, a], keyOf).isStale, true);
  assert.equal(viewOf(emptyList, [], keyOf).isStale, false);
});
