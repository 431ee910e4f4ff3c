// SPDX-License-Identifier: Apache-2.0
// What a change would do: manifests, replicas and nodes that come or go; a drain; the loss of nodes. Nothing is changed.
import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { api } from "../api/client";
import type { DrainPlan, Headroom, Simulation } from "../api/types";
import * as model from "../model";
import { CloseButton, Empty, Loading, Name, Pill, Problem, Segmented, ViewHead } from "../parts/basics";
import { Table } from "../parts/table";
import { formatBytes, formatCount, plural } from "../state/format";
import { formatRoute, withQuery } from "../state/route";
import { Store, useStore } from "../state/store";
import type { Question } from "../state/whatif";
import { comparison, manifestBytesMax, namesIn, noQuestion, outcomeOf, requestOf, workloadRows } from "../state/whatif";

/** The question as it is being written: kept while other views are looked at. */
const question = new Store<Question>(noQuestion);
const drainNodes = new Store("");

const tabs = [
  { value: "simulate", label: "Change" },
  { value: "drain", label: "Drain" },
  { value: "headroom", label: "Headroom" },
] as const;

export function WhatIfView(): JSX.Element {
  const route = useStore(model.route);
  const status = useStore(model.status);
  const tab = route.query.tab ?? "simulate";
  const feature = { simulate: "simulate", drain: "can-drain", headroom: "headroom" }[tab] ?? "simulate";
  const has = status === undefined || status.features.includes(feature);
  return (
    <>
      <ViewHead title="What if" sub="Answers are computed on a copy of the cluster. Nothing is changed.">
        <Segmented label="Question" value={tab} choices={tabs} onChoose={(value) => model.go(withQuery(route, { tab: value === "simulate" ? "" : value }), true)} />
      </ViewHead>
      {!has ? (
        <Empty title="This server does not answer that" />
      ) : tab === "drain" ? (
        <Drain first={route.query.node ?? ""} />
      ) : tab === "headroom" ? (
        <HeadroomTab />
      ) : (
        <Simulate add={route.query.add} like={route.query.like} />
      )}
    </>
  );
}

const obstaclesShownMax = 5;

const originTexts: Readonly<Record<string, string>> = { pending: "waits already", displaced: "lost its node", evicted: "evicted", new: "new" };

