// SPDX-License-Identifier: Apache-2.0
// Series of numbers and the lines that show them. Pure functions.
import type { NumberSample } from "../api/types";

/** Samples that are kept: 15 minutes of one every two seconds. */
export const samplesMax = 450;

/** With a new sample; one of a time that is there already replaces nothing. */
export function addSample(samples: readonly NumberSample[], sample: NumberSample, max = samplesMax): readonly NumberSample[] {
  const last = samples[samples.length - 1];
  if (last !== undefined && Date.parse(sample.time) <= Date.parse(last.time)) return samples;
  return [...samples, sample].slice(-max);
}

export interface Series {
  readonly key: string;
  readonly name: string;
  /** NaN: no value at that time. */
  readonly values: readonly number[];
}

export interface Plot {
  readonly key: string;
  readonly title: string;
  readonly unit: "perSecond" | "count" | "seconds" | "share" | "cores" | "bytes";
  readonly series: readonly Series[];
}

const absent = NaN;

/** Lines of one plot: as many as can be told apart. */
const linesMax = 8;

/** The plots that these samples are enough for. */
export function plotsOf(samples: readonly NumberSample[]): Plot[] {
  const series = (key: string, name: string, of: (sample: NumberSample) => number | undefined): Series => ({
    key,
    name,
    values: samples.map((sample) => of(sample) ?? absent),
  });
  const plots: Plot[] = [
    {
      key: "rate",
      title: "Pods per second",
      unit: "perSecond",
      series: [series("arrived", "arrived", (s) => s.arrived), series("bound", "bound", (s) => s.bound), series("decisions", "decisions", (s) => s.decisions)],
    },
    {
      key: "wait",
      title: "Time until a node",
      unit: "seconds",
      series: [
        series("p50", "half of the pods", (s) => scaled(s.waitMsP50)),
        series("p99", "99 of 100", (s) => scaled(s.waitMsP99)),
      ],
    },
    { key: "pending", title: "Pods that wait", unit: "count", series: [series("pending", "pods", (s) => s.pending)] },
    {
      key: "queue",
      title: "Queue",
      unit: "count",
      series: [
        series("active", "active", (s) => s.queue?.active),
        series("backoff", "backing off", (s) => s.queue?.backoff),
        series("unschedulable", "unschedulable", (s) => s.queue?.unschedulable),
        series("gated", "gated", (s) => s.queue?.gated),
        series("permit", "at Permit", (s) => s.queue?.permit),
      ],
    },
  ];
  const profiles = [...new Set(samples.flatMap((sample) => (sample.profiles ?? []).map((profile) => profile.name)))].sort().slice(0, linesMax);
  for (const [key, title] of [
    ["scheduled", "Scheduled per second, by profile"],
    ["refused", "Refused per second, by profile"],
  ] as const) {
    plots.push({
      key,
      title,
      unit: "perSecond",
      // A profile that is not there yet has tried nothing.
      series: profiles.map((name) => series(name, name, (s) => s.profiles && (s.profiles.find((profile) => profile.name === name)?.[key] ?? 0))),
    });
  }
  plots.push(
    { key: "cpu", title: "CPU of this process", unit: "cores", series: [series("cpu", "cores", (s) => s.cpu)] },
    { key: "memory", title: "Memory of this process", unit: "bytes", series: [series("memory", "resident", (s) => s.memoryBytes)] },
  );
  const zones = [...new Set(samples.flatMap((sample) => (sample.use ?? []).map((use) => use.zone)))].sort();
  for (const [key, title] of [
    ["cpu", "CPU requested by zone"],
    ["memory", "Memory requested by zone"],
  ] as const) {
    plots.push({
      key: `use-${key}`,
      title,
      unit: "share",
      series: zones.slice(0, linesMax).map((zone) => series(zone, zone || "no zone", (s) => s.use?.find((use) => use.zone === zone)?.[key])),
    });
  }
  return plots
    .map((plot) => ({ ...plot, series: plot.series.filter((each) => each.values.some((value) => !Number.isNaN(value))) }))
    .filter((plot) => plot.series.length > 0);
}

function scaled(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}

export interface Summary {
  readonly last: number;
  readonly low: number;
  readonly high: number;
  readonly mean: number;
}

/** What a line says in numbers; NaN where it has no value. */
export function summarize(values: readonly number[]): Summary {
  let last = NaN;
  let low = Infinity;
  let high = -Infinity;
  let sum = 0;
  let count = 0;
  for (const value of values) {
    if (Number.isNaN(value)) continue;
    last = value;
    low = Math.min(low, value);
    high = Math.max(high, value);
    sum += value;
    count += 1;
  }
  return count === 0 ? { last: NaN, low: NaN, high: NaN, mean: NaN } : { last, low, high, mean: sum / count };
}

/** The top of the axis: the first of 1, 2, 5 times a power of ten that is not below the value. */
export function niceCeiling(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 5, 10]) {
    if (step * power >= value * (1 - 1e-9)) return step * power;
  }
  return 10 * power;
}

/** A line as the path of an SVG. It is broken where there is no value; a value that stands alone is a dot. */
export function linePath(values: readonly number[], width: number, height: number, top: number): string {
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  let path = "";
  let isDown = false;
  values.forEach((value, i) => {
    if (Number.isNaN(value)) {
      isDown = false;
      return;
    }
    const x = (i * step).toFixed(1);
    const y = (height - (Math.min(value, top) / top) * height).toFixed(1);
    const isAlone = !isDown && Number.isNaN(values[i + 1] ?? NaN);
    path += `${isDown ? "L" : "M"}${x} ${y}${isAlone ? "h0" : ""}`;
    isDown = true;
  });
  return path;
}
