// SPDX-License-Identifier: Apache-2.0
// What berth would move, and where berth and another scheduler differ: a plan of `berth rebalance plan`, a report of `berth
// shadow`. Each line is opened to see both nodes side by side.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api } from "../api/client";
import type { PlannedMove, RebalancePlan, ShadowDifference, ShadowReport } from "../api/types";
import * as model from "../model";
import { Empty, Filter, Loading, Name, Pill, Problem, Segmented, ShareBar, ViewHead } from "../parts/basics";
import type { ColumnOf } from "../parts/table";
import { Table } from "../parts/table";
import { formatClock, formatCount, formatShare, plural } from "../state/format";
import type { UseChange } from "../state/reports";
import { agreementText, differenceText, leftOutRows, matchText, moveKey, outcomeRows, planSentence, readReport, reportBytesMax, usesAfter } from "../state/reports";
import { formatRoute, withQuery } from "../state/route";
import { Store, useStore } from "../state/store";

/** Lines that are drawn; the rest is found by the filter. */
const linesMax = 300;

const policy = new Store("");
const isWithinScheduler = new Store(false);

const tabs = [
  { value: "plan", label: "Rebalance" },
  { value: "shadow", label: "Shadow" },
] as const;

/** Opens what a text is; returns what is wrong with it, or "". */
export function takeReport(text: string): string {
  const read = readReport(text);
  if (read.kind === "plan") model.plan.set(read.plan);
  if (read.kind === "shadow") model.shadowReport.set(read.report);
  return read.kind === "wrong" ? read.problem : "";
}

/** The report that is open, alone. */
export function ShadowFile({ problem }: { problem: string }): JSX.Element {
  const report = useStore(model.shadowReport);
  return (
    <div class="reports">
      <ViewHead title="berth shadow" sub={report === undefined ? "" : periodText(report)} />
      {problem !== "" ? <Problem>{problem}</Problem> : null}
      {report === undefined ? null : <Shadow report={report} />}
    </div>
  );
}

function periodText(report: ShadowReport): string {
  const time = (text: string): string => new Date(text).toLocaleString("en-GB");
  return `Where ${report.schedulers.join(", ")} and berth decided differently: ${report.source}, from ${time(report.beganAt)} to ${time(report.endedAt)}, by ${report.configuration || "kube-scheduler's defaults"}.`;
}

export function ReportsView(): JSX.Element {
  const route = useStore(model.route);
  const tab = route.query.tab ?? "plan";
  const [problem, setProblem] = useState("");
  const open = async (files: FileList | null | undefined): Promise<void> => {
    const file = files?.[0];
    if (file === undefined) return;
    if (file.size > reportBytesMax) {
      setProblem("This file has more than 64 MiB, which no plan or report has.");
      return;
    }
    const before = model.plan.value;
    const wrong = takeReport(await file.text());
    setProblem(wrong === "" ? "" : `${file.name}: ${wrong}`);
    if (wrong === "") model.go(withQuery(model.route.value, { tab: model.plan.value === before ? "shadow" : "", open: "" }), true);
  };
  return (
    <div
      class="reports"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        if (event.defaultPrevented) return;
        event.preventDefault();
        void open(event.dataTransfer?.files);
      }}
    >
      <ViewHead title="Reports" sub={tab === "plan" ? "What a policy would have moved, and why the rest stays. Nothing is moved." : "Where another scheduler and berth decided differently."}>
        <label class="button">
          Open a file
          <input type="file" accept=".json" class="sr-only" onChange={(event) => void open(event.currentTarget.files)} />
        </label>
        <Segmented label="Report" value={tab} choices={tabs} onChoose={(value) => model.go(withQuery(route, { tab: value === "plan" ? "" : value, open: "", q: "" }), true)} />
      </ViewHead>
      {problem !== "" ? <Problem>{problem}</Problem> : null}
      {tab === "shadow" ? <ShadowTab /> : <PlanTab />}
    </div>
  );
}

