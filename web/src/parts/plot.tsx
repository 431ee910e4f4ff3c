// SPDX-License-Identifier: Apache-2.0
// A small plot that also says its numbers: a line for each series, its last value, and its least and most as a table.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatAge, formatBytes, formatCount, formatSeconds, significant } from "../state/format";
import type { Plot } from "../state/numbers";
import { linePath, niceCeiling, summarize } from "../state/numbers";

const width = 480;
const height = 112;
const mebibyte = 1 << 20;

export function formatValue(unit: Plot["unit"], value: number): string {
  if (Number.isNaN(value)) return "–";
  switch (unit) {
    case "seconds":
      return formatSeconds(value);
    case "share":
      return `${Math.round(value * 100)} %`;
    case "count":
      return formatCount(value);
    case "perSecond":
    case "cores":
      return significant(value);
    case "bytes":
      return formatBytes(value);
  }
}

/** `times` are of the samples, in milliseconds, the oldest first. */
export function PlotBox({ plot, times }: { plot: Plot; times: readonly number[] }): JSX.Element {
  const [at, setAt] = useState(-1);
  const most = Math.max(...plot.series.map((series) => summarize(series.values).high));
  const top = plot.unit === "share" ? Math.max(1, most) : plot.unit === "bytes" ? niceCeiling(most / mebibyte) * mebibyte : niceCeiling(most);
  const point = at >= 0 && at < times.length ? at : -1;
  const newest = times[times.length - 1] ?? 0;
  const ago = point < 0 ? "now" : `${formatAge(newest - (times[point] ?? newest))} ago`;
  const step = times.length > 1 ? width / (times.length - 1) : 0;
  return (
    <figure class="plot">
      <figcaption>
        <span class="plot-title">{plot.title}</span>
        <span class="quiet">{ago}</span>
      </figcaption>
      <div class="plot-area">
        <span class="plot-top quiet">{formatValue(plot.unit, top)}</span>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${plot.title}: ${plot.series.map((series) => `${series.name} ${formatValue(plot.unit, summarize(series.values).last)}`).join(", ")}`}
          onPointerMove={(event) => {
            const box = event.currentTarget.getBoundingClientRect();
            setAt(Math.round(((event.clientX - box.left) / box.width) * (times.length - 1)));
          }}
          onPointerLeave={() => setAt(-1)}
        >
          <path class="plot-grid" d={`M0 ${height / 2}H${width}M0 .5H${width}M0 ${height - 0.5}H${width}`} vector-effect="non-scaling-stroke" />
          {plot.series.map((series, i) => (
            <path
              key={series.key}
              class="plot-line"
              d={linePath(series.values, width, height, top)}
              style={{ stroke: `var(--cat-${i})` }}
              stroke-dasharray={["", "6 3", "2 3", "8 3 2 3"][i % 4]}
              vector-effect="non-scaling-stroke"
            />
          ))}
          {point >= 0 ? <path class="plot-cursor" d={`M${point * step} 0V${height}`} vector-effect="non-scaling-stroke" /> : null}
        </svg>
      </div>
      <table class="plot-numbers">
        <thead>
          <tr>
            <th scope="col">Series</th>
            <th scope="col" class="number">
              {point < 0 ? "Now" : "Then"}
            </th>
            <th scope="col" class="number">
              Least
            </th>
            <th scope="col" class="number">
              Mean
            </th>
            <th scope="col" class="number">
              Most
            </th>
          </tr>
        </thead>
        <tbody>
          {plot.series.map((series, i) => {
            const sum = summarize(series.values);
            const shown = point < 0 ? sum.last : (series.values[point] ?? NaN);
            return (
              <tr key={series.key}>
                <th scope="row">
                  <svg class="plot-key" viewBox="0 0 18 4" width="18" height="4" aria-hidden="true">
                    <path d="M0 2H18" style={{ stroke: `var(--cat-${i})` }} stroke-width="2.5" stroke-dasharray={["", "6 3", "2 3", "8 3 2 3"][i % 4]} />
                  </svg>
                  <bdi>{series.name}</bdi>
                </th>
                <td class="number strong">{formatValue(plot.unit, shown)}</td>
                <td class="number">{formatValue(plot.unit, sum.low)}</td>
                <td class="number">{formatValue(plot.unit, sum.mean)}</td>
                <td class="number">{formatValue(plot.unit, sum.high)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </figure>
  );
}
