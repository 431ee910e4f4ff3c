// SPDX-License-Identifier: Apache-2.0
// The first view: what waits for a node, folded by workload or by reason.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import * as model from "../model";
import { Age, Empty, Filter, Loading, Name, Segmented, Until, ViewHead } from "../parts/basics";
import type { ColumnOf } from "../parts/table";
import { Table } from "../parts/table";
import { formatCount, plural } from "../state/format";
import { take, viewOf } from "../state/held_list";
import type { Folding, PendingRow } from "../state/pending";
import { filterRows, groupMessage, pendingRows, stateText, summaryOf } from "../state/pending";
import { formatRoute, withQuery } from "../state/route";
import { useStore } from "../state/store";

interface Row extends PendingRow {
  readonly isGone: boolean;
}

const keyOf = (row: PendingRow): string => row.key;

function Reasons({ row }: { row: PendingRow }): JSX.Element {
  const [first, ...rest] = row.reasons;
  const inGroup = groupMessage(row.message);
  if (first === undefined) {
    return (
      <span class="reasons" title={row.message || undefined}>
        <span>{inGroup === "" ? stateText(row.state) : "its group has no place"}</span>
        {row.message === "" ? null : <span class="quiet">{inGroup || row.message}</span>}
      </span>
    );
  }
  return (
    <span class="reasons" title={row.message || undefined}>
      <span class="reason-first">{first.text}</span>
      <span class="quiet">
        {inGroup !== "" ? inGroup : first.nodes > 0 ? `${formatCount(first.nodes)}${Number.isNaN(row.nodes) ? "" : ` of ${formatCount(row.nodes)}`} nodes` : ""}
        {rest.length > 0 ? `${inGroup !== "" || first.nodes > 0 ? ", " : ""}${rest.length} more ${rest.length === 1 ? "reason" : "reasons"}` : ""}
      </span>
    </span>
  );
}

function Queue({ row }: { row: PendingRow }): JSX.Element {
  if (row.queue.length === 0) return <span class="quiet">{row.state === "Gated" ? "gated" : "–"}</span>;
  return (
    <span class="stack">
      {row.queue.map((each) => (
        <span key={each.place} class="nowrap">
          {formatCount(each.pods)} {each.place}
          {each.place === "backing off" && Number.isFinite(row.backoffUntilMs) ? (
            <span class="quiet">
              {", "}
              <Until atMs={row.backoffUntilMs} isShort />
            </span>
          ) : null}
        </span>
      ))}
    </span>
  );
}

function WaitsFor({ row }: { row: PendingRow }): JSX.Element {
  const [first, ...rest] = row.waitsFor;
  if (first === undefined) return <span class="quiet">–</span>;
  return (
    <span class="cut" title={row.waitsFor.join("\n")}>
      {first}
      {rest.length > 0 ? <span class="quiet">, {rest.length} more</span> : null}
    </span>
  );
}

const byOwner: readonly ColumnOf<Row>[] = [
  {
    key: "title",
    title: "Workload",
    cell: (row) => (
      <>
        <Name text={row.title} class="strong" />
        <span class="quiet under">
          {row.kind} · <bdi>{row.namespace}</bdi>
          {row.group !== "" && row.group !== row.title ? ` · group ${row.group}` : ""}
          {row.isGone ? " · no longer waits" : ""}
        </span>
      </>
    ),
  },
  {
    key: "pods",
    title: "Pods",
    isNumber: true,
    cell: (row) => (
      <>
        <span class="strong">{formatCount(row.pods)}</span>
        <span class="quiet narrow-unit">{row.pods === 1 ? " pod" : " pods"}</span>
      </>
    ),
  },
  { key: "reasons", title: "Why", cell: (row) => <Reasons row={row} /> },
  { key: "oldest", title: "Longest", isNumber: true, cell: (row) => <Age sinceMs={row.oldestMs} /> },
  { key: "attempts", title: "Attempts", isNumber: true, isMinor: true, cell: (row) => (Number.isNaN(row.attempts) ? "–" : formatCount(row.attempts)) },
  { key: "queue", title: "Queue", isMinor: true, cell: (row) => <Queue row={row} /> },
  { key: "waits", title: "Waits for", isMinor: true, cell: (row) => <WaitsFor row={row} /> },
];

const byReason: readonly ColumnOf<Row>[] = [
  {
    key: "title",
    title: "Reason",
    cell: (row) => (
      <>
        <span class="strong">{row.title}</span>
        <span class="quiet under">
          {row.kind}
          {row.isGone ? " · nothing waits for it any longer" : ""}
        </span>
      </>
    ),
  },
  ...byOwner.filter((column) => column.key !== "title" && column.key !== "reasons").flatMap((column): ColumnOf<Row>[] =>
    column.key === "pods" ? [column, { key: "owners", title: "Workloads", isNumber: true, cell: (row) => formatCount(row.owners) }] : [column],
  ),
];

