// SPDX-License-Identifier: Apache-2.0
// One node, beside the picture: what it has, what is taken, and its pods.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api } from "../api/client";
import * as model from "../model";
import { Age, CloseButton, Filter, Loading, Name, Pill, Problem, ShareBar } from "../parts/basics";
import { useAsked } from "../parts/use_asked";
import type { Fleet } from "../state/fleet";
import { formatAmount, formatCount, formatPrice, formatShare, plural } from "../state/format";
import { formatRoute } from "../state/route";
import { useStore } from "../state/store";

const podsShownMax = 200;

export function NodeDrawer({ name, fleet, onClose }: { name: string; fleet: Fleet; onClose: () => void }): JSX.Element {
  const asked = useAsked(name, (signal) => api.node(name, signal));
  const status = useStore(model.status);
  const [text, setText] = useState("");
  const node = asked.answer;
  // The node's own row of the fleet says when it has changed.
  const row = [...fleet.nodes.values()].find((each) => each.name === name);
  const key = row === undefined ? "" : `${row.flags} ${Array.from(row.requested).join(" ")}`;
  useEffect(() => {
    if (node === undefined) return undefined;
    const timer = setTimeout(asked.again, 1500);
    return () => clearTimeout(timer);
  }, [key]);
  useEffect(() => setText(""), [name]);
  const word = text.toLowerCase();
  const pods = (node?.pods ?? []).filter((pod) => `${pod.namespace}/${pod.name}`.toLowerCase().includes(word));
  return (
    <aside class="drawer" aria-label={`Node ${name}`}>
      <div class="drawer-head">
        <h2>
          <Name text={name} />
        </h2>
        <CloseButton label="Close" onClick={onClose} />
      </div>
      {asked.problem !== "" ? <Problem>{asked.problem}</Problem> : null}
      {node === undefined ? (
        asked.isAsking ? <Loading label="The node is being read" /> : null
      ) : (
        <>
          <p class="pills">
            <Pill tone={node.ready === false ? "bad" : "good"}>{node.ready === false ? "Not ready" : "Ready"}</Pill>
            {node.cordoned ? <Pill tone="wait">Cordoned</Pill> : null}
            {(node.conditions ?? [])
              .filter((condition) => condition.type !== "Ready" && condition.status === "True")
              .map((condition) => (
                <Pill key={condition.type} tone="wait">
                  {condition.type}
                </Pill>
              ))}
          </p>
          <dl class="facts">
            {node.zone ? <Fact label="Zone">{<Name text={node.zone} />}</Fact> : null}
            {node.created ? <Fact label="Age">{<Age sinceMs={Date.parse(node.created)} />}</Fact> : null}
            {typeof node.price === "number" ? <Fact label="Price">{formatPrice(node.price)} per hour</Fact> : null}
          </dl>
          <table class="mini" aria-label="Resources">
            <tbody>
              {Object.entries(node.allocatable ?? {})
                .filter(([, whole]) => whole > 0)
                .map(([resource, whole]) => {
                  const used = node.requested?.[resource] ?? 0;
                  return (
                    <tr key={resource}>
                      <th scope="row">
                        <Name text={resource} />
                      </th>
                      <td class="mini-bar">
                        <ShareBar share={used / whole} tone={used > whole ? "scale-over" : "scale-4"} />
                      </td>
                      <td class="number">{formatShare(used, whole)}</td>
                      <td class="number quiet">
                        {formatAmount(resource, used)} of {formatAmount(resource, whole)}
                      </td>
                    </tr>
                  );
                })}
            </tbody>
          </table>
          {(node.taints?.length ?? 0) > 0 ? (
            <>
              <h3>Taints</h3>
              <ul class="names">
                {node.taints?.map((taint) => (
                  <li key={`${taint.key}/${taint.effect}`}>
                    <Name text={`${taint.key}${taint.value ? `=${taint.value}` : ""}:${taint.effect}`} class="mono" />
                  </li>
                ))}
              </ul>
            </>
          ) : null}
          <p class="drawer-actions">
            {status?.features.includes("can-drain") ? (
              <a class="button" href={formatRoute({ view: "whatif", path: [], query: { tab: "drain", node: name } })}>
                Can it be drained?
              </a>
            ) : null}
            {status?.features.includes("simulate") ? (
              <a class="button" href={formatRoute({ view: "whatif", path: [], query: { add: "1", like: name } })}>
                One more like it
              </a>
            ) : null}
          </p>
          <h3>{plural(node.podCount ?? node.pods?.length ?? 0, "pod")}</h3>
          {(node.pods?.length ?? 0) > 8 ? <Filter label="Filter pods" value={text} onChange={setText} /> : null}
          <ul class="pod-list">
            {pods.slice(0, podsShownMax).map((pod) => (
              <li key={`${pod.namespace}/${pod.name}`}>
                <a href={formatRoute({ view: "pod", path: [pod.namespace, pod.name], query: {} })}>
                  <Name text={pod.name} />
                  <span class="quiet under">
                    <bdi>{pod.namespace}</bdi>
                    {pod.owner && pod.owner.kind !== "Pod" ? ` · ${pod.owner.kind}` : ""}
                  </span>
                </a>
                <span class="number quiet">{pod.requests?.cpu === undefined ? "" : formatAmount("cpu", pod.requests.cpu)}</span>
                <span class="number quiet">{pod.requests?.memory === undefined ? "" : formatAmount("memory", pod.requests.memory)}</span>
              </li>
            ))}
          </ul>
          {pods.length > podsShownMax ? <p class="foot">{formatCount(pods.length - podsShownMax)} more: the filter finds them.</p> : null}
          <details>
            <summary>{plural(Object.keys(node.labels ?? {}).length, "label")}</summary>
            <ul class="names">
              {Object.entries(node.labels ?? {}).map(([label, value]) => (
                <li key={label}>
                  <Name text={`${label}=${value}`} class="mono" />
                </li>
              ))}
            </ul>
          </details>
        </>
      )}
    </aside>
  );
}

function Fact({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
