// SPDX-License-Identifier: Apache-2.0
// A question to the server whose answer a view shows: asked again when its key changes, given up when the view goes.
import { useEffect, useState } from "preact/hooks";
import * as model from "../model";
import { useStore } from "../state/store";

export interface Asked<T> {
  readonly answer: T | undefined;
  readonly problem: string;
  readonly isAsking: boolean;
}

/**
 * `key` says what is asked: "" for nothing. The old answer stays while the same thing is asked again, as it is at each other moment
 * of a recording.
 */
export function useAsked<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): Asked<T> & { readonly again: () => void } {
  const [state, setState] = useState<Asked<T> & { key: string }>({ key: "", answer: undefined, problem: "", isAsking: false });
  const [count, setCount] = useState(0);
  const moment = useStore(model.timeline, (timeline) => timeline?.at ?? "");
  useEffect(() => {
    if (key === "") return undefined;
    const abort = new AbortController();
    setState((known) => ({ key, answer: known.key === key ? known.answer : undefined, problem: "", isAsking: true }));
    ask(abort.signal).then(
      (answer) => {
        if (!abort.signal.aborted) setState({ key, answer, problem: "", isAsking: false });
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        setState({ key, answer: undefined, problem: error instanceof Error ? error.message : String(error), isAsking: false });
      },
    );
    return () => abort.abort();
    // `ask` belongs to the key.
  }, [key, moment, count]);
  const isCurrent = state.key === key;
  return {
    answer: isCurrent ? state.answer : undefined,
    problem: isCurrent ? state.problem : "",
    isAsking: key !== "" && (!isCurrent || state.isAsking),
    again: () => setCount((value) => value + 1),
  };
}
