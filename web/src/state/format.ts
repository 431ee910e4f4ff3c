// SPDX-License-Identifier: Apache-2.0
// Numbers, amounts and ages as people read them. Pure functions.

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** 1234567 as "1,234,567". */
export function formatCount(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** "1 pod", "412 pods", "1,000 classes". */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${formatCount(value)} ${value === 1 ? one : many}`;
}

/** An age as kubectl prints it: 45s, 3m12s, 18m, 5h, 5h20m, 3d4h, 12d. Nothing is younger than 0s. */
export function formatAge(ms: number): string {
  if (!Number.isFinite(ms)) return "unknown";
  const left = Math.max(0, ms);
  if (left < 2 * minuteMs) return `${Math.floor(left / 1000)}s`;
  if (left < 10 * minuteMs) return two(left, minuteMs, "m", 1000, "s");
  if (left < 3 * hourMs) return `${Math.floor(left / minuteMs)}m`;
  if (left < 8 * hourMs) return two(left, hourMs, "h", minuteMs, "m");
  if (left < 2 * dayMs) return `${Math.floor(left / hourMs)}h`;
  if (left < 8 * dayMs) return two(left, dayMs, "d", hourMs, "h");
  return `${Math.floor(left / dayMs)}d`;
}

function two(ms: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const whole = Math.floor(ms / large);
  const rest = Math.floor((ms - whole * large) / small);
  return rest === 0 ? `${whole}${largeUnit}` : `${whole}${largeUnit}${rest}${smallUnit}`;
}

/** Seconds as a duration: 850 µs, 4.2 ms, 1.5 s. */
export function formatSeconds(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds === 0) return "0 s";
  if (seconds < 1e-3) return `${significant(seconds * 1e6)} µs`;
  if (seconds < 1) return `${significant(seconds * 1e3)} ms`;
  return `${significant(seconds)} s`;
}

/** Three digits that count, without trailing zeros. */
export function significant(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  if (digits === 0) return formatCount(value);
  return value.toFixed(Math.min(digits, 6)).replace(/\.?0+$/, "");
}

const binaryUnits = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Bytes in binary units: 512 MiB, 1.5 TiB. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < binaryUnits.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${significant(value)} ${binaryUnits[unit]}`;
}

/** Thousandths of a CPU: "250m", "1.5", "96". */
export function formatCpu(milli: number): string {
  if (milli !== 0 && Math.abs(milli) < 1000) return `${Math.round(milli)}m`;
  return significant(milli / 1000);
}

/** An amount of a resource by its name, in that resource's usual unit. */
export function formatAmount(resource: string, amount: number): string {
  if (resource === "cpu") return formatCpu(amount);
  if (resource === "memory" || resource === "ephemeral-storage" || resource.startsWith("hugepages-")) {
    return formatBytes(amount);
  }
  return formatCount(amount);
}

/** A share as a percentage; nothing of nothing is "–". */
export function formatShare(part: number, whole: number): string {
  if (!(whole > 0)) return "–";
  const percent = (100 * part) / whole;
  return percent > 0 && percent < 10 ? `${percent.toFixed(1)} %` : `${Math.round(percent)} %`;
}

/** Price per hour of a node, as its annotation says it. */
export function formatPrice(price: number): string {
  return Number.isFinite(price) ? price.toLocaleString("en-US", { maximumFractionDigits: 4 }) : "–";
}

/** Text that a picture writes: isolated, so that a name from right to left leaves its surroundings alone. */
export function isolated(text: string): string {
  return `\u2068${text}\u2069`;
}

/** The time of day of an instant, in the browser's zone, with seconds. */
export function formatClock(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  return new Date(ms).toLocaleTimeString("en-GB", { hour12: false });
}
