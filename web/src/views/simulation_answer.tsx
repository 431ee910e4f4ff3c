// SPDX-License-Identifier: Apache-2.0
// The answer to "what would a change do": which pods go where, what stays pending and why, the cluster before and after.
import type { JSX } from "preact";
import type { Simulation } from "../api/types";
import { Name, Pill } from "../parts/basics";
import { Table } from "../parts/table";
import { formatCount, plural } from "../state/format";
import { formatRoute } from "../state/route";
import type { WorkloadRow } from "../state/whatif";
import { comparison, nodesText, outcomeOf, workloadRows } from "../state/whatif";
import { Notes } from "./question";

const originTexts: Readonly<Record<string, string>> = { pending: "waits already", displaced: "lost its node", evicted: "evicted", new: "new" };

function NodesOf({ nodes }: { nodes: WorkloadRow["nodes"] }): JSX.Element {
  return (
    <span class="cut" title={nodes.map((node) => `${node.name} (${node.pods})`).join("\n")}>
      {nodesText(nodes)}
    </span>
  );
}

/**
 * `ofWaiting`: the question is about the pods that wait. `plain` is the answer by the configuration that decides here, where the
 * question has brought another one.
 */
export function SimulationAnswer({ result, plain, ofWaiting }: { result: Simulation; plain: Simulation | undefined; ofWaiting: boolean }): JSX.Element {
  const rows = workloadRows(result);
  const plainRows = new Map((plain === undefined ? [] : workloadRows(plain)).map((row) => [row.key, row]));
  const { asked, placed, waited, waitedPlaced } = outcomeOf(result);
  const left = ofWaiting ? waited - waitedPlaced : asked - placed;
  return (
    <>
      <div class="answer-head">
        <p class="answer-sentence">
          <Pill tone={left === 0 ? "good" : "bad"}>{left > 0 ? `${formatCount(left)} ${left === 1 ? "stays" : "stay"} pending` : asked > 0 || ofWaiting ? "All placed" : "No pod is moved"}</Pill>
          {asked > 0 ? `${plural(placed, "pod")} of ${formatCount(asked)} ${placed === 1 ? "gets" : "get"} a node` : "No pod asks for a node"}
          {waited > 0 ? `; of ${plural(waited, "pod")} that ${waited === 1 ? "waits" : "wait"} already, ${formatCount(waitedPlaced)} would get one` : ""}
          {(result.evictions?.length ?? 0) > 0 ? `, ${plural(result.evictions?.length ?? 0, "pod")} would be evicted` : ""}
          {(result.lost?.length ?? 0) > 0 ? `, ${plural(result.lost?.length ?? 0, "pod")} would be lost` : ""}.
        </p>
        <a class="button" href={formatRoute({ view: "cluster", path: [], query: {} })}>
          Show in the cluster
        </a>
      </div>
      {plain === undefined ? null : (
        <p class="as-it-is">
          By the configuration that decides here {plain.pending === 0 ? "all get a node" : `${formatCount(plain.pending)} ${plain.pending === 1 ? "stays" : "stay"} pending`}.
        </p>
      )}
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
            cell: (row) => <NodesOf nodes={row.nodes} />,
          },
          ...(plain === undefined ? [] : [{ key: "plain", title: "Nodes as it is", cell: (row: WorkloadRow) => <NodesOf nodes={plainRows.get(row.key)?.nodes ?? []} /> }]),
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
      <Notes lines={[...(result.notes ?? []), ...(result.warnings ?? [])]} />
    </>
  );
}
