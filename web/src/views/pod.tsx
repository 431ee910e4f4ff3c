// SPDX-License-Identifier: Apache-2.0
// One pod: why it waits, node by node, and what would help; or why it is where it is.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { api } from "../api/client";
import type { Explanation, NodeVerdict } from "../api/types";
import { seek } from "../live";
import * as model from "../model";
import { Age, Empty, Filter, Loading, Name, Pill, Problem, Until, ViewHead } from "../parts/basics";
import { Scores } from "../parts/scores";
import { LongTable } from "../parts/table";
import { useAsked } from "../parts/use_asked";
import type { FunnelStep } from "../state/explain";
import { changeKindText, funnelOf, splitNodes, verdictOf } from "../state/explain";
import { formatAmount, formatCount, plural } from "../state/format";
import { groupToldIn } from "../state/pending";
import { formatRoute } from "../state/route";
import { useStore } from "../state/store";
import { beganToWait } from "../state/timeline";

export function PodView(): JSX.Element {
  const route = useStore(model.route);
  const [namespace = "", name = ""] = route.path;
  const asked = useAsked(`${namespace}/${name}`, (signal) => api.pod(namespace, name, signal));
  const said = asked.answer;
  const verdict = said === undefined ? undefined : verdictOf(said);
  return (
    <>
      <nav class="crumbs" aria-label="Where this is">
        <a href="#/pending">Pending</a>
        <span aria-hidden="true">/</span>
        <bdi>{namespace}</bdi>
      </nav>
      <ViewHead title={name}>
        <BeganToWait created={said?.page?.created} />
        <button type="button" class="button" onClick={asked.again} disabled={asked.isAsking}>
          Ask again
        </button>
        <a class="button" href={formatRoute({ view: "cluster", path: [], query: { color: "answer", pod: `${namespace}/${name}` } })}>
          Show in the cluster
        </a>
      </ViewHead>
      {asked.problem !== "" ? <Problem>{asked.problem}</Problem> : null}
      {said === undefined ? (
        asked.isAsking ? <Loading label="The pod is being explained" lines={9} /> : null
      ) : (
        <div class="pod">
          <div class="verdict">
            {verdict ? <Pill tone={verdict.tone}>{verdict.text}</Pill> : null}
            <Facts said={said} />
          </div>
          {said.message ? <p class="message">{said.message}</p> : null}
          {said.condition && said.condition !== said.message ? (
            <p class="message quiet">
              Its condition says: <bdi>{said.condition}</bdi>
            </p>
          ) : null}
          {said.askedProfile ? (
            <p class="message">
              No profile of this configuration is for the scheduler <bdi>{said.schedulerName}</bdi>: what follows is what <bdi>{said.askedProfile}</bdi> would answer.
            </p>
          ) : null}
          {said.state === "Fits" && said.page?.group ? <InGroup namespace={namespace} group={said.page.group} /> : null}
          <Standing said={said} />
          <Funnel said={said} />
          <Changes said={said} />
          <Preemption said={said} />
          <Wakes said={said} />
          <ScoreSection said={said} />
          <NodeSection said={said} />
          {(said.leftOut?.length ?? 0) > 0 ? <p class="foot">Not looked at: {said.leftOut?.join(", ")}</p> : null}
        </div>
      )}
    </>
  );
}

/** Of a recording: to the moment when the pod began to wait. */
function BeganToWait({ created }: { created: string | undefined }): JSX.Element | null {
  const timeline = useStore(model.timeline);
  if (timeline === undefined || created === undefined) return null;
  const began = beganToWait(Date.parse(created), Date.parse(timeline.from), Date.parse(timeline.to));
  return (
    <button
      type="button"
      class="button"
      disabled={began === undefined}
      title={began === undefined ? "It was there before the recording began" : undefined}
      onClick={() => {
        if (began !== undefined) void seek(new Date(began).toISOString());
      }}
    >
      When it began to wait
    </button>
  );
}

/** What the group of a pod was told, and that the answer below is about the pod alone. */
function InGroup({ namespace, group }: { namespace: string; group: string }): JSX.Element {
  const told = useStore(model.pending, (pending) => groupToldIn(pending, namespace, group));
  return (
    <p class="message">
      {told === "" ? "" : `The group was told: ${told}. `}
      Its pods get their nodes together, or none gets one. What follows is about this pod alone.
    </p>
  );
}

function Section(props: { title: string; note?: ComponentChildren; children: ComponentChildren }): JSX.Element {
  return (
    <section class="section">
      <h2>{props.title}</h2>
      {props.note ? <p class="section-note">{props.note}</p> : null}
      {props.children}
    </section>
  );
}

