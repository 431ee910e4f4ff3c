// SPDX-License-Identifier: Apache-2.0
// The keys.
import type { JSX } from "preact";
import * as model from "../model";
import { CloseButton, Dialog } from "../parts/basics";

const groups: readonly { title: string; keys: readonly (readonly [readonly string[], string])[] }[] = [
  {
    title: "Everywhere",
    keys: [
      [["1", "…", "6"], "Pending, Cluster, Decisions, What if, Numbers, Reports"],
      [["/"], "search nodes, pods, workloads, labels"],
      [["f"], "to the filter of the view"],
      [["r"], "show what is new"],
      [["?"], "this list"],
      [["esc"], "close, or back"],
    ],
  },
  {
    title: "Lists",
    keys: [
      [["↓", "↑"], "next and previous line; j and k too"],
      [["home", "end"], "first and last line"],
      [["enter"], "open the line"],
    ],
  },
  {
    title: "Picture",
    keys: [
      [["←", "↑", "→", "↓"], "from node to node"],
      [["enter"], "open the node"],
      [["+", "-", "0"], "nearer, farther, the whole cluster"],
      [["t"], "the same as a table"],
    ],
  },
];

export function HelpDialog(): JSX.Element {
  const close = (): void => model.isHelping.set(false);
  return (
    <Dialog label="Keys" class="help-dialog" onClose={close}>
      <div class="help-head">
        <h2>Keys</h2>
        <CloseButton label="Close" onClick={close} />
      </div>
      <div class="help-groups">
        {groups.map((group) => (
          <section key={group.title}>
            <h3>{group.title}</h3>
            <dl>
              {group.keys.map(([keys, what]) => (
                <div key={what}>
                  <dt>
                    {keys.map((key) => (key === "…" ? <span key={key}>…</span> : <kbd key={key}>{key}</kbd>))}
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