function PlanTab(): JSX.Element {
  const plan = useStore(model.plan);
  const status = useStore(model.status);
  const text = useStore(policy);
  const isWithin = useStore(isWithinScheduler);
  const [state, setState] = useState({ problem: "", isAsking: false });
  const abort = useRef<AbortController | undefined>(undefined);
  const canAsk = status?.features.includes("rebalance") ?? false;
  const ask = (): void => {
    if (text.trim() === "") {
      setState({ problem: "Paste a DeschedulerPolicy first.", isAsking: false });
      return;
    }
    abort.current?.abort();
    const mine = new AbortController();
    abort.current = mine;
    setState({ problem: "", isAsking: true });
    api.rebalance(text, isWithin, mine.signal).then(
      (said) => {
        if (mine.signal.aborted) return;
        model.plan.set(said);
        setState({ problem: "", isAsking: false });
      },
      (error: unknown) => {
        if (!mine.signal.aborted) setState({ problem: error instanceof Error ? error.message : String(error), isAsking: false });
      },
    );
  };
  return (
    <div class={canAsk ? "whatif" : ""}>
      {canAsk ? (
        <form
          class="whatif-form"
          onSubmit={(event) => {
            event.preventDefault();
            ask();
          }}
        >
          <label class="field">
            <span class="field-label">DeschedulerPolicy</span>
            <textarea
              class="mono"
              rows={12}
              spellcheck={false}
              placeholder={"apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n…"}
              value={text}
              onInput={(event) => policy.set(event.currentTarget.value)}
              onDrop={(event) => {
                event.preventDefault();
                void event.dataTransfer?.files[0]?.text().then((read) => policy.set(read));
              }}
            />
            <span class="field-hint">Paste it, or drop its file here.</span>
          </label>
          <label class="check">
            <input type="checkbox" checked={isWithin} onChange={(event) => isWithinScheduler.set(event.currentTarget.checked)} />
            The scheduler keeps each place (berth run --rebalance)
          </label>
          <div class="field-actions">
            <button type="submit" class="button button-primary" disabled={state.isAsking}>
              Plan
            </button>
            {state.isAsking ? (
              <button
                type="button"
                class="button"
                onClick={() => {
                  abort.current?.abort();
                  setState({ problem: "", isAsking: false });
                }}
              >
                Give up
              </button>
            ) : null}
          </div>
        </form>
      ) : null}
      <div class="whatif-answer" aria-live="polite">
        {state.problem !== "" ? <Problem>{state.problem}</Problem> : null}
        {state.isAsking ? (
          <Loading label="The moves are being planned" />
        ) : plan === undefined ? (
          <Empty title="No plan is open">
            {canAsk ? "Plan by a policy, or open" : "Open"} or drop what <code>berth rebalance plan -o json</code> has written. Its moves appear here, and as arrows in the picture of the cluster.
          </Empty>
        ) : (
          <Plan plan={plan} />
        )}
      </div>
    </div>
  );
}

