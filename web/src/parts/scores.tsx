// SPDX-License-Identifier: Apache-2.0
// Scores of nodes as stacked bars, one part for each plugin, with the same numbers as a table.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { NodeVerdict } from "../api/types";
import { pluginsOfScores, runnerUp } from "../state/explain";
import { Name } from "./basics";

const nodesMax = 8;

export function Scores({ nodes, chosen }: { nodes: readonly NodeVerdict[]; chosen?: string | undefined }): JSX.Element | null {
  const [isTable, setTable] = useState(false);
  const scored = nodes.filter((node) => (node.scores?.length ?? 0) > 0).sort((a, b) => (b.total ?? 0) - (a.total ?? 0));
  if (scored.length === 0) return null;
  const shown = scored.slice(0, nodesMax);
  const own = scored.find((node) => node.name === chosen);
  if (own !== undefined && !shown.includes(own)) shown.push(own);
  // A plugin that gives no node a point is in the table alone.
  const plugins = pluginsOfScores(shown).filter((plugin) => isTable || shown.some((node) => node.scores?.some((score) => score.plugin === plugin && score.weighted > 0)));
  const most = Math.max(...shown.map((node) => node.total ?? 0), 1);
  const weights = new Map(shown.flatMap((node) => (node.scores ?? []).map((score) => [score.plugin, score.weight] as const)));
  return (
    <div class="scores">
      <div class="scores-head">
        <ul class="score-key" aria-label="Plugins and their weights">
          {plugins.map((plugin, i) => (
            <li key={plugin}>
              <span class="swatch" style={{ background: `var(--cat-${i % 8})` }} />
              {plugin} <span class="quiet">× {weights.get(plugin)}</span>
            </li>
          ))}
        </ul>
        <button type="button" class="button-small" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          {isTable ? "Bars" : "Table"}
        </button>
      </div>
      {isTable ? (
        <div class="scroll-x" tabIndex={0} role="region" aria-label="Scores">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Node</th>
                {plugins.map((plugin) => (
                  <th key={plugin} scope="col" class="number">
                    {plugin}
                  </th>
                ))}
                <th scope="col" class="number">
                  Total
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((node) => (
                <tr key={node.name}>
                  <td>
                    <Name text={node.name} />
                  </td>
                  {plugins.map((plugin) => (
                    <td key={plugin} class="number">
                      {node.scores?.find((score) => score.plugin === plugin)?.weighted ?? "–"}
                    </td>
                  ))}
                  <td class="number strong">{node.total}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <ol class="score-bars">
          {shown.map((node) => (
            <li key={node.name} class={node.name === chosen ? "is-chosen" : ""}>
              <span class="score-node">
                <Name text={node.name} />
                {node.name === chosen ? <span class="quiet"> chosen</span> : null}
              </span>
              <span class="score-bar" aria-hidden="true">
                {plugins.map((plugin, i) => {
                  const score = node.scores?.find((each) => each.plugin === plugin);
                  if (score === undefined || score.weighted <= 0) return null;
                  const text = `${plugin}: ${score.normalized} × ${score.weight} = ${score.weighted}`;
                  return (
                    <span key={plugin} title={text} style={{ width: `${(100 * score.weighted) / most}%`, background: `var(--cat-${i % 8})`, color: `var(--on-cat-${i % 8})` }}>
                      {score.weighted / most > 0.05 ? score.weighted : ""}
                    </span>
                  );
                })}
              </span>
              <span class="number strong">{node.total}</span>
            </li>
          ))}
        </ol>
      )}
      <RunnerUpText nodes={scored} chosen={chosen} />
    </div>
  );
}

function RunnerUpText({ nodes, chosen }: { nodes: readonly NodeVerdict[]; chosen?: string | undefined }): JSX.Element | null {
  const said = runnerUp(nodes, chosen);
  if (said === undefined) return null;
  const first = said.differences[0];
  return (
    <p class="runner-up">
      {said.gap === 0 ? (
        <>
          <b>{said.rival}</b> has the same score; the seed of the cycle decides between them.
        </>
      ) : said.gap < 0 ? (
        <>
          Today <b>{said.rival}</b> has {-said.gap} more points than <b>{said.winner}</b>: the cluster has changed since.
        </>
      ) : (
        <>
          Runner-up <b>{said.rival}</b>, {said.gap} {said.gap === 1 ? "point" : "points"} behind
          {first ? `, above all by ${first.plugin} (${first.points > 0 ? "−" : "+"}${Math.abs(first.points)})` : ""}.{" "}
          {said.wouldWin
            ? `It would have won with ${said.wouldWin.to} instead of ${said.wouldWin.from} from ${said.wouldWin.plugin} (weight ${said.wouldWin.weight}).`
            : "No single score could have made it win."}
        </>
      )}
    </p>
  );
}