function Facts({ said }: { said: Explanation }): JSX.Element {
  const page = said.page;
  const facts: [string, ComponentChildren][] = [];
  if (page?.owner && page.owner.kind !== "Pod") {
    const { kind, namespace, name } = page.owner;
    facts.push([
      kind,
      <a href={formatRoute({ view: "cluster", path: [], query: { owner: `${kind}/${namespace}/${name}` } })}>
        <Name text={name} />
      </a>,
    ]);
  }
  if (page?.created) facts.push(["Age", <Age sinceMs={Date.parse(page.created)} />]);
  if (said.schedulerName) facts.push(["Scheduler", <Name text={said.schedulerName} />]);
  if (page?.priority) facts.push(["Priority", formatCount(page.priority)]);
  for (const [resource, amount] of Object.entries(page?.requests ?? {})) {
    if (resource !== "pods" && amount > 0) facts.push([resource, formatAmount(resource, amount)]);
  }
  return (
    <dl class="facts">
      {facts.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Where the pod is in the queue of the scheduler that runs. */
function Standing({ said }: { said: Explanation }): JSX.Element | null {
  const queue = said.live?.queue;
  const decision = said.live?.decision;
  if (queue === undefined && decision === undefined) return null;
  const backoff = queue?.backoffUntil === undefined ? NaN : Date.parse(queue.backoffUntil);
  return (
    <dl class="facts facts-box">
      {queue ? (
        <div>
          <dt>Queue</dt>
          <dd>
            {queue.place}
            {Number.isFinite(backoff) ? (
              <>
                , tried again <Until atMs={backoff} />
              </>
            ) : null}
          </dd>
        </div>
      ) : null}
      {decision ? (
        <>
          <div>
            <dt>Last attempt</dt>
            <dd>
              <Age sinceMs={Date.parse(decision.time)} /> ago, number {decision.attempt}
            </dd>
          </div>
          <div>
            <dt>Nodes</dt>
            <dd>
              {formatCount(decision.feasibleCount)} of {formatCount(decision.nodeCount)} fit
            </dd>
          </div>
          <div>
            <dt>Seed</dt>
            <dd class="mono">{decision.seed}</dd>
          </div>
        </>
      ) : null}
    </dl>
  );
}

function Funnel({ said }: { said: Explanation }): JSX.Element | null {
  const steps = funnelOf(said);
  const whole = said.nodeCount ?? 0;
  if (steps.length === 0 || whole === 0) return null;
  const left = steps[steps.length - 1]?.after ?? 0;
  return (
    <Section title="Where the nodes fell" note={`Each filter is asked about the nodes that the filters before it have left. ${left === 0 ? "None is left." : `${plural(left, "node")} ${left === 1 ? "is" : "are"} left.`}`}>
      <table class="funnel" aria-label="Nodes that each filter refused and left">
        <thead>
          <tr>
            <th scope="col">Filter</th>
            <th scope="col">Reason</th>
            <th scope="col" class="number">Fell</th>
            <th scope="col" class="number minor">Would refuse</th>
            <th scope="col" class="funnel-bar-cell">Left</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <td class="strong">All nodes</td>
            <td class="narrow-only">all nodes</td>
            <td class="number" />
            <td class="number minor" />
            <td class="funnel-bar-cell">
              <FunnelBar before={whole} after={whole} whole={whole} />
            </td>
          </tr>
          {steps.map((step: FunnelStep) => (
            <tr key={`${step.plugin}/${step.reason}`}>
              <td class="strong">{step.plugin}</td>
              <td>{step.reason}</td>
              <td class="number tone-bad">−{formatCount(step.fell)}</td>
              <td class="number minor">{formatCount(step.wouldRefuse)}</td>
              <td class="funnel-bar-cell">
                <FunnelBar before={step.before} after={step.after} whole={whole} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}

function FunnelBar({ before, after, whole }: { before: number; after: number; whole: number }): JSX.Element {
  return (
    <span class="funnel-bar">
      <span class="funnel-track" aria-hidden="true">
        <span class="funnel-left" style={{ width: `${(100 * after) / whole}%` }} />
        <span class="funnel-fell" style={{ width: `${(100 * (before - after)) / whole}%` }} />
      </span>
      <span class="number">{formatCount(after)}</span>
    </span>
  );
}

function Changes({ said }: { said: Explanation }): JSX.Element | null {
  if (said.changes === undefined) return null;
  return (
    <Section title="What would help" note="After each of these, the smallest of its kind, the pod would be placed without evicting any.">
      {said.changes.length === 0 ? (
        <p class="quiet">No single change was found.</p>
      ) : (
        <ul class="changes">
          {said.changes.map((change) => {
            const like = change.kind === "newNode" ? /like (\S+)$/.exec(change.what[0] ?? "")?.[1] : undefined;
            return (
              <li key={change.what.join("\n")}>
                <span class="change-kind">{changeKindText(change.kind)}</span>
                <span class="change-what">
                  {change.what.map((line) => (
                    <bdi key={line}>{line}</bdi>
                  ))}
                </span>
                <span class="change-effect">
                  {change.kind === "newNode" ? "" : `fits ${plural(change.nodeCount, "node")}`}
                  {change.kind !== "newNode" && change.nodes[0] ? (
                    <span class="quiet">
                      , such as <bdi>{change.nodes[0]}</bdi>
                    </span>
                  ) : null}
                  {like ? (
                    <a class="button-small" href={formatRoute({ view: "whatif", path: [], query: { add: "1", like } })}>
                      Try it
                    </a>
                  ) : null}
                </span>
              </li>
            );
          })}
        </ul>
      )}
      {said.changesComplete === false ? <p class="quiet">The search was ended by its bound: there may be others.</p> : null}
    </Section>
  );
}

function Preemption({ said }: { said: Explanation }): JSX.Element | null {
  const preemption = said.preemption;
  if (preemption === undefined) return null;
  return (
    <Section title="Preemption">
      {preemption.node === "" ? (
        <p>{preemption.whyNot || "Preemption would not help."}</p>
      ) : (
        <>
          <p>
            Would take place on <Name text={preemption.node} class="strong" />, of {plural(preemption.candidateCount, "candidate")}, and evict{" "}
            {plural(preemption.victims.length, "pod")}
            {preemption.pdbViolations > 0 ? `; ${plural(preemption.pdbViolations, "disruption budget")} would be broken` : ""}.
          </p>
          <ul class="names">
            {preemption.victims.slice(0, 20).map((victim) => (
              <li key={victim}>
                <Name text={victim} />
              </li>
            ))}
          </ul>
        </>
      )}
    </Section>
  );
}

function Wakes({ said }: { said: Explanation }): JSX.Element | null {
  if ((said.wokenBy?.length ?? 0) === 0 && (said.blockingObjects?.length ?? 0) === 0) return null;
  return (
    <Section title="Tried again after" note="One of these events brings it back to the queue; so do five minutes.">
      <ul class="chips">
        {(said.wokenBy ?? []).map((event) => (
          <li key={event} class="mono">
            {event}
          </li>
        ))}
      </ul>
      {(said.blockingObjects?.length ?? 0) > 0 ? <p>Blocked by: {said.blockingObjects?.join(", ")}</p> : null}
    </Section>
  );
}

function ScoreSection({ said }: { said: Explanation }): JSX.Element | null {
  const { fitting } = splitNodes(said);
  if (!fitting.some((node) => (node.scores?.length ?? 0) > 0)) return null;
  return (
    <Section title="Scores" note="Of a decision made now, on the cluster as it is.">
      <Scores nodes={fitting} chosen={said.node} />
    </Section>
  );
}

function NodeSection({ said }: { said: Explanation }): JSX.Element | null {
  const [text, setText] = useState("");
  const [order, setOrder] = useState("");
  const nodes = said.nodes ?? [];
  if (nodes.length === 0) return null;
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const saidOf = (node: NodeVerdict): string => (node.refusals ?? []).map((refusal) => `${refusal.plugin}: ${refusal.reason}`).join("; ");
  const shown = words.length === 0 ? nodes : nodes.filter((node) => words.every((word) => `${node.name} ${saidOf(node)}`.toLowerCase().includes(word)));
  return (
    <Section title="Node by node" note={`${plural(nodes.length, "node")}, with all that refuses each.`}>
      <Filter label="Filter nodes" value={text} onChange={setText} />
      {shown.length === 0 ? (
        <Empty title="No node has all these words" />
      ) : (
        <LongTable
          label="What each node answers"
          order={order}
          onOrder={setOrder}
          keyOf={(node) => node.name}
          hrefOf={(node) => formatRoute({ view: "cluster", path: [], query: { node: node.name } })}
          rows={shown}
          columns={[
            { key: "name", title: "Node", cell: (node) => <Name text={node.name} />, order: (a, b) => (a.name < b.name ? -1 : 1) },
            { key: "total", title: "Score", isNumber: true, cell: (node) => (node.refusals?.length ? "–" : (node.total ?? "–")), order: (a, b) => (a.total ?? -1) - (b.total ?? -1) },
            {
              key: "why",
              title: "Refused by",
              cell: (node) => (node.refusals?.length ? <span class="cut" title={saidOf(node)}>{saidOf(node)}</span> : <span class="tone-good">fits</span>),
              order: (a, b) => (saidOf(a) < saidOf(b) ? -1 : 1),
            },
          ]}
        />
      )}
    </Section>
  );
}
