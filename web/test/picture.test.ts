// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { readFrame } from "../src/api/fleet_frame";
import { colour } from "../src/picture/colouring";
import type { Layout } from "../src/picture/layout";
import { cellAt, cellsInSight, clampCamera, groupOf, layOut, lookAt, neighbour, podBoxes, wholeFleet, zoomAt } from "../src/picture/layout";
import type { Fleet, FleetPod } from "../src/state/fleet";
import { fleetOf } from "../src/state/fleet";
import { writeFrame } from "./frame_writer";
import { frameOf, makeCluster } from "./mock_cluster";

function fleetOfSize(nodes: number, pods: number): Fleet {
  return fleetOf(readFrame(writeFrame(frameOf(makeCluster({ seed: 4, nodes, pods, pending: 5, nowMs: 1e12 })))));
}

function checkCells(layout: Layout): void {
  for (let at = 0; at < layout.cells.length; ++at) {
    const cell = layout.cells[at]!;
    assert.equal(cellAt(layout, cell.x + cell.w / 2, cell.y + cell.h / 2), at);
    assert.ok(cell.x >= 0 && cell.x + cell.w <= layout.w + 1e-6);
  }
}

test("the whole fleet fits, each node has its place, and a point finds it", () => {
  for (const [nodes, width, height] of [[1, 900, 600], [5, 900, 600], [180, 1200, 700], [5000, 1180, 720], [5000, 390, 600]] as const) {
    const layout = layOut(fleetOfSize(nodes, 0), "zone", width, height);
    assert.equal(layout.cells.length, nodes);
    if (width > 400) assert.ok(layout.h <= height, `${nodes} nodes are ${layout.h} high`);
    checkCells(layout);
  }
});

test("a frame of 5,000 nodes and 50,000 pods becomes a picture in a fraction of a second", (t) => {
  const buffer = writeFrame(frameOf(makeCluster({ seed: 4, nodes: 5000, pods: 50_000, pending: 5, nowMs: 1e12 })));
  const began = process.cpuUsage();
  const fleet = fleetOf(readFrame(buffer));
  const layout = layOut(fleet, "zone", 1180, 720);
  const { of } = colour(fleet, "use", "cpu");
  const cpuMs = process.cpuUsage(began).user / 1000;
  assert.deepEqual([layout.cells.length, of.size, fleet.pods.size], [5000, 5000, 50_005]);
  t.diagnostic(`${cpuMs.toFixed(0)} ms of processor time`);
  assert.ok(cpuMs < 900, `${cpuMs} ms`);
});

test("a fleet without nodes is an empty picture", () => {
  const layout = layOut(fleetOfSize(0, 0), "zone", 800, 600);
  assert.deepEqual([layout.cells.length, layout.groups.length], [0, 0]);
  assert.equal(cellAt(layout, 10, 10), -1);
  assert.equal(neighbour(layout, -1, "down"), -1);
});

test("few groups of few nodes are beside each other, so that cells are large", () => {
  const layout = layOut(fleetOfSize(12, 0), "zone", 1200, 500);
  assert.equal(layout.groupColumns, 2);
  const [first, second, third] = layout.groups;
  assert.ok(first && second && third && first.y === second.y && third.y >= first.y + first.h && second.x > first.x + first.w);
  checkCells(layout);
  assert.equal(layout.cells[neighbour(layout, first.end - 1, "right")]?.group, 1);
  assert.equal(layout.cells[neighbour(layout, first.end - 1, "down")]?.group, 2);
  assert.equal(neighbour(layout, second.end - 1, "down"), second.end - 1, "there is nothing below");
  assert.equal(layOut(fleetOfSize(5000, 0), "zone", 1200, 700).groupColumns, 1);
});

test("nodes are in rows by what is asked for, and very many groups are put together", () => {
  const fleet = fleetOfSize(200, 0);
  assert.deepEqual(layOut(fleet, "zone", 900, 600).groups.map((group) => group.name), ["eu-west-1a", "eu-west-1b", "eu-west-1c"]);
  const node = [...fleet.nodes.values()][0]!;
  assert.equal(groupOf(node, "label:team", fleet.labelKeys), `team=${node.labels[2]}`);
  assert.equal(groupOf(node, "label:nothing", fleet.labelKeys), "without nothing");
  const cluster = makeCluster({ seed: 4, nodes: 200, pods: 0, pending: 0, nowMs: 1e12 });
  for (const each of cluster.nodes) each.zone = each.name;
  const many = layOut(fleetOf(readFrame(writeFrame(frameOf(cluster)))), "zone", 900, 600);
  assert.equal(many.groups.length, 60);
  assert.equal(many.groups[59]?.name, "141 smaller groups");
  assert.equal(many.cells.length, 200);
});