/** A question that takes a while: one at a time, and it can be given up. */
function useQuestion<T>(): {
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

function Field(props: { label: string; hint?: string; children: ComponentChildren }): JSX.Element {
  return (
    <label class="field">
      <span class="field-label">{props.label}</span>
      {props.children}
      {props.hint ? <span class="field-hint">{props.hint}</span> : null}
    </label>
  );
}

function NodeNames(): JSX.Element {
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

function Simulate({ add, like }: { add: string | undefined; like: string | undefined }): JSX.Element {
  const asked = useStore(question);
  const trial = useStore(model.trial);
  const { problem, isAsking, ask, giveUp, refuse } = useQuestion<Simulation>();
  const [isOver, setOver] = useState(false);
  const answer = useRef<HTMLDivElement>(null);
  const began = useRef(false);
  if (!began.current) {
    began.current = true;
    if (add && like) question.set({ ...question.value, addNodes: add, nodeLike: like });
  }
  const shown = question.value;
  const change = (changes: Partial<Question>): void => question.set({ ...question.value, ...changes });
  const takeFiles = async (files: FileList | undefined | null): Promise<void> => {
    setOver(false);
    if (!files || files.length === 0) return;
    const sum = [...files].reduce((total, file) => total + file.size, 0);
    if (sum > manifestBytesMax) {
      refuse(`These files have ${(sum / (1 << 20)).toFixed(1)} MiB. At most 5 MiB can be asked about.`);
      return;
    }
    const read = await Promise.all([...files].map(async (file) => ({ name: file.name, text: await file.text() })));
    const names = new Set(read.map((file) => file.name));
    change({ files: [...question.value.files.filter((file) => !names.has(file.name)), ...read] });
  };
  const run = (): void => {
    const made = requestOf(question.value);
    if ("problem" in made) {
      refuse(made.problem);
      return;
    }
    ask(
      (signal) => api.simulate(made.request, signal),
      (result) => {
        model.trial.set({ request: made.request, result });
        // On a narrow screen the answer is below the question.
        if ((answer.current?.getBoundingClientRect().top ?? 0) > innerHeight * 0.7) answer.current?.scrollIntoView();
      },
    );
  };
  void asked;
  return (
    <div class="whatif">
      <form
        class="whatif-form"
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
        }}
      >
        <Field label="Manifests" hint="YAML or JSON: paste, drop files here, or choose them.">
          <textarea
            class={`mono ${isOver ? "is-over" : ""}`}
            rows={10}
            spellcheck={false}
            placeholder={"apiVersion: apps/v1\nkind: Deployment\n…"}
            value={shown.manifests}
            onInput={(event) => change({ manifests: event.currentTarget.value })}
            onDragOver={(event) => {
              event.preventDefault();
              setOver(true);
            }}
            onDragLeave={() => setOver(false)}
            onDrop={(event) => {
              event.preventDefault();
              void takeFiles(event.dataTransfer?.files);
            }}
          />
        </Field>
        <div class="files">
          <label class="button-small">
            Choose files
            <input type="file" multiple accept=".yaml,.yml,.json" class="sr-only" onChange={(event) => void takeFiles(event.currentTarget.files)} />
          </label>
          {shown.files.map((file) => (
            <span key={file.name} class="token">
              <Name text={file.name} />
              <span class="quiet">{formatBytes(file.text.length)}</span>
              <CloseButton label={`Without ${file.name}`} onClick={() => change({ files: shown.files.filter((each) => each !== file) })} />
            </span>
          ))}
        </div>
        <Field label="More replicas" hint="One a line: Deployment shop/web +3">
          <textarea class="mono" rows={2} spellcheck={false} value={shown.replicas} onInput={(event) => change({ replicas: event.currentTarget.value })} />
        </Field>
        <div class="field-row">
          <Field label="Nodes to add">
            <input type="number" min={0} max={100000} inputMode="numeric" value={shown.addNodes} onInput={(event) => change({ addNodes: event.currentTarget.value })} />
          </Field>
          <Field label="Like node">
            <input list="node-names" spellcheck={false} value={shown.nodeLike} onInput={(event) => change({ nodeLike: event.currentTarget.value })} />
          </Field>
        </div>
        <Field label="Nodes to take away" hint="Names, separated by commas.">
          <input spellcheck={false} value={shown.removeNodes} onInput={(event) => change({ removeNodes: event.currentTarget.value })} />
        </Field>
        <NodeNames />
        <div class="field-actions">
          <button type="submit" class="button button-primary" disabled={isAsking}>
            Simulate
          </button>
          {isAsking ? (
            <button type="button" class="button" onClick={giveUp}>
              Give up
            </button>
          ) : (
            <button
              type="button"
              class="button"
              onClick={() => {
                question.set(noQuestion);
                model.trial.set({ request: undefined, result: undefined });
                refuse("");
              }}
            >
              Clear
            </button>
          )}
        </div>
      </form>
      <div class="whatif-answer" aria-live="polite" ref={answer}>
        {problem !== "" ? <Problem>{problem}</Problem> : null}
        {isAsking ? (
          <Loading label="The change is being simulated" />
        ) : trial.result === undefined ? (
          problem === "" ? <Empty title="Ask something">Where would these pods go? What if these nodes were not there? The answer appears here, and as ghosts in the picture of the cluster.</Empty> : null
        ) : (
          <SimulationAnswer result={trial.result} />
        )}
      </div>
    </div>
  );
}

