// SPDX-License-Identifier: Apache-2.0
// Of a recording: the moment that is shown, and a way to another one.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { seek } from "../live";
import * as model from "../model";
import { formatAge, plural } from "../state/format";
import { useStore } from "../state/store";

/** A key that is held down asks once, when it has come to rest. */
const restMs = 250;

export function TimelineBar(): JSX.Element | null {
  const timeline = useStore(model.timeline);
  const [wanted, setWanted] = useState<number | undefined>(undefined);
  const [isSeeking, setSeeking] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  if (timeline === undefined) return null;
  const from = Date.parse(timeline.from);
  const to = Date.parse(timeline.to);
  const at = wanted ?? Date.parse(timeline.at);
  const go = (ms: number): void => {
    const bounded = Math.min(Math.max(ms, from), to);
    setWanted(bounded);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setSeeking(true);
      void seek(new Date(bounded).toISOString()).then(() => {
        setSeeking(false);
        setWanted(undefined);
      });
    }, restMs);
  };
  // The slider counts seconds, its last step is the end however short.
  const steps = Math.max(1, Math.ceil((to - from) / 1000));
  const jump = Math.max(1000, Math.round((to - from) / 100));
  return (
    <section class="timeline" aria-label="Moment of the recording">
      <button type="button" class="button-small" disabled={at <= from} onClick={() => go(at - jump)}>
        −{formatAge(jump)}
      </button>
      <input
        type="range"
        aria-label="Moment"
        aria-valuetext={`${moment(at)}, ${plural(Math.round((at - from) / 1000), "second")} after the beginning`}
        min={0}
        max={steps}
        step={1}
        value={at >= to ? steps : Math.round((at - from) / 1000)}
        onInput={(event) => {
          const step = Number(event.currentTarget.value);
          go(step >= steps ? to : from + step * 1000);
        }}
      />
      <button type="button" class="button-small" disabled={at >= to} onClick={() => go(at + jump)}>
        +{formatAge(jump)}
      </button>
      <output class="nowrap">
        {moment(at)}
        <span class="quiet"> {isSeeking ? "is being replayed" : `${formatAge(at - from)} of ${formatAge(to - from)}`}</span>
      </output>
      {timeline.problem ? <p class="quiet">It cannot be followed to its end: {timeline.problem}</p> : null}
    </section>
  );
}

function moment(ms: number): string {
  return new Date(ms).toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
}
