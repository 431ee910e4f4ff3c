// SPDX-License-Identifier: Apache-2.0
// Where things are in the picture of the fleet: nodes as cells in rows, by group; pods as boxes in their node's cell. World
// units are pixels at zoom 1, at which the whole fleet fits the width. Pure functions.
import type { Fleet, FleetNode, FleetPod } from "../state/fleet";

export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export interface Cell extends Rect {
  readonly node: FleetNode;
  readonly group: number;
}

export interface Group extends Rect {
  readonly name: string;
  /** Range of its cells in Layout.cells. */
  readonly begin: number;
  readonly end: number;
  readonly columns: number;
}

export interface Layout {
  readonly cells: readonly Cell[];
  readonly groups: readonly Group[];
  /** Place in `cells` by node id. */
  readonly byId: ReadonlyMap<number, number>;
  readonly w: number;
  readonly h: number;
  readonly cellWidth: number;
  readonly cellHeight: number;
  readonly gap: number;
  /** Groups that are beside each other. */
  readonly groupColumns: number;
}

/** How nodes are put into rows: `zone`, `pool`, `price`, `none`, or `label:KEY`. */
export type Grouping = string;

export const groupHeaderHeight = 26;
const cellAspect = 1.2;
const cellWidthMin = 4;
const cellWidthMax = 240;
/** Around the rows. */
const margin = 12;
/** Between groups that are beside each other. */
const groupSpace = 24;
const groupsBesideMax = 6;
const groupsMax = 60;

export function groupOf(node: FleetNode, grouping: Grouping, labelKeys: readonly string[]): string {
  if (grouping === "zone") return node.zone || "no zone";
  if (grouping === "pool") return node.pool || "no pool";
  if (grouping === "price") return Number.isNaN(node.price) ? "price not known" : `${node.price} per hour`;
  if (grouping.startsWith("label:")) {
    const key = grouping.slice(6);
    const value = node.labels[labelKeys.indexOf(key)];
    return value ? `${key}=${value}` : `without ${key}`;
  }
  return "all nodes";
}

const inOrder = new Intl.Collator("en", { numeric: true }).compare;

/** Lays the nodes out in groups so that all fit into width and height, or, if there are too many, only the width. */
export function layOut(fleet: Fleet, grouping: Grouping, width: number, height: number): Layout {
  const lists = new Map<string, FleetNode[]>();
  for (const node of fleet.nodes.values()) {
    const name = groupOf(node, grouping, fleet.labelKeys);
    const list = lists.get(name);
    if (list) list.push(node);
    else lists.set(name, [node]);
  }
  let names = [...lists.keys()].sort(inOrder);
  if (names.length > groupsMax) {
    const large = new Set([...names].sort((a, b) => (lists.get(b)?.length ?? 0) - (lists.get(a)?.length ?? 0)).slice(0, groupsMax - 1));
    const rest = names.filter((name) => !large.has(name));
    const last = `${rest.length} smaller groups`;
    lists.set(last, rest.flatMap((name) => lists.get(name) ?? []));
    names = [...names.filter((name) => large.has(name)), last];
  }
  const counts = names.map((name) => lists.get(name)?.length ?? 0);
  const { groupColumns, columns, cellWidth, cellHeight, gap } = fit(counts, width - 2 * margin, height - margin);
  const groupWidth = (width - 2 * margin - (groupColumns - 1) * groupSpace) / groupColumns;
  const cells: Cell[] = [];
  const groups: Group[] = [];
  const byId = new Map<number, number>();
  let top = margin / 2;
  for (let first = 0; first < names.length; first += groupColumns) {
    const shelf = names.slice(first, first + groupColumns);
    const rows = Math.max(...shelf.map((_, i) => Math.ceil((counts[first + i] ?? 0) / columns)));
    const tall = groupHeaderHeight + rows * (cellHeight + gap) + groupGap(cellWidth);
    shelf.forEach((name, i) => {
      const begin = cells.length;
      const left = margin + i * (groupWidth + groupSpace);
      (lists.get(name) ?? []).forEach((node, place) => {
        byId.set(node.id, cells.length);
        const x = left + (place % columns) * (cellWidth + gap);
        const y = top + groupHeaderHeight + Math.floor(place / columns) * (cellHeight + gap);
        cells.push({ node, group: first + i, x, y, w: cellWidth, h: cellHeight });
      });
      groups.push({ name, begin, end: cells.length, columns, x: left, y: top, w: groupWidth, h: tall });
    });
    top += tall;
  }
  return { cells, groups, byId, w: width, h: names.length === 0 ? 0 : top, cellWidth, cellHeight, gap, groupColumns };
}

function groupGap(cellWidth: number): number {
  return Math.max(6, Math.min(16, cellWidth / 4));
}

