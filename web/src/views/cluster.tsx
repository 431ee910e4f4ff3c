// SPDX-License-Identifier: Apache-2.0
// The cluster as a picture, and the same as a table.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { api } from "../api/client";
import * as model from "../model";
import { CloseButton, Empty, Filter, Loading, Name, Problem, Segmented, Select, ShareBar, ViewHead } from "../parts/basics";
import type { ColumnOf } from "../parts/table";
import { LongTable } from "../parts/table";
import { useAsked } from "../parts/use_asked";
import type { ColourMode, Colouring } from "../picture/colouring";
import { colour, useOf } from "../picture/colouring";
import { groupOf } from "../picture/layout";
import { Picture } from "../picture/picture";
import { answersByNode } from "../state/explain";
import type { Fleet, FleetNode } from "../state/fleet";
import { isWaiting, nodeFlag, podFlag, podsOn } from "../state/fleet";
import { formatCount, formatPrice, formatShare, plural } from "../state/format";
import { arrowsOf } from "../state/reports";
import { formatRoute, withQuery } from "../state/route";
import { useStore } from "../state/store";
import { waitingOwners } from "../state/waiting";
import { ghostsOf } from "../state/whatif";
import { NodeDrawer } from "./node_drawer";

const resourceNames: Readonly<Record<string, string>> = { cpu: "CPU", memory: "Memory", pods: "Pods", "ephemeral-storage": "Ephemeral storage" };

function resourceName(resource: string): string {
  return resourceNames[resource] ?? resource;
}

/** Resources with which the picture can be filled: those that some node has. */
function resourcesOf(fleet: Fleet): string[] {
  const first = ["cpu", "memory", "pods"].filter((name) => fleet.resources.includes(name));
  const others = fleet.resources.filter((name, i) => !first.includes(name) && [...fleet.nodes.values()].some((node) => (node.allocatable[i] ?? 0) > 0));
  return [...first, ...others];
}

