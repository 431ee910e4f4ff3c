// SPDX-License-Identifier: Apache-2.0
// The frame of the page: navigation, the view of the address, search, help, and the keys that work everywhere.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import * as model from "./model";
import { Age, Problem } from "./parts/basics";
import type { IconName } from "./parts/icons";
import { Icon, Mark } from "./parts/icons";
import { TimelineBar } from "./parts/timeline";
import { formatCount } from "./state/format";
import type { View } from "./state/route";
import { viewsInOrder } from "./state/route";
import { useStore } from "./state/store";
import type { Theme } from "./theme";
import { chooseTheme, theme } from "./theme";
import { BarrierScreen } from "./views/barrier";
import { ClusterView } from "./views/cluster";
import { DecisionsView } from "./views/decisions";
import { HelpDialog } from "./views/help";
import { NumbersView } from "./views/numbers";
import { PendingView } from "./views/pending";
import { PodView } from "./views/pod";
import { ReportsView, ShadowFile } from "./views/reports";
import { SearchDialog } from "./views/search";
import { WhatIfView } from "./views/whatif";

const names: Readonly<Record<string, string>> = { pending: "Pending", cluster: "Cluster", decisions: "Decisions", whatif: "What if", numbers: "Numbers", reports: "Reports" };

export function App(): JSX.Element {
  const barrier = useStore(model.barrier);
  const isSearching = useStore(model.isSearching);
  const isHelping = useStore(model.isHelping);
  const route = useStore(model.route);
  useKeys();
  usePlaces();
  useEffect(() => {
    const place = route.view === "pod" ? (route.path[1] ?? "") : (names[route.view] ?? "");
    document.title = `${place} · berth`;
  }, [route]);
  if (barrier.kind !== "none") return <BarrierScreen barrier={barrier} />;
  return (
    <div class="frame">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.querySelector<HTMLElement>("#main h1")?.focus();
        }}
      >
        To the content
      </a>
      <Navigation view={route.view} />
      <main id="main" class={`main main-${route.view}`}>
        <Troubles />
        <TimelineBar />
        <ViewOf view={route.view} where={route.path.join("/")} />
      </main>
      {isSearching ? <SearchDialog /> : null}
      {isHelping ? <HelpDialog /> : null}
    </div>
  );
}

/** A report that came as a file, without a server to ask anything else. */
export function ReportFile({ problem }: { problem: string }): JSX.Element {
  useEffect(() => {
    document.title = "berth shadow";
  }, []);
  return (
    <main id="main" class="main main-file">
      <div class="nav-tools">
        <ThemeSwitch />
      </div>
      <ShadowFile problem={problem} />
    </main>
  );
}

function ViewOf({ view, where }: { view: View; where: string }): JSX.Element {
  switch (view) {
    case "cluster":
      return <ClusterView />;
    case "decisions":
      return <DecisionsView />;
    case "whatif":
      return <WhatIfView />;
    case "numbers":
      return <NumbersView />;
    case "reports":
      return <ReportsView />;
    case "pod":
      return <PodView key={where} />;
    default:
      return <PendingView />;
  }
}

function Navigation({ view }: { view: View }): JSX.Element {
  const pending = useStore(model.pending, (value) => value?.pods);
  return (
    <nav class="nav" aria-label="Views">
      <div class="nav-head">
        <a class="brand" href="#/pending">
          <Mark />
          <span>berth</span>
        </a>
        <ConnectionState class="nav-state" />
        <button type="button" class="icon-button nav-search-small" aria-label="Search" onClick={() => model.isSearching.set(true)}>
          <Icon name="search" />
        </button>
      </div>
      <button type="button" class="nav-search" onClick={() => model.isSearching.set(true)}>
        <Icon name="search" />
        <span>Search</span>
        <kbd>/</kbd>
      </button>
      <ul class="nav-views">
        {viewsInOrder.map((each) => (
          <li key={each}>
            <a href={`#/${each}`} aria-current={view === each || (view === "pod" && each === "pending") ? "page" : undefined}>
              <Icon name={each as IconName} />
              <span>{names[each]}</span>
              {each === "pending" && pending ? <span class="count">{formatCount(pending)}</span> : null}
            </a>
          </li>
        ))}
      </ul>
      <div class="nav-foot">
        <Where />
        <div class="nav-tools">
          <ThemeSwitch />
          <button type="button" class="icon-button" aria-label="Keys" title="Keys (?)" onClick={() => model.isHelping.set(true)}>
            <Icon name="help" />
          </button>
        </div>
      </div>
    </nav>
  );
}

