// SPDX-License-Identifier: Apache-2.0
// Decisions as they are made, one line each; an opened one says how close it was.
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { api } from "../api/client";
import type { Decision } from "../api/types";
import { seek } from "../live";
import * as model from "../model";
import { Age, Empty, Filter, Loading, Name, Problem, Segmented, ViewHead } from "../parts/basics";
import { Scores } from "../parts/scores";
import type { ColumnOf } from "../parts/table";
import { Table } from "../parts/table";
import { useAsked } from "../parts/use_asked";
import type { Outcome } from "../state/decisions";
import { decisionKey, filterDecisions } from "../state/decisions";
import { splitNodes } from "../state/explain";
import { formatClock, formatCount, plural } from "../state/format";
import { formatRoute, withQuery } from "../state/route";
import { Store, useStore } from "../state/store";
import { NewRows } from "./pending";

/** Lines that are drawn; the rest is found by the filter. */
const linesMax = 300;

/** Whether the list follows the newest by itself. Kept while the page is open. */
const isFollowing = new Store(false);
/** The newest decision that the list shows while it does not follow; 0 before it has shown any. */
const shownUpTo = new Store({ epoch: 0, sequence: 0 });

const columns: readonly ColumnOf<Decision>[] = [
  {
    key: "pod",
    title: "Pod",
    cell: (each) => (
      <>
        <Name text={each.name} class="strong" />
        <span class="quiet under">
          <bdi>{each.namespace}</bdi>
        </span>
      </>
    ),
  },
  {
    key: "node",
    title: "Node",
    cell: (each) => (each.node === "" ? <span class="tone-bad">refused</span> : <Name text={each.node} />),
  },
  {
    key: "why",
    title: "Why",
    cell: (each) => (
      <span class="cut" title={each.message || each.why}>
        {each.node === "" ? (each.reasons?.[0]?.text ?? each.message ?? "") : (each.why ?? "")}
      </span>
    ),
  },
  {
    key: "fit",
    title: "Fit",
    isNumber: true,
    isMinor: true,
    cell: (each) => (each.nodes === undefined ? "–" : `${formatCount(each.feasible ?? 0)} of ${formatCount(each.nodes)}`),
  },
  { key: "total", title: "Score", isNumber: true, isMinor: true, cell: (each) => (each.node !== "" && each.total ? formatCount(each.total) : "–") },
  { key: "attempt", title: "Attempt", isNumber: true, isMinor: true, cell: (each) => each.attempt ?? "–" },
  { key: "time", title: "Time", isNumber: true, cell: (each) => <Time text={each.time} /> },
];

function Time({ text }: { text: string }): JSX.Element {
  return (
    <time dateTime={text} title={text}>
      {formatClock(Date.parse(text))}
    </time>
  );
}