export function ClusterView(): JSX.Element {
  const route = useStore(model.route);
  const fleet = useStore(model.fleet);
  const trial = useStore(model.trial);
  const [text, setText] = useState("");
  const query = route.query;
  const pod = query.pod ?? "";
  const [podNamespace = "", podName = ""] = pod.split("/");
  const asked = useAsked(pod, (signal) => api.pod(podNamespace, podName, signal));
  const answers = useMemo(() => (asked.answer === undefined ? undefined : answersByNode(asked.answer)), [asked.answer]);
  const resources = useMemo(() => (fleet === undefined ? [] : resourcesOf(fleet)), [fleet?.shape]);
  const resource = resources.includes(query.fill ?? "") ? (query.fill ?? "cpu") : (resources[0] ?? "cpu");
  const mode = (query.color ?? (pod !== "" ? "answer" : "use")) as ColourMode;
  const grouping = query.group ?? "zone";
  const colouring = useMemo(() => (fleet === undefined ? undefined : colour(fleet, mode, resource, answers)), [fleet, mode, resource, answers]);
  const ownerSays = useMemo(() => (fleet === undefined || !query.owner ? "" : whereOwnerIs(fleet, query.owner)), [fleet, query.owner]);
  const ghosts = useMemo(() => ghostsOf(trial.result, trial.request), [trial]);
  const plan = useStore(model.plan);
  const arrows = useMemo(() => arrowsOf(plan), [plan]);
  const onlyKey = query.only ?? "";
  const onlyEntry = colouring?.entries.findIndex((entry) => entry.key === onlyKey && onlyKey !== "") ?? -1;
  const change = (changes: Record<string, string>): void => model.go(withQuery(model.route.value, changes), true);
  const isTable = query.view === "table";

  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === "t") change({ view: model.route.value.query.view === "table" ? "" : "table" });
      else if (event.key === "Escape" && model.route.value.query.node) change({ node: "" });
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);

  if (fleet === undefined || colouring === undefined) {
    return (
      <>
        <ViewHead title="Cluster" />
        <Loading label="The cluster is being read" />
      </>
    );
  }
  const nodeCount = fleet.nodes.size;
  const selected = query.node ?? "";
  return (
    <div class="cluster">
      <ViewHead title="Cluster" sub={`${plural(nodeCount, "node")}, ${resourceName(resource)} ${wholeUse(fleet, resource)} requested`}>
        <Segmented
          label="Show as"
          value={isTable ? "table" : "picture"}
          choices={[
            { value: "picture", label: "Picture" },
            { value: "table", label: "Table" },
          ]}
          onChoose={(view) => change({ view: view === "picture" ? "" : view })}
        />
      </ViewHead>
      <div class="toolbar">
        <Select label="Fill" value={resource} choices={resources.map((value) => ({ value, label: resourceName(value) }))} onChoose={(fill) => change({ fill: fill === resources[0] ? "" : fill })} />
        <Select
          label="Colour"
          value={mode}
          choices={[
            { value: "use", label: "Use" },
            { value: "health", label: "Health" },
            { value: "taints", label: "Taints" },
            { value: "spot", label: "Spot" },
            { value: "price", label: "Price" },
            ...(pod !== "" ? [{ value: "answer", label: `Answer for ${podName}` }] : []),
          ]}
          onChoose={(color) => change({ color: color === "use" && pod === "" ? "" : color, only: "" })}
        />
        <Select
          label="Rows"
          value={grouping}
          choices={[
            { value: "zone", label: "Zone" },
            { value: "pool", label: "Pool" },
            { value: "price", label: "Price" },
            ...fleet.labelKeys.map((key) => ({ value: `label:${key}`, label: key })),
            { value: "none", label: "None" },
          ]}
          onChoose={(group) => change({ group: group === "zone" ? "" : group })}
        />
        {isTable ? <Filter label="Filter nodes" value={text} onChange={setText} /> : null}
        <InHand pod={pod} owner={query.owner ?? ""} ownerSays={ownerSays} trial={trial.result !== undefined} moves={plan?.moves.length ?? 0} isAsking={asked.isAsking} change={change} />
      </div>
      {asked.problem !== "" ? <Problem>{asked.problem}</Problem> : null}
      <Legend colouring={colouring} only={onlyKey} onOnly={(only) => change({ only })} />
      <Waiting fleet={fleet} />
      {nodeCount === 0 ? (
        <Empty title="This cluster has no nodes">A node appears here as soon as there is one. Until then every pod waits.</Empty>
      ) : (
        <div class={`cluster-body ${selected !== "" ? "has-drawer" : ""}`}>
          {isTable ? (
            <NodeTable fleet={fleet} resource={resource} colouring={colouring} only={onlyEntry} text={text} grouping={grouping} selected={selected} onSelect={(node) => change({ node })} />
          ) : (
            <Picture
              fleet={fleet}
              colouring={colouring}
              resource={resource}
              grouping={grouping}
              ghosts={ghosts}
              arrows={arrows}
              owner={query.owner ?? ""}
              onlyEntry={onlyEntry}
              selected={selected}
              onSelect={(node) => change({ node })}
            />
          )}
          {selected !== "" ? <NodeDrawer name={selected} fleet={fleet} onClose={() => change({ node: "" })} /> : null}
        </div>
      )}
    </div>
  );
}

