// SPDX-License-Identifier: Apache-2.0
// Rates, waiting times, queue and use, as small plots.
import type { JSX } from "preact";
import * as model from "../model";
import { Empty, Loading, ViewHead } from "../parts/basics";
import { PlotBox } from "../parts/plot";
import { formatAge } from "../state/format";
import { plotsOf } from "../state/numbers";
import { useStore } from "../state/store";

export function NumbersView(): JSX.Element {
  const status = useStore(model.status);
  const samples = useStore(model.samples);
  const times = (samples ?? []).map((sample) => Date.parse(sample.time));
  const span = (times[times.length - 1] ?? 0) - (times[0] ?? 0);
  if (status === undefined || samples === undefined) {
    return (
      <>
        <ViewHead title="Numbers" />
        <Loading label="Numbers are being read" />
      </>
    );
  }
  if (samples.length === 0) {
    return (
      <>
        <ViewHead title="Numbers" />
        <Empty title="No numbers yet">
          {status.features.includes("numbers") && status.features.includes("events") ? "The first sample comes in a few seconds." : "Numbers are counted while a cluster is watched; this is one state of it."}
        </Empty>
      </>
    );
  }
  return (
    <>
      <ViewHead title="Numbers" sub={span > 0 ? `The last ${formatAge(span)}. Point at a plot to read an instant.` : undefined} />
      <div class="plots">
        {plotsOf(samples).map((plot) => (
          <PlotBox key={plot.key} plot={plot} times={times} />
        ))}
      </div>
    </>
  );
}