function SimulationAnswer({ result }: { result: Simulation }): JSX.Element {
  const rows = workloadRows(result);
  const { asked, placed, waited, waitedPlaced } = outcomeOf(result);
  const left = asked - placed;
  return (
    <>
      <div class="answer-head">
        <p class="answer-sentence">
          <Pill tone={left === 0 ? "good" : "bad"}>{left > 0 ? `${formatCount(left)} ${left === 1 ? "stays" : "stay"} pending` : asked > 0 ? "All placed" : "No pod is moved"}</Pill>
          {asked > 0 ? `${plural(placed, "pod")} of ${formatCount(asked)} ${placed === 1 ? "gets" : "get"} a node` : "No pod asks for a node"}
          {waited > 0 ? `; of ${plural(waited, "pod")} that ${waited === 1 ? "waits" : "wait"} already, ${formatCount(waitedPlaced)} would get one` : ""}
          {(result.evictions?.length ?? 0) > 0 ? `, ${plural(result.evictions?.length ?? 0, "pod")} would be evicted` : ""}
          {(result.lost?.length ?? 0) > 0 ? `, ${plural(result.lost?.length ?? 0, "pod")} would be lost` : ""}.
        </p>
        <a class="button" href={formatRoute({ view: "cluster", path: [], query: {} })}>
          Show in the cluster
        </a>
      </div>
      <Table
        label="Workloads"
        rows={rows}
        keyOf={(row) => row.key}
        columns={[
          {
            key: "name",
            title: "Workload",
            cell: (row) => (
              <>
                <Name text={row.name} class="strong" />
                <span class="quiet under">
                  {row.kind} · <bdi>{row.namespace}</bdi> · {originTexts[row.origin] ?? row.origin}
                </span>
              </>
            ),
          },
          { key: "pods", title: "Pods", isNumber: true, cell: (row) => formatCount(row.pods) },
          { key: "pending", title: "Pending", isNumber: true, cell: (row) => <span class={row.pending > 0 ? "tone-bad strong" : "quiet"}>{formatCount(row.pending)}</span> },
          {
            key: "nodes",
            title: "Nodes",
            cell: (row) => (
              <span class="cut" title={row.nodes.map((node) => `${node.name} (${node.pods})`).join("\n")}>
                {row.nodes.length === 0 ? "–" : row.nodes.length > 3 ? `${plural(row.nodes.length, "node")}, at most ${row.nodes[0]?.pods} each` : row.nodes.map((node) => `${node.name} (${node.pods})`).join(", ")}
              </span>
            ),
          },
        ]}
      />
      {rows
        .filter((row) => row.reasons.length > 0 && row.origin !== "pending")
        .map((row) => (
          <div key={row.key} class="why-pending">
            <h2 class="h3">
              {plural(row.pending, "pod")} of {row.kind} <bdi>{row.name}</bdi> {row.pending === 1 ? "stays" : "stay"} pending
            </h2>
            {row.reasons.slice(0, 3).map((reason) => (
              <p key={reason} class="message">
                {reason}
              </p>
            ))}
          </div>
        ))}
      {(result.evictions?.length ?? 0) > 0 ? (
        <details open={(result.evictions?.length ?? 0) <= 12}>
          <summary>{plural(result.evictions?.length ?? 0, "eviction")}</summary>
          <Table
            label="Evictions"
            rows={(result.evictions ?? []).slice(0, 200)}
            keyOf={(each) => `${each.namespace}/${each.name}`}
            columns={[
              { key: "pod", title: "Evicted", cell: (each) => <Name text={`${each.namespace}/${each.name}`} /> },
              { key: "node", title: "From", cell: (each) => <Name text={each.node} /> },
              { key: "for", title: "For", cell: (each) => <Name text={each.preemptor ?? "–"} /> },
            ]}
          />
        </details>
      ) : null}
      {(result.lost?.length ?? 0) > 0 ? (
        <details open={(result.lost?.length ?? 0) <= 12}>
          <summary>{plural(result.lost?.length ?? 0, "pod")} lost</summary>
          <Table
            label="Lost pods"
            rows={(result.lost ?? []).slice(0, 200)}
            keyOf={(each) => `${each.namespace}/${each.name}`}
            columns={[
              { key: "pod", title: "Lost", cell: (each) => <Name text={`${each.namespace}/${each.name}`} /> },
              { key: "node", title: "Was on", cell: (each) => <Name text={each.node} /> },
              { key: "why", title: "Why", cell: (each) => each.reason },
            ]}
          />
        </details>
      ) : null}
      <h2 class="h3">The cluster, before and after</h2>
      <Table
        label="The cluster, before and after"
        rows={comparison(result.before, result.after)}
        keyOf={(row) => row.label}
        columns={[
          { key: "label", title: "Cluster", cell: (row) => row.label },
          { key: "before", title: "Before", isNumber: true, cell: (row) => row.before },
          { key: "after", title: "After", isNumber: true, cell: (row) => <span class={row.isChanged ? "strong" : ""}>{row.after}</span> },
        ]}
      />
      {[...(result.notes ?? []), ...(result.notSimulated ?? []).map((name) => `Not simulated: ${name}`)].map((note) => (
        <p key={note} class="foot">
          {note}
        </p>
      ))}
    </>
  );
}