export function DecisionsView(): JSX.Element {
  const route = useStore(model.route);
  const status = useStore(model.status);
  const known = useStore(model.decisions);
  // Of a recording the list is that of the moment.
  const isRecording = useStore(model.timeline, (timeline) => timeline !== undefined);
  const isChecked = useStore(isFollowing);
  const follows = isChecked || isRecording;
  const upTo = useStore(shownUpTo);
  const newest = known.list[0]?.sequence ?? 0;
  // The first decisions are shown as they come; from then on the list stays until it is asked for.
  const isFirst = useRef(true);
  useLayoutEffect(() => {
    if (newest === 0) return;
    const isOutrun = known.list.every((each) => each.sequence > shownUpTo.value.sequence);
    if (isFirst.current || isOutrun || shownUpTo.value.epoch !== known.epoch || follows) shownUpTo.set({ epoch: known.epoch, sequence: newest });
    isFirst.current = false;
  }, [known.epoch, newest, follows]);
  const limit = upTo.sequence;
  const outcome: Outcome = route.query.show === "placed" || route.query.show === "refused" ? route.query.show : "all";
  const text = route.query.q ?? "";
  const open = route.query.open ?? "";
  const rows = useMemo(() => filterDecisions(known.list.filter((each) => each.sequence <= limit), text, outcome), [known, limit, text, outcome]);
  const fresh = known.list.findIndex((each) => each.sequence <= limit);
  const change = (changes: Record<string, string>): void => model.go(withQuery(route, changes), true);
  if (status !== undefined && !status.features.includes("decisions")) {
    return (
      <>
        <ViewHead title="Decisions" />
        <Empty title="No berth decides here">
          Decisions are those of a berth that runs. This page shows{" "}
          {status.mode === "snapshot" ? "a snapshot" : status.mode === "recording" ? "a recording" : "a cluster with another scheduler"}; the answers in the
          other views are those that berth would give.
        </Empty>
      </>
    );
  }
  return (
    <>
      <ViewHead title="Decisions" sub={known.list.length > 0 ? `The last ${plural(known.list.length, "decision")}, the newest first.` : undefined}>
        <Filter label="Filter" value={text} onChange={(q) => change({ q })} />
        <Segmented
          label="Show"
          value={outcome}
          choices={[
            { value: "all", label: "All" },
            { value: "placed", label: "Placed" },
            { value: "refused", label: "Refused" },
          ]}
          onChoose={(show) => change({ show: show === "all" ? "" : show })}
        />
        {isRecording ? null : (
          <label class="check">
            <input type="checkbox" checked={isChecked} onChange={(event) => isFollowing.set(event.currentTarget.checked)} />
            Follow
          </label>
        )}
      </ViewHead>
      <NewRows count={Math.max(0, fresh)} gone={0} isStale={fresh > 0} onTake={() => shownUpTo.set({ epoch: known.epoch, sequence: newest })} />
      {status === undefined || known.epoch === 0 ? (
        <Loading label="Decisions are being read" />
      ) : known.list.length === 0 ? (
        <Empty title="No decision yet">A line appears here for each pod that berth places or refuses.</Empty>
      ) : rows.length === 0 ? (
        <Empty title="No decision has all these words" />
      ) : (
        <Table
          label="Decisions"
          columns={columns}
          rows={rows.slice(0, linesMax)}
          keyOf={decisionKey}
          classOf={(each) => (each.node === "" ? "is-refused" : "")}
          onOpen={(each) => change({ open: open === decisionKey(each) ? "" : decisionKey(each) })}
          isOpen={(each) => open === decisionKey(each)}
          below={(each) => <Opened decision={each} />}
        />
      )}
      {rows.length > linesMax ? <p class="foot">{formatCount(rows.length - linesMax)} older ones: the filter finds them.</p> : null}
      {known.missed > 0 ? <p class="foot">{plural(known.missed, "decision")} came too fast to be shown.</p> : null}
    </>
  );
}

/** Of a recording: the cluster as it was when the decision had been made. */
function AtThatMoment({ time }: { time: string }): JSX.Element | null {
  const isRecording = useStore(model.timeline, (timeline) => timeline !== undefined);
  if (!isRecording) return null;
  return (
    <button type="button" class="button-small" onClick={() => void seek(time)}>
      Go to that moment
    </button>
  );
}

function Opened({ decision }: { decision: Decision }): JSX.Element {
  const asked = useAsked(`${decision.sequence}`, (signal) => api.pod(decision.namespace, decision.name, signal));
  const scored = asked.answer === undefined ? [] : splitNodes(asked.answer).fitting.filter((node) => (node.scores?.length ?? 0) > 0);
  return (
    <div class="opened">
      {decision.message ? <p class="message">{decision.message}</p> : decision.why ? <p>{decision.why}</p> : null}
      <dl class="facts">
        <div>
          <dt>Seed</dt>
          <dd class="mono">{decision.seed}</dd>
        </div>
        {decision.cycle === undefined ? null : (
          <div>
            <dt>Cycle</dt>
            <dd>{formatCount(decision.cycle)}</dd>
          </div>
        )}
        <div>
          <dt>Decided</dt>
          <dd>
            <Age sinceMs={Date.parse(decision.time)} /> ago
            <AtThatMoment time={decision.time} />
          </dd>
        </div>
        <div>
          <dt>Pod</dt>
          <dd>
            <a href={formatRoute({ view: "pod", path: [decision.namespace, decision.name], query: {} })}>Why, node by node</a>
          </dd>
        </div>
        {decision.node === "" ? null : (
          <div>
            <dt>Node</dt>
            <dd>
              <a href={formatRoute({ view: "cluster", path: [], query: { node: decision.node } })}>
                <bdi>{decision.node}</bdi>
              </a>
            </dd>
          </div>
        )}
      </dl>
      {(decision.reasons?.length ?? 0) > 0 ? (
        <ul class="reason-list">
          {decision.reasons?.map((reason) => (
            <li key={`${reason.plugin}/${reason.text}`}>
              <span class="number strong">{formatCount(reason.nodes)}</span> {reason.text} <span class="quiet">{reason.plugin}</span>
            </li>
          ))}
        </ul>
      ) : null}
      {asked.problem !== "" ? <Problem>{asked.problem}</Problem> : null}
      {asked.isAsking ? <Loading label="Scores are being computed" lines={3} /> : null}
      {scored.length > 0 ? (
        <>
          <h2 class="h3">Scores, decided again on the cluster as it is now</h2>
          <Scores nodes={scored} chosen={decision.node || undefined} />
        </>
      ) : null}
    </div>
  );
}