function gapOf(cellWidth: number): number {
  return cellWidth < 8 ? 1 : cellWidth < 24 ? 2 : cellWidth < 80 ? 4 : 10;
}

interface Fit {
  readonly groupColumns: number;
  readonly columns: number;
  readonly cellWidth: number;
  readonly cellHeight: number;
  readonly gap: number;
}

/** The arrangement with the largest cells: groups below each other, or, of few, beside each other. */
function fit(counts: readonly number[], width: number, height: number): Fit {
  let best = fitShelves(counts, width, height, 1);
  for (let groupColumns = 2; groupColumns <= Math.min(counts.length, groupsBesideMax); ++groupColumns) {
    const next = fitShelves(counts, width, height, groupColumns);
    // To read from top to bottom is easier: the others have to be much larger.
    if (next.cellWidth > best.cellWidth * 1.15) best = next;
  }
  return best;
}

/** The fewest columns of cells, and so the largest, with which all rows fit the height. */
function fitShelves(counts: readonly number[], width: number, height: number, groupColumns: number): Fit {
  const groupWidth = (width - (groupColumns - 1) * groupSpace) / groupColumns;
  const shelves: number[] = [];
  counts.forEach((count, i) => {
    const shelf = Math.floor(i / groupColumns);
    shelves[shelf] = Math.max(shelves[shelf] ?? 0, count);
  });
  const columnsMax = Math.max(1, Math.floor(groupWidth / (cellWidthMin + 1)));
  for (let columns = 1; ; ++columns) {
    const gap = gapOf((groupWidth / columns) * 0.95);
    const cellWidth = Math.max(1, Math.min(cellWidthMax, (groupWidth - (columns - 1) * gap) / columns));
    if (columns < columnsMax && cellWidth === cellWidthMax && columns * (cellWidthMax + gap) <= groupWidth - cellWidthMax) continue;
    const cellHeight = Math.max(1, Math.round(cellWidth * cellAspect));
    const tall = shelves.reduce((sum, count) => sum + groupHeaderHeight + Math.ceil(count / columns) * (cellHeight + gap) + groupGap(cellWidth), 0);
    if (tall <= height || columns >= columnsMax) return { groupColumns, columns, cellWidth, cellHeight, gap };
  }
}

/** Part of the world that is seen: `x`, `y` at the left upper corner, and pixels of the screen per unit. */
export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}

export const wholeFleet: Camera = { x: 0, y: 0, zoom: 1 };
export const zoomMax = 60;

/** The camera kept where there is something to see. */
export function clampCamera(camera: Camera, layout: Layout, width: number, height: number): Camera {
  const least = Math.min(1, layout.h > 0 ? height / layout.h : 1);
  const most = Math.max(zoomMax, 1200 / layout.cellWidth);
  const zoom = Math.min(Math.max(camera.zoom, least), most);
  const clamp = (at: number, world: number, seen: number): number => (world <= seen ? 0 : Math.min(Math.max(at, 0), world - seen));
  return { zoom, x: clamp(camera.x, layout.w, width / zoom), y: clamp(camera.y, layout.h, height / zoom) };
}

/** Zooms by a factor so that what is at that point of the screen stays there. */
export function zoomAt(camera: Camera, factor: number, px: number, py: number): Camera {
  const zoom = Math.min(Math.max(camera.zoom * factor, 0.01), 1000);
  return { zoom, x: camera.x + px / camera.zoom - px / zoom, y: camera.y + py / camera.zoom - py / zoom };
}

/** The camera that shows a place in the middle, so large that it fills the given share of the screen. */
export function lookAt(place: Rect, width: number, height: number, share = 0.45): Camera {
  const zoom = Math.min((width * share) / place.w, (height * share) / place.h);
  return { zoom, x: place.x + place.w / 2 - width / zoom / 2, y: place.y + place.h / 2 - height / zoom / 2 };
}

/** Rows of cells of which a part is in sight, as ranges of `cells`. */
export function cellsInSight(layout: Layout, camera: Camera, height: number): { begin: number; end: number }[] {
  const ranges: { begin: number; end: number }[] = [];
  const top = camera.y;
  const bottom = camera.y + height / camera.zoom;
  const pitch = layout.cellHeight + layout.gap;
  for (const group of layout.groups) {
    if (group.y + group.h < top || group.y > bottom) continue;
    const first = Math.max(0, Math.floor((top - group.y - groupHeaderHeight) / pitch));
    const last = Math.floor((bottom - group.y - groupHeaderHeight) / pitch);
    const begin = Math.min(group.end, group.begin + first * group.columns);
    const end = Math.min(group.end, group.begin + (last + 1) * group.columns);
    if (end > begin) ranges.push({ begin, end });
  }
  return ranges;
}