function Plan({ plan }: { plan: RebalancePlan }): JSX.Element {
  const route = useStore(model.route);
  const fleet = useStore(model.fleet);
  const uses = useMemo(() => usesAfter(fleet, plan), [fleet, plan]);
  const words = (route.query.q ?? "").toLowerCase().split(/\s+/).filter((word) => word !== "");
  const rows = plan.moves.filter((move) => words.every((word) => `${moveKey(move)} ${move.owner} ${move.from} ${move.to} ${move.strategy}`.toLowerCase().includes(word)));
  const open = route.query.open ?? "";
  const change = (changes: Record<string, string>): void => model.go(withQuery(route, changes), true);
  const columns: ColumnOf<PlannedMove>[] = [
    { key: "pod", title: "Pod", cell: (move) => <PodName namespace={move.namespace} name={move.name} /> },
    {
      key: "move",
      title: "Move",
      cell: (move) => (
        <span class="move">
          <Name text={move.from} />
          <span class="move-arrow" aria-label="to">
            →
          </span>
          {move.to === "" ? <span class="quiet">removed</span> : <Name text={move.to} />}
        </span>
      ),
    },
    { key: "gain", title: "Gain", cell: (move) => <span class="tone-good">{move.gain}</span> },
    { key: "cost", title: "Cost", isMinor: true, cell: (move) => (move.cost === "" ? <span class="quiet">–</span> : <span class="tone-bad">{move.cost}</span>) },
    ...(plan.moves.some((move) => move.chain > 0) ? [{ key: "chain", title: "Chain", isNumber: true, isMinor: true, cell: (move: PlannedMove) => (move.chain === 0 ? "–" : move.chain) }] : []),
  ];
  return (
    <>
      <div class="answer-head">
        <p class="answer-sentence">
          <Pill tone={plan.moves.length > 0 ? "accent" : "good"}>{plan.moves.length > 0 ? plural(plan.moves.length, "move") : "Nothing would move"}</Pill>
          {planSentence(plan)}
        </p>
        {plan.moves.length > 0 ? (
          <a class="button" href={formatRoute({ view: "cluster", path: [], query: {} })}>
            Show in the cluster
          </a>
        ) : null}
      </div>
      {plan.moves.length > 0 ? (
        <>
          <Filter label="Filter moves" value={route.query.q ?? ""} onChange={(q) => change({ q })} />
          <Table
            label="Moves, in the order in which they are made"
            rows={rows.slice(0, linesMax)}
            keyOf={moveKey}
            columns={columns}
            isOpen={(move) => moveKey(move) === open}
            onOpen={(move) => change({ open: moveKey(move) === open ? "" : moveKey(move) })}
            below={(move) => <Move move={move} uses={uses} />}
          />
          {rows.length > linesMax ? <p class="foot">{formatCount(rows.length - linesMax)} more: narrow them by the filter.</p> : null}
        </>
      ) : null}
      {plan.staying.length > 0 ? (
        <details class="stays">
          <summary>{plural(plan.staying.length, "pod")} objected to that {plan.staying.length === 1 ? "stays" : "stay"}</summary>
          <Table
            label="Pods that stay"
            rows={plan.staying.slice(0, linesMax)}
            keyOf={(pod) => `${pod.namespace}/${pod.name}`}
            columns={[
              { key: "pod", title: "Pod", cell: (pod) => <PodName namespace={pod.namespace} name={pod.name} /> },
              { key: "node", title: "Node", cell: (pod) => <Name text={pod.node} /> },
              { key: "strategy", title: "Strategy", isMinor: true, cell: (pod) => pod.strategy },
              { key: "why", title: "Why it stays", cell: (pod) => pod.why },
            ]}
          />
        </details>
      ) : null}
    </>
  );
}

function PodName({ namespace, name }: { namespace: string; name: string }): JSX.Element {
  return (
    <>
      <Name text={name} class="strong" />
      <span class="quiet under">
        <bdi>{namespace}</bdi>
      </span>
    </>
  );
}

/** A move, with both of its nodes. */
function Move({ move, uses }: { move: PlannedMove; uses: ReadonlyMap<string, readonly UseChange[]> }): JSX.Element {
  return (
    <>
      <p class="message">
        {move.strategy}: {move.reason}
        {move.makesRoomFor === "" ? "" : `. It makes room for ${move.makesRoomFor}`}
        {move.owner === "" ? "" : `. ${move.owner} makes its replacement`}.
      </p>
      <div class="sides">
        <Side title="From" node={move.from}>
          <Uses changes={uses.get(move.from)} />
          {move.changes.filter((each) => each.change < 0).map((each) => (
            <p key={each.strategy} class="tone-good">
              {each.strategy}: {each.text || plural(Math.round(-each.change), "violation")} {each.text ? "" : "fewer"}
            </p>
          ))}
        </Side>
        <Side title="To" node={move.to}>
          {move.to === "" ? <p class="quiet">It has ended, and is removed.</p> : <Uses changes={uses.get(move.to)} />}
          {move.changes.filter((each) => each.change > 0).map((each) => (
            <p key={each.strategy} class="tone-bad">
              {each.strategy}: {each.text || plural(Math.round(each.change), "violation")} {each.text ? "" : "more"}
            </p>
          ))}
        </Side>
      </div>
    </>
  );
}

