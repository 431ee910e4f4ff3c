// SPDX-License-Identifier: Apache-2.0
// What the forms of "What if" share: a question that is asked once at a time, its fields, and the room for its answer.
import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import * as model from "../model";
import { Empty, Loading, Problem } from "../parts/basics";
import { formatBytes } from "../state/format";
import { Store, useStore } from "../state/store";
import { configurationBytesMax } from "../state/whatif";

/** The configuration that questions are decided by, in place of the server's; "": none. Kept as the questions are. */
export const configuration = new Store("");

/** A question that takes a while: one at a time, and it can be given up. */
export function useQuestion<T>(): {
  answer: T | undefined;
  problem: string;
  isAsking: boolean;
  ask: (run: (signal: AbortSignal) => Promise<T>, onAnswer?: (answer: T) => void) => void;
  giveUp: () => void;
  refuse: (problem: string) => void;
} {
  const [state, setState] = useState<{ answer?: T; problem: string; isAsking: boolean }>({ problem: "", isAsking: false });
  const abort = useRef<AbortController | undefined>(undefined);
  return {
    answer: state.answer,
    problem: state.problem,
    isAsking: state.isAsking,
    ask: (run, onAnswer) => {
      abort.current?.abort();
      const mine = new AbortController();
      abort.current = mine;
      setState({ problem: "", isAsking: true });
      run(mine.signal).then(
        (answer) => {
          if (mine.signal.aborted) return;
          setState({ answer, problem: "", isAsking: false });
          onAnswer?.(answer);
        },
        (error: unknown) => {
          if (!mine.signal.aborted) setState({ problem: error instanceof Error ? error.message : String(error), isAsking: false });
        },
      );
    },
    giveUp: () => {
      abort.current?.abort();
      setState({ problem: "", isAsking: false });
    },
    refuse: (problem) => setState({ problem, isAsking: false }),
  };
}

export function Field(props: { label: string; hint?: string; children: ComponentChildren }): JSX.Element {
  return (
    <label class="field">
      <span class="field-label">{props.label}</span>
      {props.children}
      {props.hint ? <span class="field-hint">{props.hint}</span> : null}
    </label>
  );
}

export function NodeNames(): JSX.Element {
  const fleet = useStore(model.fleet, (value) => value?.shape);
  const names = fleet === undefined ? [] : [...(model.fleet.value?.nodes.values() ?? [])].slice(0, 500).map((node) => node.name);
  return (
    <datalist id="node-names">
      {names.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}


/** The form of a question: `otherwise` is in the place of "Give up" while none is being answered. */
export function QuestionForm(props: { action: string; isAsking: boolean; giveUp: () => void; ask: () => void; otherwise?: JSX.Element; children: ComponentChildren }): JSX.Element {
  return (
    <form
      class="whatif-form"
      onSubmit={(event) => {
        event.preventDefault();
        props.ask();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) props.ask();
      }}
    >
      {props.children}
      <div class="field-actions">
        <button type="submit" class="button button-primary" disabled={props.isAsking}>
          {props.action}
        </button>
        {props.isAsking ? (
          <button type="button" class="button" onClick={props.giveUp}>
            Give up
          </button>
        ) : (
          props.otherwise
        )}
      </div>
    </form>
  );
}

/** The answer, or what is there in its place. */
export function AnswerRoom(props: { problem: string; isAsking: boolean; asking: string; title: string; hint: string; of?: { current: HTMLDivElement | null }; children: ComponentChildren }): JSX.Element {
  return (
    <div class="whatif-answer" aria-live="polite" ref={props.of}>
      {props.problem !== "" ? <Problem>{props.problem}</Problem> : null}
      {props.isAsking ? <Loading label={props.asking} /> : props.children !== undefined ? props.children : props.problem === "" ? <Empty title={props.title}>{props.hint}</Empty> : null}
    </div>
  );
}

/** What a reader of an answer should know, one line each. */
export function Notes({ lines }: { lines: readonly string[] }): JSX.Element {
  return (
    <>
      {lines.map((line) => (
        <p key={line} class="foot">
          {line}
        </p>
      ))}
    </>
  );
}

/** Another configuration to decide by: typed, dropped or chosen. Put away until it is wanted. */
export function ConfigurationField({ refuse }: { refuse: (problem: string) => void }): JSX.Element {
  const text = useStore(configuration);
  const [isOpen, setOpen] = useState(text !== "");
  const take = async (files: FileList | undefined | null): Promise<void> => {
    const file = files?.[0];
    if (file === undefined) return;
    if (file.size > configurationBytesMax) refuse(`${file.name} has ${formatBytes(file.size)}. A configuration has at most 256 KiB.`);
    else configuration.set(await file.text());
  };
  return (
    <details class="other-configuration" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Another configuration</summary>
      <Field label="KubeSchedulerConfiguration" hint="In place of the one that decides here.">
        <textarea
          class="mono"
          rows={6}
          spellcheck={false}
          placeholder={"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n…"}
          value={text}
          onInput={(event) => configuration.set(event.currentTarget.value)}
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => {
            event.preventDefault();
            void take(event.dataTransfer?.files);
          }}
        />
      </Field>
      <div class="files">
        <label class="button-small">
          Choose a file
          <input type="file" accept=".yaml,.yml,.json" class="sr-only" onChange={(event) => void take(event.currentTarget.files)} />
        </label>
      </div>
    </details>
  );
}