/** What waits for a place, before the rows: a box for each workload, as wide as it has pods. */
function Waiting({ fleet }: { fleet: Fleet }): JSX.Element | null {
  const waiting = useMemo(() => waitingOwners(fleet), [fleet]);
  if (waiting.pods === 0) return null;
  return (
    <div class="waiting">
      <span class="waiting-title">
        <b>{formatCount(waiting.pods)}</b> waiting
      </span>
      <ul aria-label="Workloads with pods that wait">
        {waiting.owners.map(({ owner, pods }) => (
          <li key={owner.key} style={{ flexGrow: pods }}>
            <a href={formatRoute({ view: "pending", path: [], query: { q: owner.name } })} title={`${owner.kind} ${owner.namespace}/${owner.name}: ${plural(pods, "pod")}`}>
              <bdi>{owner.name}</bdi> {formatCount(pods)}
            </a>
          </li>
        ))}
        {waiting.rest.owners > 0 ? (
          <li style={{ flexGrow: waiting.rest.pods }}>
            <a href="#/pending" title={`${plural(waiting.rest.owners, "more workload")}: ${plural(waiting.rest.pods, "pod")}`}>
              {formatCount(waiting.rest.owners)} more
            </a>
          </li>
        ) : null}
      </ul>
    </div>
  );
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

function wholeUse(fleet: Fleet, resource: string): string {
  const at = fleet.resources.indexOf(resource);
  let used = 0;
  let whole = 0;
  for (const node of fleet.nodes.values()) {
    used += node.requested[at] ?? 0;
    whole += node.allocatable[at] ?? 0;
  }
  return formatShare(used, whole);
}

/** How many pods a workload has, on how many nodes. */
function whereOwnerIs(fleet: Fleet, owner: string): string {
  const known = fleet.ownerPods.get(owner);
  let pods = 0;
  let waiting = 0;
  const nodes = new Set<number>();
  for (const pod of fleet.pods.values()) {
    if (pod.owner.key !== owner || (pod.flags & podFlag.ended) !== 0) continue;
    pods += pod.count;
    if (isWaiting(pod)) waiting += pod.count;
    else nodes.add(pod.node);
  }
  if (known !== undefined) return `${plural(known.pods, "pod")}${waiting > 0 ? `, ${formatCount(waiting)} waiting` : ""}`;
  return `${plural(pods, "pod")} on ${plural(nodes.size, "node")}${waiting > 0 ? `, ${formatCount(waiting)} waiting` : ""}`;
}

/** What is brought out in the picture, each with a way to put it away. */
function InHand(props: { pod: string; owner: string; ownerSays: string; trial: boolean; moves: number; isAsking: boolean; change: (changes: Record<string, string>) => void }): JSX.Element {
  return (
    <div class="in-hand">
      {props.pod !== "" ? (
        <span class="token">
          <span class="quiet">Pod</span> <Name text={props.pod} />
          {props.isAsking ? <span class="quiet"> …</span> : null}
          <CloseButton label="Put the pod away" onClick={() => props.change({ pod: "", color: "", only: "" })} />
        </span>
      ) : null}
      {props.owner !== "" ? (
        <span class="token">
          <span class="quiet">Workload</span> <Name text={props.owner.split("/").slice(1).join("/")} />
          <span class="quiet nowrap">{props.ownerSays}</span>
          <CloseButton label="Put the workload away" onClick={() => props.change({ owner: "" })} />
        </span>
      ) : null}
      {props.trial ? (
        <span class="token">
          <span class="quiet">Ghosts of</span> <a href="#/whatif">What if</a>
          <CloseButton label="Put the ghosts away" onClick={() => model.trial.set(model.noTrial)} />
        </span>
      ) : null}
      {props.moves > 0 ? (
        <span class="token">
          <span class="quiet">Moves of</span> <a href="#/reports">the plan</a> <span class="quiet">{formatCount(props.moves)}</span>
          <CloseButton label="Put the moves away" onClick={() => model.plan.set(undefined)} />
        </span>
      ) : null}
    </div>
  );
}

function Legend(props: { colouring: Colouring; only: string; onOnly: (key: string) => void }): JSX.Element {
  return (
    <ul class="legend" aria-label="Legend">
      {props.colouring.entries
        .filter((entry) => entry.count > 0)
        .map((entry) => (
          <li key={entry.key}>
            <button type="button" aria-pressed={props.only === entry.key && entry.key !== ""} onClick={() => props.onOnly(props.only === entry.key ? "" : entry.key)}>
              <span class="swatch swatch-mark" style={{ background: `var(--${entry.tone})`, color: `var(--on-${entry.tone})` }}>
                {entry.mark}
              </span>
              <span class="legend-label">{entry.label}</span>
              <span class="quiet">{formatCount(entry.count)}</span>
            </button>
          </li>
        ))}
    </ul>
  );
}

interface NodeRow {
  readonly node: FleetNode;
  readonly group: string;
  readonly pods: number;
  readonly says: string;
}

const inOrder = new Intl.Collator("en", { numeric: true }).compare;

function NodeTable(props: {
  fleet: Fleet;
  resource: string;
  colouring: Colouring;
  only: number;
  text: string;
  grouping: string;
  selected: string;
  onSelect: (name: string) => void;
}): JSX.Element {
  const { fleet, colouring } = props;
  const [order, setOrder] = useState("name");
  const words = props.text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const rows: NodeRow[] = [];
  for (const node of fleet.nodes.values()) {
    const entry = colouring.of.get(node.id) ?? 0;
    if (props.only >= 0 && entry !== props.only) continue;
    const group = groupOf(node, props.grouping, fleet.labelKeys);
    const says = [
      (node.flags & nodeFlag.cordoned) !== 0 ? "cordoned" : "",
      (node.flags & nodeFlag.notReady) !== 0 ? "not ready" : "",
      (node.flags & nodeFlag.pressure) !== 0 ? "under pressure" : "",
      (node.flags & nodeFlag.spot) !== 0 ? "spot" : "",
      node.taints,
    ]
      .filter((part) => part !== "")
      .join(", ");
    if (!words.every((word) => `${node.name} ${group} ${node.pool} ${says}`.toLowerCase().includes(word))) continue;
    const pods = podsOn(fleet, node);
    rows.push({ node, group, pods, says });
  }
  const share = (resource: string): ColumnOf<NodeRow> => ({
    key: resource,
    title: resourceName(resource),
    isNumber: true,
    isMinor: resource !== props.resource,
    cell: ({ node }) => {
      const use = useOf(fleet, node, resource);
      return (
        <span class="use-cell">
          <ShareBar share={use} />
          {Number.isNaN(use) ? "–" : formatShare(use, 1)}
        </span>
      );
    },
    order: (a, b) => (useOf(fleet, a.node, resource) || 0) - (useOf(fleet, b.node, resource) || 0),
  });
  const shares = [...new Set([props.resource, "cpu", "memory"])].filter((name) => fleet.resources.includes(name));
  const hasPrice = [...fleet.nodes.values()].some((node) => !Number.isNaN(node.price));
  const columns: ColumnOf<NodeRow>[] = [
    { key: "name", title: "Node", cell: ({ node }) => <Name text={node.name} class="strong" />, order: (a, b) => inOrder(a.node.name, b.node.name) },
    { key: "group", title: "Row", cell: ({ group }) => <Name text={group} />, order: (a, b) => inOrder(a.group, b.group) },
    ...shares.map(share),
    { key: "pods", title: "Pods", isNumber: true, cell: ({ pods }) => formatCount(pods), order: (a, b) => a.pods - b.pods },
    ...(hasPrice ? [{ key: "price", title: "Price", isNumber: true, isMinor: true, cell: ({ node }: NodeRow) => formatPrice(node.price), order: (a: NodeRow, b: NodeRow) => (a.node.price || 0) - (b.node.price || 0) }] : []),
    { key: "colour", title: "Legend", isMinor: true, cell: ({ node }) => colouring.entries[colouring.of.get(node.id) ?? 0]?.label ?? "", order: (a, b) => (colouring.of.get(a.node.id) ?? 0) - (colouring.of.get(b.node.id) ?? 0) },
    { key: "says", title: "Notes", isMinor: true, cell: ({ says }) => (says === "" ? <span class="quiet">–</span> : <span class="cut" title={says}>{says}</span>), order: (a, b) => inOrder(b.says, a.says) },
  ];
  if (rows.length === 0) return <Empty title="No node is like that" />;
  return (
    <LongTable
      label="Nodes"
      columns={columns}
      rows={rows}
      order={order}
      onOrder={setOrder}
      keyOf={({ node }) => String(node.id)}
      classOf={({ node }) => (node.name === props.selected ? "is-selected" : "")}
      onOpen={({ node }) => props.onSelect(node.name === props.selected ? "" : node.name)}
    />
  );
}