function Drain({ first }: { first: string }): JSX.Element {
  const typed = useStore(drainNodes);
  const [isForced, setForced] = useState(false);
  const { answer, problem, isAsking, ask, giveUp, refuse } = useQuestion<DrainPlan>();
  const began = useRef(false);
  if (!began.current) {
    began.current = true;
    if (first !== "") drainNodes.set(first);
  }
  void typed;
  const held = (answer?.pods ?? []).filter((pod) => pod.obstacle !== "");
  const run = (): void => {
    const nodes = namesIn(drainNodes.value);
    if (nodes.length === 0) refuse("Name a node.");
    else ask((signal) => api.canDrain(nodes, isForced, signal));
  };
  return (
    <div class="whatif">
      <form
        class="whatif-form"
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <Field label="Nodes to drain" hint="Names, separated by commas.">
          <input list="node-names" spellcheck={false} value={drainNodes.value} onInput={(event) => drainNodes.set(event.currentTarget.value)} />
        </Field>
        <NodeNames />
        <label class="check">
          <input type="checkbox" checked={isForced} onChange={(event) => setForced(event.currentTarget.checked)} />
          Also pods without a controller
        </label>
        <div class="field-actions">
          <button type="submit" class="button button-primary" disabled={isAsking}>
            Can they be drained?
          </button>
          {isAsking ? (
            <button type="button" class="button" onClick={giveUp}>
              Give up
            </button>
          ) : null}
        </div>
      </form>
      <div class="whatif-answer" aria-live="polite">
        {problem !== "" ? <Problem>{problem}</Problem> : null}
        {isAsking ? <Loading label="The drain is being tried" /> : null}
        {answer === undefined ? (
          isAsking || problem !== "" ? null : <Empty title="Name a node">For each of its pods: whether it may be evicted, and where its replacement would go.</Empty>
        ) : (
          <>
            <p class="answer-sentence">
              <Pill tone={answer.canDrain ? "good" : "bad"}>{answer.canDrain ? "Can be drained" : "Cannot be drained"}</Pill>
              {plural(answer.pods.length, "pod")} on {plural(answer.nodes.length, "node")}
              {held.length > 0 ? `, ${plural(held.length, "obstacle")}:` : "."}
            </p>
            {held.length > 0 ? (
              <ul class="obstacles">
                {held.slice(0, obstaclesShownMax).map((pod) => (
                  <li key={`${pod.namespace}/${pod.name}`} class="message">
                    <bdi class="strong">{pod.name}</bdi>: {pod.obstacle}
                  </li>
                ))}
                {held.length > obstaclesShownMax ? <li class="quiet">{formatCount(held.length - obstaclesShownMax)} more, the first in the table.</li> : null}
              </ul>
            ) : null}
            <Table
              label="Pods of the nodes"
              rows={[...held, ...answer.pods.filter((pod) => pod.obstacle === "")]}
              keyOf={(pod) => `${pod.namespace}/${pod.name}`}
              classOf={(pod) => (pod.obstacle ? "is-refused" : "")}
              columns={[
                {
                  key: "pod",
                  title: "Pod",
                  cell: (pod) => (
                    <>
                      <Name text={pod.name} class="strong" />
                      <span class="quiet under">
                        <bdi>{pod.namespace}</bdi>
                      </span>
                    </>
                  ),
                },
                { key: "drain", title: "Drain", cell: (pod) => pod.drain },
                { key: "budget", title: "Budget", isMinor: true, cell: (pod) => ((pod.budgets?.length ?? 0) > 0 ? `${pod.budgets?.join(", ")}: ${pod.budget}` : "–") },
                { key: "goes", title: "Goes to", cell: (pod) => (pod.goesTo ? <Name text={pod.goesTo} /> : <span class={pod.obstacle ? "tone-bad" : "quiet"}>{pod.unknown || pod.obstacle || "–"}</span>) },
              ]}
            />
          </>
        )}
      </div>
    </div>
  );
}

