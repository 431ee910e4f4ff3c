// SPDX-License-Identifier: Apache-2.0
// Views and their addresses. What a view shows is in the part of the address behind #, so that a link shows the same, and
// back and forward work.

export type View = "pending" | "pod" | "cluster" | "decisions" | "whatif" | "numbers" | "reports";

export interface Route {
  readonly view: View;
  /** Of the view `pod`: namespace and name. */
  readonly path: readonly string[];
  /** What is chosen in the view; empty values are left out of the address. */
  readonly query: Readonly<Record<string, string>>;
}

export const viewsInOrder: readonly View[] = ["pending", "cluster", "decisions", "whatif", "numbers", "reports"];
const views: readonly View[] = ["pending", "pod", "cluster", "decisions", "whatif", "numbers", "reports"];

export const home: Route = { view: "pending", path: [], query: {} };

/** The route that an address names; an address that names none is the first view. */
export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#?\/?/, "");
  const mark = text.indexOf("?");
  const parts = (mark < 0 ? text : text.slice(0, mark)).split("/").filter((part) => part !== "");
  const view = views.find((known) => known === parts[0]);
  if (view === undefined) return home;
  const path = parts.slice(1).map(decoded);
  if (view === "pod" && path.length !== 2) return home;
  const query: Record<string, string> = {};
  if (mark >= 0) {
    for (const [name, value] of new URLSearchParams(text.slice(mark + 1))) {
      if (value !== "") query[name] = value;
    }
  }
  return { view, path, query };
}

export function formatRoute(route: Route): string {
  const path = [route.view, ...route.path].map(encodeURIComponent).join("/");
  const query = new URLSearchParams();
  for (const name of Object.keys(route.query).sort()) {
    const value = route.query[name];
    if (value) query.set(name, value);
  }
  const text = query.toString();
  return `#/${path}${text === "" ? "" : `?${text}`}`;
}

/** The same view with other choices; an empty value removes one. */
export function withQuery(route: Route, changes: Readonly<Record<string, string | undefined>>): Route {
  const query: Record<string, string> = { ...route.query };
  for (const [name, value] of Object.entries(changes)) {
    if (value) query[name] = value;
    else delete query[name];
  }
  return { ...route, query };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
