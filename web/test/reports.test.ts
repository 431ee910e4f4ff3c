// SPDX-License-Identifier: Apache-2.0
// Plans and reports, as pure functions of what berth has written.
import assert from "node:assert/strict";
import test from "node:test";
import { readFrame } from "../src/api/fleet_frame";
import { cellArrows, layOut } from "../src/picture/layout";
import { fleetOf } from "../src/state/fleet";
import { agreementText, arrowsOf, differenceText, leftOutRows, outcomeRows, planSentence, readReport, usesAfter } from "../src/state/reports";
import { writeFrame } from "./frame_writer";
import { planOf, shadowOf } from "./mock_reports";

test("a file is a plan, a report, or said to be neither", () => {
  assert.equal(readReport(JSON.stringify(planOf())).kind, "plan");
  assert.equal(readReport(JSON.stringify(shadowOf())).kind, "shadow");
  const wrong: [string, RegExp][] = [
    ["", /no JSON/],
    ['{"kind":"RebalancePlan"}', /has no moves/],
    ['{"matches":{},"decisions":3}', /has no differences/],
    ["[]", /neither a plan/],
    ["null", /neither a plan/],
    ['{"pods":[]}', /neither a plan/],
    [`{"kind":"RebalancePlan","moves":[`, /no JSON/],
  ];
  for (const [text, why] of wrong) {
    const said = readReport(text);
    assert.ok(said.kind === "wrong", text);
    assert.match(said.problem, why);
  }
});

test("a plan is told in a sentence", () => {
  assert.equal(
    planSentence(planOf()),
    "3 pods of 40 would move: 2 for RemoveDuplicates, 1 for LowNodeUtilization; 1 more is objected to and stays.",
  );
  assert.equal(planSentence({ ...planOf(), moves: [], staying: [], complete: false }), "0 pods of 40 would move; the plan is not complete: plan again after these moves.");
});

test("moves between two nodes are one arrow, and a pod that is removed has none", () => {
  assert.deepEqual(arrowsOf(planOf()), [{ from: "n-1", to: "n-2", moves: 2 }]);
  assert.deepEqual(arrowsOf(undefined), []);
});

const fleet = fleetOf(
  readFrame(
    writeFrame({
      kind: "full",
      epoch: 1,
      revision: 1,
      labelKeys: [],
      resources: ["cpu", "pods"],
      podResources: ["cpu"],
      nodes: [1, 2, 3].map((id) => ({ id, name: `n-${id}`, zone: "a", allocatable: [4000, 110], requested: [2000, 2] })),
      pods: ["a", "b"].map((name, i) => ({ id: 10 + i, name: `web-${name}`, namespace: "shop", node: 1, owner: { kind: "Deployment", namespace: "shop", name: "web" }, requests: [500] })),
    }),
  ),
);

test("the use of both nodes is that before the plan and that after all its moves", () => {
  const uses = usesAfter(fleet, planOf());
  assert.deepEqual(uses.get("n-1"), [{ resource: "cpu", before: 0.5, after: 0.25 }]);
  assert.deepEqual(uses.get("n-2"), [{ resource: "cpu", before: 0.5, after: 0.75 }]);
  assert.equal(uses.has("n-3"), false);
  assert.equal(usesAfter(undefined, planOf()).size, 0);
});

test("arrows lead from cell to cell, where both are", () => {
  const layout = layOut(fleet, "zone", 800, 600);
  const arrows = cellArrows(layout, [{ from: "n-1", to: "n-2", moves: 2 }, { from: "n-1", to: "gone", moves: 9 }, { from: "n-2", to: "n-3", moves: 1 }], 2);
  assert.deepEqual(arrows, [{ from: 0, to: 1, moves: 2 }], "the bound is of those with the most moves");
});

test("the report says how often both agree, and why they do not", () => {
  const report = shadowOf();
  assert.equal(agreementText(report), "50.00 %");
  assert.equal(agreementText({ ...report, decisions: 100_000, agreements: 99_999 }), "99.99 %", "never all where one differs");
  assert.equal(agreementText({ ...report, decisions: 0, agreements: 0 }), "–");
  assert.deepEqual(outcomeRows(report).map((row) => [row.text, row.count, row.agrees]), [["the same node", 2, true], ["another node, with fewer points", 1, false], ["refused, but placed by berth", 1, false]]);
  assert.equal(differenceText(report.differences[0]!), "NodeResourcesFit 49 against 77, ImageLocality 5 against 0");
  assert.match(differenceText(report.differences[1]!), /0\/3 nodes are available/);
});

test("what was left out is told by why, and what was not is not", () => {
  const report = { ...shadowOf(), leftOut: { hadNode: 12, deleted: 0, something: 3 } };
  assert.deepEqual(leftOutRows(report), [
    { key: "hadNode", text: "had a node when seen first", pods: 12 },
    { key: "something", text: "something", pods: 3 },
  ]);
});