test("zooming keeps what is under the pointer, and the camera stays where there is something", () => {
  const layout = layOut(fleetOfSize(180, 0), "zone", 1200, 700);
  const before = { x: 30, y: 40, zoom: 2 };
  const after = zoomAt(before, 3, 500, 200);
  assert.ok(Math.abs(before.x + 500 / before.zoom - (after.x + 500 / after.zoom)) < 1e-9);
  assert.deepEqual(clampCamera({ x: -500, y: 9e9, zoom: 1 }, layout, 1200, 700), wholeFleet);
  const cell = layout.cells[100]!;
  const near = clampCamera(lookAt(cell, 1200, 700), layout, 1200, 700);
  assert.ok(near.zoom > 3 && near.x <= cell.x && near.x + 1200 / near.zoom >= cell.x + cell.w);
});

test("only rows in sight are drawn", () => {
  const layout = layOut(fleetOfSize(5000, 0), "zone", 1200, 700);
  const whole = cellsInSight(layout, wholeFleet, 700).reduce((sum, range) => sum + range.end - range.begin, 0);
  assert.equal(whole, 5000);
  const cell = layout.cells[2500]!;
  const near = lookAt(cell, 1200, 700);
  const ranges = cellsInSight(layout, near, 700);
  assert.ok(ranges.some((range) => range.begin <= 2500 && 2500 < range.end));
  assert.ok(ranges.reduce((sum, range) => sum + range.end - range.begin, 0) < 900);
});

test("arrow keys reach every node and lead back", () => {
  const layout = layOut(fleetOfSize(47, 0), "zone", 500, 400);
  const seen = new Set([0]);
  const waiting = [0];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    for (const key of ["left", "right", "up", "down"] as const) {
      const next = neighbour(layout, at, key);
      assert.ok(next >= 0 && next < 47);
      if (!seen.has(next)) waiting.push(next);
      seen.add(next);
    }
  }
  assert.equal(seen.size, 47);
});

test("pods are boxes by request that fill the cell from below and do not overlap", () => {
  const cell = { x: 10, y: 20, w: 100, h: 120 };
  const pods = [0.2, 0.1, 0.1, 0.05, 0, 0.25].map((share, id) => ({ id, share }) as unknown as FleetPod);
  const boxes = podBoxes(pods, (pod) => (pod as unknown as { share: number }).share, cell);
  assert.equal(boxes.length, 6);
  const area = boxes.reduce((sum, box) => sum + box.w * box.h, 0);
  assert.ok(Math.abs(area / (cell.w * cell.h) - 0.704) < 1e-6);
  for (const box of boxes) {
    assert.ok(box.x >= cell.x - 1e-6 && box.x + box.w <= cell.x + cell.w + 1e-6 && box.y >= cell.y - 1e-6 && box.y + box.h <= cell.y + cell.h + 1e-6);
    for (const other of boxes) {
      if (other === box) continue;
      const isApart = box.x + box.w <= other.x + 1e-6 || other.x + other.w <= box.x + 1e-6 || box.y + box.h <= other.y + 1e-6 || other.y + other.h <= box.y + 1e-6;
      assert.ok(isApart);
    }
  }
  const over = podBoxes(pods, () => 0.5, cell);
  assert.ok(over.every((box) => box.y >= cell.y - 1e-6), "more than there is room for is made to fit");
});

test("colours say the same in words: each node is counted once", () => {
  const fleet = fleetOfSize(300, 900);
  const names = [...fleet.nodes.values()].map((node) => node.name);
  const answers = new Map(names.slice(0, 200).map((name, i) => [name, { reason: i % 9 === 0 ? "" : `reason ${i % 9}`, total: i }]));
  for (const mode of ["use", "health", "taints", "spot", "price", "answer"] as const) {
    const { entries, of } = colour(fleet, mode, "cpu", answers);
    assert.equal(entries.reduce((sum, entry) => sum + entry.count, 0), 300, mode);
    assert.equal(of.size, 300);
  }
  const { entries, of } = colour(fleet, "answer", "cpu", answers);
  const best = [...fleet.nodes.values()].find((node) => node.name === names[198])!;
  assert.equal(entries[of.get(best.id) ?? -1]?.label, "fits, the best score");
  assert.equal(entries.find((entry) => entry.key === "unasked")?.count, 100);
  assert.equal(entries.filter((entry) => entry.key.startsWith("reason")).length, 6);
  assert.ok(entries.find((entry) => entry.key === "other")!.count > 0);
});

test("the two lists of dark colours are the same, and each colour of cells has its ink", () => {
  const css = readFileSync(new URL("../../src/styles/tokens.css", import.meta.url), "utf8");
  const bodies = [...css.matchAll(/:root[^{]*\{([^}]*)\}/g)].map((match) => match[1]!.trim().split(/;\s*/).sort());
  assert.equal(bodies.length, 3);
  assert.deepEqual(bodies[1], bodies[2]);
  const tones = [...css.matchAll(/--((?:scale|cat)-\w+):/g)].map((match) => match[1]!);
  for (const tone of tones) assert.ok(css.includes(`--on-${tone}:`), tone);
});
