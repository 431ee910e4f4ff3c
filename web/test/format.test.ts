// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { hearClock, serverNow, unknownClock } from "../src/state/clock";
import { formatAge, formatAmount, formatBytes, formatCpu, formatSeconds, formatShare, plural, significant } from "../src/state/format";

test("ages are those of kubectl", () => {
  const cases: [number, string][] = [
    [-5000, "0s"],
    [0, "0s"],
    [59_999, "59s"],
    [119_000, "119s"],
    [120_000, "2m"],
    [192_000, "3m12s"],
    [11 * 60_000, "11m"],
    [3 * 3_600_000, "3h"],
    [5 * 3_600_000 + 20 * 60_000, "5h20m"],
    [30 * 3_600_000, "30h"],
    [76 * 3_600_000, "3d4h"],
    [400 * 86_400_000, "400d"],
    [NaN, "unknown"],
  ];
  for (const [ms, text] of cases) assert.equal(formatAge(ms), text);
});

test("amounts have the usual unit of their resource", () => {
  assert.equal(formatCpu(250), "250m");
  assert.equal(formatCpu(1500), "1.5");
  assert.equal(formatCpu(96_000), "96");
  assert.equal(formatCpu(0), "0");
  assert.equal(formatBytes(512 * 2 ** 20), "512 MiB");
  assert.equal(formatBytes(1.5 * 2 ** 40), "1.5 TiB");
  assert.equal(formatAmount("memory", 2 ** 30), "1 GiB");
  assert.equal(formatAmount("hugepages-2Mi", 2 ** 21), "2 MiB");
  assert.equal(formatAmount("example.com/gpu", 4), "4");
  assert.equal(formatAmount("cpu", 2000), "2");
});

test("shares, durations and counts", () => {
  assert.equal(formatShare(1, 0), "–");
  assert.equal(formatShare(0, 4), "0 %");
  assert.equal(formatShare(1, 30), "3.3 %");
  assert.equal(formatShare(3, 4), "75 %");
  assert.equal(formatSeconds(0.0000421), "42.1 µs");
  assert.equal(formatSeconds(0.0042), "4.2 ms");
  assert.equal(formatSeconds(12), "12 s");
  assert.equal(significant(1234.5), "1,235");
  assert.equal(significant(0.5), "0.5");
  assert.equal(plural(1, "pod"), "1 pod");
  assert.equal(plural(1200, "pod"), "1,200 pods");
});

test("a browser whose clock is an hour off counts ages from the server's clock", () => {
  const server = Date.parse("2026-01-01T12:00:00Z");
  const browser = server - 3_600_000;
  assert.equal(serverNow(unknownClock, 0, browser), browser, "nothing is known before the server has spoken");
  const clock = hearClock(unknownClock, server, 50_000);
  assert.equal(serverNow(clock, 50_000, browser), server);
  // The browser's clock is set meanwhile; the counter is not.
  assert.equal(serverNow(clock, 51_000, browser + 86_400_000), server + 1000);
});

test("a slow message does not set the clock back, a server that was set back does", () => {
  const clock = hearClock(unknownClock, 1_000_000, 0);
  assert.equal(hearClock(clock, 1_000_500, 900).offsetMs, clock.offsetMs, "400 ms under way");
  assert.equal(hearClock(clock, 1_002_000, 1000).offsetMs, 1_001_000, "an earlier one was slow");
  assert.equal(hearClock(clock, 700_000, 1000).offsetMs, 699_000);
  assert.equal(hearClock(clock, NaN, 1000), clock);
});
