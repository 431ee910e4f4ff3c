// SPDX-License-Identifier: Apache-2.0
// Of a recording: the moment that is shown, and a way to another one.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { seek } from "../live";
import * as model from "../model";
import { formatAge, plural } from "../state/format";
import { Store, useStore } from "../state/store";
import { played, speeds } from "../state/timeline";
import { Select } from "./basics";

/** A key that is held down asks once, when it has come to rest. */
const restMs = 250;
/** How often another moment is shown while it is played; a server that takes longer is waited for. */
const frameMs = 500;

const speed = new Store<number>(speeds[1]);
const speedChoices = speeds.map((each) => ({ value: String(each), label: `${each} ×` }));

const wait = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

/** Plays from the moment that is shown until the end, until `isOver`, or until the server does not follow. */
async function play(isOver: () => boolean): Promise<void> {
  let shownAt = performance.now();
  for (;;) {
    await wait(frameMs);
    const timeline = model.timeline.value;
    if (isOver() || timeline === undefined) return;
    const at = Date.parse(timeline.at);
    const to = Date.parse(timeline.to);
    if (at >= to) return;
    const now = performance.now();
    const next = played(at, to, speed.value, now - shownAt);
    shownAt = now;
    await seek(new Date(next).toISOString());
    if (model.timeline.value?.at === timeline.at) return;
  }
}

export function TimelineBar(): JSX.Element | null {
  const timeline = useStore(model.timeline);
  const [wanted, setWanted] = useState<number | undefined>(undefined);
  const [isSeeking, setSeeking] = useState(false);
  const [isPlaying, setPlaying] = useState(false);
  const chosen = useStore(speed);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    if (!isPlaying) return undefined;
    let isOver = false;
    void play(() => isOver).then(() => {
      if (!isOver) setPlaying(false);
    });
    return () => {
      isOver = true;
    };
  }, [isPlaying]);
  if (timeline === undefined) return null;
  const from = Date.parse(timeline.from);
  const to = Date.parse(timeline.to);
  const at = wanted ?? Date.parse(timeline.at);
  const go = (ms: number): void => {
    const bounded = Math.min(Math.max(ms, from), to);
    setPlaying(false);
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
      <button
        type="button"
        class="button-small"
        onClick={() => {
          if (isPlaying || at < to) setPlaying(!isPlaying);
          else void seek(timeline.from).then(() => setPlaying(true));
        }}
      >
        {isPlaying ? "Pause" : "Play"}
      </button>
      <Select label="Speed" value={String(chosen)} choices={speedChoices} onChoose={(value) => speed.set(Number(value))} />
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