/** Arrows between nodes, by name, as arrows between cells; those of the most moves, and only where both nodes are. */
export function cellArrows(layout: Layout, arrows: readonly { from: string; to: string; moves: number }[], countMax: number): { from: number; to: number; moves: number }[] {
  if (arrows.length === 0) return [];
  const places = new Map(layout.cells.map((cell, i) => [cell.node.name, i] as const));
  return [...arrows]
    .sort((a, b) => b.moves - a.moves)
    .slice(0, countMax)
    .flatMap(({ from, to, moves }) => {
      const [a, b] = [places.get(from), places.get(to)];
      return a === undefined || b === undefined ? [] : [{ from: a, to: b, moves }];
    });
}

/** The cell at a point of the world, or -1. */
export function cellAt(layout: Layout, x: number, y: number): number {
  const group = layout.groups.find((each) => y >= each.y && y < each.y + each.h && x >= each.x && x < each.x + each.w + groupSpace / 2);
  if (group === undefined) return -1;
  const row = Math.floor((y - group.y - groupHeaderHeight) / (layout.cellHeight + layout.gap));
  const column = Math.floor((x - group.x) / (layout.cellWidth + layout.gap));
  if (row < 0 || column >= group.columns) return -1;
  const at = group.begin + row * group.columns + column;
  const cell = at < group.end ? layout.cells[at] : undefined;
  return cell !== undefined && x <= cell.x + cell.w && y <= cell.y + cell.h ? at : -1;
}

/** The cell beside another one, for the arrow keys: across rows and groups. */
export function neighbour(layout: Layout, at: number, key: "left" | "right" | "up" | "down"): number {
  const cell = layout.cells[at];
  if (cell === undefined) return layout.cells.length > 0 ? 0 : -1;
  if (key === "left") return Math.max(0, at - 1);
  if (key === "right") return Math.min(layout.cells.length - 1, at + 1);
  const group = layout.groups[cell.group];
  if (group === undefined) return at;
  const column = (at - group.begin) % group.columns;
  const step = key === "up" ? -group.columns : group.columns;
  const next = at + step;
  if (next >= group.begin && next < group.end) return next;
  const isLastRow = Math.floor((at - group.begin) / group.columns) === Math.floor((group.end - 1 - group.begin) / group.columns);
  if (key === "down" && !isLastRow) return group.end - 1;
  const other = layout.groups[cell.group + (key === "up" ? -layout.groupColumns : layout.groupColumns)];
  if (other === undefined) return at;
  if (key === "down") return Math.min(other.begin + column, other.end - 1);
  const lastRow = Math.floor((other.end - 1 - other.begin) / other.columns);
  return Math.min(other.begin + lastRow * other.columns + column, other.end - 1);
}

export interface PodBox extends Rect {
  readonly pod: FleetPod;
}

/**
 * The pods of a node as boxes, each with an area by its request, from the bottom of the cell up. A pod that requests nothing
 * of it gets a sliver, so that it can be seen; pods that request more than there is are made to fit.
 */
export function podBoxes(pods: readonly FleetPod[], share: (pod: FleetPod) => number, cell: Rect): PodBox[] {
  const sliver = 0.004;
  const weights = pods.map((pod) => Math.max(share(pod), sliver));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const scale = sum > 1 ? 1 / sum : 1;
  const boxes: PodBox[] = [];
  // Rows from the bottom; a row is closed when another box would make its boxes flatter. Boxes are about as wide as high.
  let y = cell.y + cell.h;
  let row: { pod: FleetPod; area: number }[] = [];
  let rowArea = 0;
  const worst = (area: number, least: number, most: number): number => {
    const h = area / cell.w;
    return Math.max((most / h) / h, h / (least / h));
  };
  const close = (): void => {
    if (row.length === 0) return;
    const h = rowArea / cell.w;
    y -= h;
    let x = cell.x;
    for (const each of row) {
      const w = each.area / h;
      boxes.push({ pod: each.pod, x, y, w, h });
      x += w;
    }
    row = [];
    rowArea = 0;
  };
  let least = Infinity;
  let most = 0;
  pods.forEach((pod, i) => {
    const area = (weights[i] ?? 0) * scale * cell.w * cell.h;
    const nextLeast = Math.min(least, area);
    const nextMost = Math.max(most, area);
    if (row.length > 0 && worst(rowArea + area, nextLeast, nextMost) > worst(rowArea, least, most)) {
      close();
      least = area;
      most = area;
    } else {
      least = nextLeast;
      most = nextMost;
    }
    row.push({ pod, area });
    rowArea += area;
  });
  close();
  return boxes;
}