function Side({ title, node, children }: { title: string; node: string | undefined; children: ComponentChildren }): JSX.Element {
  // Of a file nothing is known but its report.
  const status = useStore(model.status);
  return (
    <section class="side">
      <h2 class="h3">
        <span class="quiet">{title}</span>{" "}
        {node && status === undefined ? (
          <Name text={node} />
        ) : node ? (
          <a href={formatRoute({ view: "cluster", path: [], query: { node } })}>
            <Name text={node} />
          </a>
        ) : (
          <span>no node</span>
        )}
      </h2>
      {children}
    </section>
  );
}

function Uses({ changes }: { changes: readonly UseChange[] | undefined }): JSX.Element | null {
  if (changes === undefined) return null;
  return (
    <table class="uses">
      <caption class="sr-only">Use before the plan and after it</caption>
      <tbody>
        {changes.map(({ resource, before, after }) => (
          <tr key={resource}>
            <th scope="row">{resource}</th>
            <td>
              <ShareBar share={before} tone="scale-2" />
              <ShareBar share={after} />
            </td>
            <td class="number">
              {formatShare(before, 1)} → <span class="strong">{formatShare(after, 1)}</span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function ShadowTab(): JSX.Element {
  const report = useStore(model.shadowReport);
  const status = useStore(model.status);
  const [problem, setProblem] = useState("");
  const isServed = status?.features.includes("shadow") ?? false;
  useEffect(() => {
    if (!isServed || report !== undefined) return;
    api.shadow().then(
      (said) => model.shadowReport.set(said),
      (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
    );
  }, [isServed]);
  return (
    <>
      {problem !== "" ? <Problem>{problem}</Problem> : null}
      {report === undefined ? (
        <Empty title="No report is open">
          Open or drop what <code>berth shadow -o json</code> has written: every decision in which another scheduler and berth differed, with both nodes.
        </Empty>
      ) : (
        <Shadow report={report} />
      )}
    </>
  );
}

function Shadow({ report }: { report: ShadowReport }): JSX.Element {
  const route = useStore(model.route);
  const change = (changes: Record<string, string>): void => model.go(withQuery(route, changes), true);
  const outcomes = outcomeRows(report);
  const only = route.query.only ?? "";
  const words = (route.query.q ?? "").toLowerCase().split(/\s+/).filter((word) => word !== "");
  const rows = report.differences.filter(
    (each) => (only === "" || each.match === only) && words.every((word) => `${each.pod} ${each.theirs.node ?? ""} ${each.ours.node ?? ""} ${differenceText(each)}`.toLowerCase().includes(word)),
  );
  const open = route.query.open ?? "";
  const keyOf = (each: ShadowDifference): string => `${each.pod} ${each.seenAt}`;
  return (
    <div class="shadow">
      <p class="answer-sentence">
        <Pill tone={report.unexplained === 0 ? "good" : "wait"}>{agreementText(report)} agreement</Pill>
        {plural(report.decisions, "decision")} of <bdi>{report.schedulers.join(", ")}</bdi> on {plural(report.nodes, "node")}; {formatCount(report.unexplained)} {report.unexplained === 1 ? "differs" : "differ"} whatever the order. berth took{" "}
        {report.cost.p50Ms.toFixed(2)} ms for half of them, {report.cost.p99Ms.toFixed(2)} ms for 99 of 100.
      </p>
      {report.unknown.map((line) => (
        <p key={line} class="notice">
          {line}
        </p>
      ))}
      <Table
        label="Outcomes"
        rows={outcomes}
        keyOf={(row) => row.match}
        columns={[
          { key: "outcome", title: "Outcome", cell: (row) => (row.agrees ? row.text : <button type="button" class="link" aria-pressed={only === row.match} onClick={() => change({ only: only === row.match ? "" : row.match, open: "" })}>{row.text}</button>) },
          { key: "count", title: "Decisions", isNumber: true, cell: (row) => formatCount(row.count) },
          {
            key: "share",
            title: "Share",
            cell: (row) => (
              <span class="use-cell">
                <ShareBar share={row.count / Math.max(1, report.decisions)} tone={row.agrees ? "state-good" : "scale-over"} />
                {formatShare(row.count, report.decisions)}
              </span>
            ),
          },
          { key: "order", title: "Explained by order", isNumber: true, isMinor: true, cell: (row) => (row.agrees ? "–" : formatCount(row.byOrder)) },
        ]}
      />
      <h2 class="h3">Where they differ</h2>
      <Filter label="Filter differences" value={route.query.q ?? ""} onChange={(q) => change({ q })} />
      {rows.length === 0 ? (
        <Empty title={report.differences.length === 0 ? "They agree about everything" : "No difference is like that"} />
      ) : (
        <Table
          label="Differences, the newest first"
          rows={rows.slice(0, linesMax)}
          keyOf={keyOf}
          isOpen={(each) => keyOf(each) === open}
          onOpen={(each) => change({ open: keyOf(each) === open ? "" : keyOf(each) })}
          below={(each) => <Difference each={each} />}
          columns={[
            { key: "pod", title: "Pod", cell: (each) => <Name text={each.pod} class="strong" /> },
            { key: "theirs", title: "Scheduler", cell: (each) => (each.theirs.node ? <Name text={each.theirs.node} /> : <span class="tone-bad">refused</span>) },
            { key: "ours", title: "berth", cell: (each) => (each.ours.node ? <Name text={each.ours.node} /> : <span class="tone-bad">refused</span>) },
            { key: "points", title: "Points", isNumber: true, cell: (each) => each.points ?? "–" },
            { key: "order", title: "By order", isMinor: true, cell: (each) => (each.explainedByOrder ? "yes" : "") },
            { key: "why", title: "Why", isMinor: true, cell: (each) => <span class="cut" title={differenceText(each)}>{differenceText(each)}</span> },
            { key: "time", title: "Seen", isNumber: true, isMinor: true, cell: (each) => <time dateTime={each.seenAt} title={each.seenAt}>{formatClock(Date.parse(each.seenAt))}</time> },
          ]}
        />
      )}
      <LeftOut report={report} />
    </div>
  );
}

function LeftOut({ report }: { report: ShadowReport }): JSX.Element | null {
  const rows = leftOutRows(report);
  if (rows.length === 0) return null;
  return (
    <details class="stays">
      <summary>{plural(rows.reduce((sum, row) => sum + row.pods, 0), "pod")} left out</summary>
      <Table
        label="Pods that were left out"
        rows={rows}
        keyOf={(row) => row.key}
        columns={[
          { key: "why", title: "Why", cell: (row) => row.text },
          { key: "pods", title: "Pods", isNumber: true, cell: (row) => formatCount(row.pods) },
        ]}
      />
    </details>
  );
}

/** What each of the two decided, and what tells their nodes apart. */
function Difference({ each }: { each: ShadowDifference }): JSX.Element {
  const plugins = each.plugins ?? [];
  const most = Math.max(1, ...plugins.flatMap((plugin) => [plugin.ours, plugin.theirs]));
  const side = (title: string, of: ShadowDifference["ours"], points: (plugin: (typeof plugins)[number]) => number, other: (plugin: (typeof plugins)[number]) => number): JSX.Element => (
    <Side title={title} node={of.node}>
      {of.message ? <p class="message">{of.message}</p> : null}
      {of.preemptionNode ? (
        <p>
          Preemption makes room on <Name text={of.preemptionNode} />.
        </p>
      ) : null}
      {plugins.length > 0 ? (
        <table class="uses">
          <caption class="sr-only">Points by plugin</caption>
          <tbody>
            {plugins.map((plugin) => (
              <tr key={plugin.plugin}>
                <th scope="row">{plugin.plugin}</th>
                <td>
                  <ShareBar share={points(plugin) / most} tone={points(plugin) < other(plugin) ? "scale-over" : "scale-4"} />
                </td>
                <td class={`number ${points(plugin) > other(plugin) ? "strong" : ""}`}>{points(plugin)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : null}
    </Side>
  );
  return (
    <>
      <p class="message">
        {matchText(each.match)}
        {each.points ? `: ${plural(each.points, "point")} fewer` : ""}
        {each.explainedByOrder ? ", explained by the order of decisions" : ""}.
      </p>
      <div class="sides">
        {side(each.scheduler, each.theirs, (plugin) => plugin.theirs, (plugin) => plugin.ours)}
        {side("berth", each.ours, (plugin) => plugin.ours, (plugin) => plugin.theirs)}
      </div>
    </>
  );
}