const connectionTexts = { connecting: "Connecting", live: "Live", lost: "Connection lost", refused: "Refused", still: "One state" } as const;

/** Whether what is shown is up to date. */
function ConnectionState({ class: of }: { class: string }): JSX.Element {
  const status = useStore(model.status);
  const connection = useStore(model.connection);
  const isOld = status?.connected === false;
  const tone = isOld || connection.state === "lost" || connection.state === "refused" ? "bad" : connection.state === "live" ? "good" : "plain";
  const text = isOld ? "Cluster unreachable" : status?.mode === "snapshot" ? "Snapshot" : status?.mode === "recording" ? "Recording" : connectionTexts[connection.state];
  return (
    <p class={`where-state where-${tone} ${of}`} role="status">
      <span class="dot" aria-hidden="true" />
      {text}
      {status?.mode === "snapshot" && status.asOf ? (
        <span class="quiet">
          , <Age sinceMs={Date.parse(status.asOf)} isOfToday /> old
        </span>
      ) : null}
    </p>
  );
}

/** Which cluster is shown, and by whom it is decided. */
function Where(): JSX.Element {
  const status = useStore(model.status);
  return (
    <div class="where">
      <ConnectionState class="" />
      {status ? (
        <>
          <p class="quiet cut" title={status.source}>
            <bdi>{status.source || "cluster"}</bdi>
          </p>
          <p class="quiet cut" title={status.kubernetes}>
            {status.kubernetes ? `Kubernetes ${status.kubernetes.replace(/^v/, "")}` : ""}
          </p>
        </>
      ) : null}
    </div>
  );
}

const nextTheme: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
const themeTexts: Readonly<Record<Theme, string>> = { system: "as the system", light: "light", dark: "dark" };

function ThemeSwitch(): JSX.Element {
  const chosen = useStore(theme, (value) => value.chosen);
  return (
    <button type="button" class="icon-button" aria-label={`Theme: ${themeTexts[chosen]}`} title={`Theme: ${themeTexts[chosen]}`} onClick={() => chooseTheme(nextTheme[chosen])}>
      <Icon name={chosen} />
    </button>
  );
}

/** Says above every view what is wrong with what is shown. */
function Troubles(): JSX.Element | null {
  const connection = useStore(model.connection);
  const status = useStore(model.status);
  const problem = useStore(model.problem);
  if (connection.state === "lost") {
    return <Problem>The connection to the server is lost. What is shown may be old; it is tried again. {connection.problem}</Problem>;
  }
  if (status?.connected === false) return <Problem>The cluster cannot be reached, and what is shown may be old. {status.problem}</Problem>;
  if (problem !== "") return <Problem>{problem}</Problem>;
  return status?.notDeciding ? <p class="notice">This berth decides nothing now: {status.notDeciding}</p> : null;
}

/** A new view begins at its top; after a step back the view is where it was, and so is the focus. */
function usePlaces(): void {
  const route = useStore(model.route);
  const key = [route.view, ...route.path].join("/");
  const places = useRef(new Map<string, number>());
  useLayoutEffect(() => {
    const main = document.getElementById("main");
    if (main === null) return undefined;
    const from = model.cameBackFrom;
    main.scrollTop = from === "" ? 0 : (places.current.get(key) ?? 0);
    if (from !== "") document.querySelector<HTMLElement>(`#main .row-open[href="${CSS.escape(from)}"]`)?.focus({ preventScroll: true });
    const keep = (): void => void places.current.set(key, main.scrollTop);
    main.addEventListener("scroll", keep, { passive: true });
    return () => main.removeEventListener("scroll", keep);
  }, [key]);
}

/** Keys that work in every view. */
function useKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target as Element | null;
      const isTyping = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector("dialog[open]") !== null) return;
      if (isTyping) {
        if (event.key === "Escape") (target as HTMLElement).blur();
        return;
      }
      const view = viewsInOrder[Number(event.key) - 1];
      if (event.key === "/") model.isSearching.set(true);
      else if (event.key === "?") model.isHelping.set(true);
      else if (view !== undefined) model.go({ view, path: [], query: {} });
      else if (event.key === "f") document.querySelector<HTMLElement>("#main .filter")?.focus();
      else if (event.key === "r") document.querySelector<HTMLElement>("#main .new-rows button")?.click();
      else if (event.key === "Escape" && model.route.value.view === "pod") history.length > 1 ? history.back() : model.go({ view: "pending", path: [], query: {} });
      else if ((event.key === "ArrowDown" || event.key === "j") && (target === document.body || target?.tagName === "H1")) {
        document.querySelector<HTMLElement>("#main .row-open, #main canvas")?.focus();
      } else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}
