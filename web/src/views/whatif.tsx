// SPDX-License-Identifier: Apache-2.0
// What a change would do: manifests, replicas and nodes that come or go; a drain; the loss of nodes. Nothing is changed.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { api } from "../api/client";
import type { DrainPlan, Headroom } from "../api/types";
import * as model from "../model";
import { CloseButton, Empty, Name, Pill, Segmented, ViewHead } from "../parts/basics";
import { Table } from "../parts/table";
import { formatBytes, formatCount, plural } from "../state/format";
import { withQuery } from "../state/route";
import { Store, useStore } from "../state/store";
import type { Question } from "../state/whatif";
import { asItIs, configurationOf, isAboutWaiting, manifestBytesMax, namesIn, noQuestion, requestOf, wrongConfiguration } from "../state/whatif";
import { AnswerRoom, ConfigurationField, configuration, Field, NodeNames, Notes, QuestionForm, useQuestion } from "./question";
import { SimulationAnswer } from "./simulation_answer";

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

function Simulate({ add, like }: { add: string | undefined; like: string | undefined }): JSX.Element {
  const asked = useStore(question);
  const trial = useStore(model.trial);
  const { problem, isAsking, ask, giveUp, refuse } = useQuestion<model.Trial>();
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
    const made = requestOf(question.value, configuration.value);
    if ("problem" in made) {
      refuse(made.problem);
      return;
    }
    const { request } = made;
    const plainly = asItIs(request);
    ask(
      async (signal) => ({ request, result: await api.simulate(request, signal), plain: plainly && (await api.simulate(plainly, signal)) }),
      (trial) => {
        model.trial.set(trial);
        // On a narrow screen the answer is below the question.
        if ((answer.current?.getBoundingClientRect().top ?? 0) > innerHeight * 0.7) answer.current?.scrollIntoView();
      },
    );
  };
  void asked;
  return (
    <div class="whatif">
      <QuestionForm
        action="Simulate"
        isAsking={isAsking}
        giveUp={giveUp}
        ask={run}
        otherwise={
          <button
            type="button"
            class="button"
            onClick={() => {
              question.set(noQuestion);
              configuration.set("");
              model.trial.set(model.noTrial);
              refuse("");
            }}
          >
            Clear
          </button>
        }
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
        <ConfigurationField refuse={refuse} />
      </QuestionForm>
      <AnswerRoom
        of={answer}
        problem={problem}
        isAsking={isAsking}
        asking="The change is being simulated"
        title="Ask something"
        hint="Where would these pods go? What if these nodes were not there? The answer appears here, and as ghosts in the picture of the cluster."
      >
        {trial.result === undefined ? undefined : <SimulationAnswer result={trial.result} plain={trial.plain} ofWaiting={isAboutWaiting(trial.request)} />}
      </AnswerRoom>
    </div>
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
    const wrong = nodes.length === 0 ? "Name a node." : wrongConfiguration(configuration.value);
    if (wrong !== "") refuse(wrong);
    else ask((signal) => api.canDrain({ nodes, force: isForced, ...configurationOf(configuration.value) }, signal));
  };
  return (
    <div class="whatif">
      <QuestionForm action="Can they be drained?" isAsking={isAsking} giveUp={giveUp} ask={run}>
        <Field label="Nodes to drain" hint="Names, separated by commas.">
          <input list="node-names" spellcheck={false} value={drainNodes.value} onInput={(event) => drainNodes.set(event.currentTarget.value)} />
        </Field>
        <NodeNames />
        <label class="check">
          <input type="checkbox" checked={isForced} onChange={(event) => setForced(event.currentTarget.checked)} />
          Also pods without a controller
        </label>
        <ConfigurationField refuse={refuse} />
      </QuestionForm>
      <AnswerRoom problem={problem} isAsking={isAsking} asking="The drain is being tried" title="Name a node" hint="For each of its pods: whether it may be evicted, and where its replacement would go.">
        {answer === undefined ? undefined : (
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
            <Notes lines={answer.warnings ?? []} />
          </>
        )}
      </AnswerRoom>
    </div>
  );
}

function HeadroomTab(): JSX.Element {
  const [losses, setLosses] = useState("3");
  const { answer, problem, isAsking, ask, giveUp, refuse } = useQuestion<Headroom>();
  const run = (): void => {
    const wrong = wrongConfiguration(configuration.value);
    if (wrong !== "") refuse(wrong);
    else ask((signal) => api.headroom({ losses: Number(losses), ...configurationOf(configuration.value) }, signal));
  };
  return (
    <div class="whatif">
      <QuestionForm action="What is survived?" isAsking={isAsking} giveUp={giveUp} ask={run}>
        <Field label="Node losses, at most" hint="1 to 10. The worst choice of nodes is looked for.">
          <input type="number" min={1} max={10} required value={losses} onInput={(event) => setLosses(event.currentTarget.value)} />
        </Field>
        <ConfigurationField refuse={refuse} />
      </QuestionForm>
      <AnswerRoom problem={problem} isAsking={isAsking} asking="Losses are being tried" title="How many nodes can be lost?" hint="For each workload: how many, until some of its pods find no place.">
        {answer === undefined ? undefined : (
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
            <Notes lines={answer.warnings ?? []} />
          </>
        )}
      </AnswerRoom>
    </div>
  );
}
