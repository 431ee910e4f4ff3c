// SPDX-License-Identifier: Apache-2.0
// Search over everything: one field, and what it finds, by keyboard.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { api } from "../api/client";
import * as model from "../model";
import { Dialog, Name } from "../parts/basics";
import { Icon } from "../parts/icons";
import { useAsked } from "../parts/use_asked";
import type { Route } from "../state/route";
import type { Found } from "../state/search";
import { foundPods, search } from "../state/search";
import { useStore } from "../state/store";

const kindTitles: Readonly<Record<Found["kind"], string>> = { view: "Views", workload: "Workloads", node: "Nodes", pod: "Pods" };

const views: readonly { title: string; view: Route["view"] }[] = [
  { title: "Pending", view: "pending" },
  { title: "Cluster", view: "cluster" },
  { title: "Decisions", view: "decisions" },
  { title: "What if", view: "whatif" },
  { title: "Numbers", view: "numbers" },
  { title: "Reports", view: "reports" },
];

function routeTo(found: Found): Route {
  switch (found.kind) {
    case "pod":
      return { view: "pod", path: [found.namespace, found.name], query: {} };
    case "node":
      return { view: "cluster", path: [], query: { node: found.name } };
    case "workload":
      return { view: "cluster", path: [], query: { owner: found.key } };
    case "view":
      return { view: found.key as Route["view"], path: [], query: {} };
  }
}

export function SearchDialog(): JSX.Element {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const hasFleet = useStore(model.fleet, (value) => value !== undefined);
  const known = useMemo(() => {
    const word = text.trim().toLowerCase();
    const matching = views
      .filter((each) => word === "" || each.title.toLowerCase().startsWith(word))
      .map((each): Found => ({ kind: "view", key: each.view, title: each.title, detail: "", namespace: "", name: "" }));
    return { here: search(model.fleet.value, text), matching };
  }, [text, hasFleet]);
  const words = model.fleet.value?.isAggregated ? text.trim() : "";
  const asked = useAsked(words, (signal) => api.search(words, signal));
  const found = useMemo(() => [...known.here, ...foundPods(asked.answer), ...known.matching], [known, asked.answer]);
  const chosen = Math.min(at, found.length - 1);
  const close = (): void => model.isSearching.set(false);
  const open = (item: Found | undefined): void => {
    if (item === undefined) return;
    close();
    model.go(routeTo(item));
  };
  return (
    <Dialog label="Search" class="search-dialog" onClose={close}>
      <div class="search-field">
        <Icon name="search" />
        <input
          autofocus
          role="combobox"
          aria-label="Search nodes, pods, workloads and labels"
          aria-expanded="true"
          aria-controls="search-found"
          aria-activedescendant={chosen >= 0 ? `found-${chosen}` : undefined}
          placeholder="Name, label=value, node:name"
          spellcheck={false}
          autocomplete="off"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown") setAt((chosen + 1) % Math.max(1, found.length));
            else if (event.key === "ArrowUp") setAt((chosen + found.length - 1) % Math.max(1, found.length));
            else if (event.key === "Enter") open(found[chosen]);
            else return;
            event.preventDefault();
          }}
        />
        <kbd>esc</kbd>
      </div>
      {found.length === 0 ? <p class="search-none">Nothing has all these words.</p> : null}
      <div id="search-found" class="search-found" role="listbox" aria-label="What was found">
        {(["workload", "node", "pod", "view"] as const).map((kind) => {
          const items = found.map((item, i) => ({ item, i })).filter(({ item }) => item.kind === kind);
          if (items.length === 0) return null;
          return (
            <div key={kind} role="group" aria-label={kindTitles[kind]}>
              <p class="search-kind" aria-hidden="true">
                {kindTitles[kind]}
              </p>
              {items.map(({ item, i }) => (
                <div
                  key={item.key}
                  id={`found-${i}`}
                  role="option"
                  aria-selected={i === chosen}
                  class="search-item"
                  ref={(element) => {
                    if (i === chosen) element?.scrollIntoView({ block: "nearest" });
                  }}
                  onClick={() => open(item)}
                  onPointerMove={() => setAt(i)}
                >
                  <Name text={item.title} />
                  <bdi class="quiet">{item.detail}</bdi>
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </Dialog>
  );
}
