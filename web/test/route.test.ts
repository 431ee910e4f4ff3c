// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { formatRoute, home, parseRoute, withQuery } from "../src/state/route";

test("an address and its view are the same thing twice", () => {
  for (const hash of ["#/pending", "#/pending?by=reason&q=Insufficient+cpu", "#/pod/shop/checkout-1", "#/cluster?fill=memory&node=a-1", "#/numbers"]) {
    assert.equal(formatRoute(parseRoute(hash)), hash);
  }
});

test("names with any characters survive an address", () => {
  const route = { view: "pod", path: ["a/b", "<img>?#%&"], query: {} } as const;
  assert.deepEqual(parseRoute(formatRoute(route)), route);
});

test("an address that names nothing is the first view", () => {
  for (const hash of ["", "#", "#/", "#/nothing", "#/pod/shop", "#/pod/a/b/c"]) assert.deepEqual(parseRoute(hash), home);
  assert.deepEqual(parseRoute("#/pod/%E0%A4%A/x").path[0], "%E0%A4%A", "a wrong escape is taken as it is");
});

test("an empty choice leaves the address", () => {
  const route = withQuery(parseRoute("#/cluster?fill=memory&node=a"), { node: "", group: "pool" });
  assert.equal(formatRoute(route), "#/cluster?fill=memory&group=pool");
});