export function PendingView(): JSX.Element {
  const route = useStore(model.route);
  const pending = useStore(model.pending);
  const folding: Folding = route.query.by === "reason" ? "reason" : "owner";
  const text = route.query.q ?? "";
  const hasDecisions = useStore(model.status, (status) => status?.features.includes("decisions") ?? false);
  const rows = useMemo(() => (pending === undefined ? [] : pendingRows(pending, folding)), [pending, folding]);
  const [asked, setAsked] = useState(0);
  const last = useRef(new Map<string, PendingRow>());
  for (const row of rows) last.current.set(row.key, row);
  // The order is taken when the view opens, when another folding is chosen, and when it is asked for.
  const isThere = pending !== undefined;
  const held = useMemo(() => {
    last.current = new Map(rows.map((row) => [row.key, row]));
    return take(rows, keyOf);
  }, [isThere, folding, asked]);
  const change = (changes: Record<string, string>): void => model.go(withQuery(route, changes), true);

  if (pending === undefined) {
    return (
      <>
        <ViewHead title="Pending" />
        <Loading label="What waits is being read" />
      </>
    );
  }
  const summary = summaryOf(pending);
  const view = viewOf(held, rows, keyOf, last.current);
  const shown = filterRows(
    view.rows.map((row): Row => ({ ...row.item, isGone: row.isGone })),
    text,
  ) as readonly Row[];
  // Attempts and the queue are known where berth itself decides.
  const columns = (folding === "owner" ? byOwner : byReason).filter(
    (column) => pending.by !== "evaluation" || (column.key !== "attempts" && column.key !== "queue"),
  );
  return (
    <>
      <ViewHead title="Pending" sub={summary.sentence}>
        <Filter label="Filter" value={text} onChange={(q) => change({ q })} />
        <Segmented
          label="Fold by"
          value={folding}
          choices={[
            { value: "owner", label: "Workload" },
            { value: "reason", label: "Reason" },
          ]}
          onChoose={(by) => change({ by: by === "owner" ? "" : by })}
        />
      </ViewHead>
      {pending.pods > 0 ? <ReasonBar summary={summary} chosen={text} onChoose={(q) => change({ q })} /> : null}
      <NewRows count={view.newCount} gone={view.goneCount} isStale={view.isStale} onTake={() => setAsked((count) => count + 1)} />
      {rows.length === 0 && view.rows.length === 0 ? (
        <Empty title="Nothing waits">
          Every pod of this cluster has a node. New pods appear here as soon as they wait for one. See <a href="#/cluster">where they are</a>
          {hasDecisions ? (
            <>
              , and <a href="#/decisions">why there</a>
            </>
          ) : null}
          .
        </Empty>
      ) : shown.length === 0 ? (
        <Empty title="No line has all these words">Empty the filter to see all {plural(view.rows.length, "line")}.</Empty>
      ) : (
        <Table
          label={folding === "owner" ? "Workloads that wait" : "Reasons for waiting"}
          columns={columns}
          rows={shown}
          keyOf={keyOf}
          classOf={(row) => (row.isGone ? "is-gone" : "")}
          hrefOf={(row) =>
            folding === "owner"
              ? formatRoute({ view: "pod", path: [row.sample.namespace, row.sample.name], query: {} })
              : formatRoute({ view: "pending", path: [], query: { q: row.title } })
          }
        />
      )}
      {(pending.notLookedAt ?? 0) > 0 ? <p class="foot">{plural(pending.notLookedAt ?? 0, "more pod")} waiting were not looked at.</p> : null}
      {pending.by === "evaluation" ? <p class="foot">The reasons are berth's answer for a copy of the cluster; no berth decides here.</p> : null}
    </>
  );
}

/** What holds how many, as one bar, and the same in words; a click narrows the list. */
function ReasonBar(props: { summary: ReturnType<typeof summaryOf>; chosen: string; onChoose: (text: string) => void }): JSX.Element {
  return (
    <section class="reason-bar" aria-label="Reasons">
      <div class="bar" aria-hidden="true">
        {props.summary.reasons.map((reason, i) => (
          <span key={reason.text} style={{ flexGrow: Math.max(reason.share, 0.004), background: `var(--cat-${i})` }} />
        ))}
      </div>
      <ul>
        {props.summary.reasons.map((reason, i) => {
          const isOther = reason.plugin === "" && /^\d+ other reasons$/.test(reason.text);
          return (
            <li key={reason.text}>
              <button
                type="button"
                disabled={isOther}
                aria-pressed={props.chosen === reason.text}
                onClick={() => props.onChoose(props.chosen === reason.text ? "" : reason.text)}
              >
                <span class="swatch" style={{ background: `var(--cat-${i})` }} />
                <span class="reason-count">{formatCount(reason.pods)}</span>
                <span class="reason-text">{reason.text}</span>
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** Says what has come and gone since the order was taken. The list stays as it is until this is pressed. */
export function NewRows(props: { count: number; gone: number; isStale: boolean; onTake: () => void }): JSX.Element {
  const parts = [props.count > 0 ? `${formatCount(props.count)} new` : "", props.gone > 0 ? `${formatCount(props.gone)} gone` : ""].filter((part) => part !== "");
  return (
    <div class="new-rows" aria-live="polite">
      {props.isStale ? (
        <button type="button" class="button-small button-accent" onClick={props.onTake}>
          {parts.length > 0 ? parts.join(", ") : "Order again"}
        </button>
      ) : null}
    </div>
  );
}