function HeadroomTab(): JSX.Element {
  const [losses, setLosses] = useState("3");
  const { answer, problem, isAsking, ask, giveUp } = useQuestion<Headroom>();
  return (
    <div class="whatif">
      <form
        class="whatif-form"
        onSubmit={(event) => {
          event.preventDefault();
          ask((signal) => api.headroom(Number(losses), signal));
        }}
      >
        <Field label="Node losses, at most" hint="1 to 10. The worst choice of nodes is looked for.">
          <input type="number" min={1} max={10} required value={losses} onInput={(event) => setLosses(event.currentTarget.value)} />
        </Field>
        <div class="field-actions">
          <button type="submit" class="button button-primary" disabled={isAsking}>
            What is survived?
          </button>
          {isAsking ? (
            <button type="button" class="button" onClick={giveUp}>
              Give up
            </button>
          ) : null}
        </div>
      </form>
      <div class="whatif-answer" aria-live="polite">
        {problem !== "" ? <Problem>{problem}</Problem> : null}
        {isAsking ? <Loading label="Losses are being tried" /> : null}
        {answer === undefined ? (
          isAsking || problem !== "" ? null : <Empty title="How many nodes can be lost?">For each workload: how many, until some of its pods find no place.</Empty>
        ) : (
          <>
            {answer.interrupted ? <p class="foot">The time was over before all workloads were looked at.</p> : null}
            <Table
              label="Workloads and the losses that they survive"
              rows={[...answer.workloads].sort((a, b) => (a.survives ?? 99) - (b.survives ?? 99) || b.pods - a.pods)}
              keyOf={(row) => `${row.kind}/${row.namespace}/${row.name}`}
              columns={[
                {
                  key: "name",
                  title: "Workload",
                  cell: (row) => (
                    <>
                      <Name text={row.name} class="strong" />
                      <span class="quiet under">
                        {row.kind} · <bdi>{row.namespace}</bdi>
                      </span>
                    </>
                  ),
                },
                { key: "pods", title: "Pods", isNumber: true, cell: (row) => formatCount(row.pods) },
                {
                  key: "survives",
                  title: "Survives",
                  isNumber: true,
                  cell: (row) => (row.survives === undefined ? "–" : <span class={row.survives === 0 ? "tone-bad strong" : ""}>{row.isAtLimit ? `${row.survives} or more` : row.survives}</span>),
                },
                {
                  key: "without",
                  title: "Not without",
                  cell: (row) => (row.failsWithout ? <span class="cut" title={row.failsWithout.nodes.join(", ")}>{`${row.failsWithout.nodes.join(", ")}: ${plural(row.failsWithout.podsWithoutPlace, "pod")} without a place`}</span> : <span class="quiet">{row.unknown ?? "–"}</span>),
                },
              ]}
            />
          </>
        )}
      </div>
    </div>
  );
}
