// SPDX-License-Identifier: Apache-2.0
// Draws the picture of the fleet on a canvas. Draws only when something has changed, and of the fleet only what is in sight:
// far away one box for each node, nearer the pods in it, nearer still their names.
import type { Fleet, FleetPod } from "../state/fleet";
import { nodeFlag } from "../state/fleet";
import { formatCount, formatShare, isolated } from "../state/format";
import type { Colouring } from "./colouring";
import { useOf } from "./colouring";
import type { Camera, Layout, Rect } from "./layout";
import { cellsInSight, clampCamera, groupHeaderHeight, podBoxes, wholeFleet } from "./layout";

/** What a trial would change on a node. */
export interface Ghost {
  /** Pods that would come and go. */
  readonly come: number;
  readonly go: number;
  readonly isRemoved: boolean;
}

export interface CellArrow {
  readonly from: number;
  readonly to: number;
  readonly moves: number;
}

/** Arrows that are drawn: of more nothing could be seen. */
export const arrowsMax = 400;

export interface Scene {
  readonly fleet: Fleet;
  readonly layout: Layout;
  readonly colouring: Colouring;
  readonly resource: string;
  readonly ghosts: ReadonlyMap<string, Ghost>;
  /** Moves of a plan, between places in layout.cells. */
  readonly arrows: readonly CellArrow[];
  /** Place in layout.cells, or -1. */
  readonly selected: number;
  /** Pods of this owner are brought out; "" for none. */
  readonly owner: string;
  /** Only nodes of this legend entry are in full colour; -1 for all. */
  readonly onlyEntry: number;
}

/** From this width of a cell on, its pods are drawn one by one; from that on, with names. */
const podsFromWidth = 24;
const namesFromWidth = 74;

type Palette = (token: string) => string;

/** Colours of the design tokens as the page has them now. */
export function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const known = new Map<string, string>();
  return (token) => {
    let value = known.get(token);
    if (value === undefined) {
      value = style.getPropertyValue(`--${token}`).trim() || "#888";
      known.set(token, value);
    }
    return value;
  };
}

export class FleetPicture {
  private readonly context: CanvasRenderingContext2D;
  private scene: Scene | undefined;
  private camera: Camera = wholeFleet;
  private target: Camera = wholeFleet;
  private palette: Palette;
  private font = "";
  private width = 0;
  private height = 0;
  private hovered = -1;
  private frame = 0;
  private lastFrameMs = 0;
  private readonly textWidths = new Map<string, string>();
  private boxesOf = new Map<number, { pods: readonly FleetPod[]; resource: string; layout: Layout; boxes: ReturnType<typeof podBoxes> }>();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly onCamera: (camera: Camera) => void,
    /** The nodes whose pods are drawn. Of a fleet too large for all pods these are read then. */
    private readonly onNear: (nodes: readonly number[]) => void,
  ) {
    const context = canvas.getContext("2d", { alpha: false });
    if (context === null) throw new Error("this browser has no canvas");
    this.context = context;
    this.palette = paletteOf(canvas);
    this.readTheme();
  }

  /** The theme has changed: colours and type are read again. */
  readTheme(): void {
    this.palette = paletteOf(this.canvas);
    this.font = getComputedStyle(this.canvas).fontFamily;
    this.textWidths.clear();
    this.request();
  }

  resize(width: number, height: number): void {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.width = width;
    this.height = height;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw();
  }

  show(scene: Scene): void {
    const isOtherLayout = this.scene?.layout !== scene.layout;
    this.scene = scene;
    if (isOtherLayout) {
      this.boxesOf.clear();
      this.moveTo(this.target, false);
    }
    this.request();
  }

  hover(at: number): void {
    if (at === this.hovered) return;
    this.hovered = at;
    this.request();
  }

  get view(): Camera {
    return this.camera;
  }

  get goal(): Camera {
    return this.target;
  }

  /** Looks from there, at once or, unless motion is unwanted, in a short movement. */
  moveTo(camera: Camera, isSmooth: boolean): void {
    const scene = this.scene;
    if (scene === undefined) return;
    this.target = clampCamera(camera, scene.layout, this.width, this.height);
    if (!isSmooth || matchMedia("(prefers-reduced-motion: reduce)").matches) this.camera = this.target;
    this.onCamera(this.target);
    this.request();
  }

  end(): void {
    cancelAnimationFrame(this.frame);
  }

  private request(): void {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame((time) => {
      this.frame = 0;
      this.step(time);
    });
  }

  private step(time: number): void {
    const passed = Math.min(64, time - this.lastFrameMs);
    this.lastFrameMs = time;
    const { camera, target } = this;
    const closeness = Math.abs(Math.log(target.zoom / camera.zoom)) + (Math.abs(target.x - camera.x) + Math.abs(target.y - camera.y)) * target.zoom * 0.002;
    if (closeness > 0.001) {
      const share = 1 - Math.exp(-passed / 55);
      const zoom = camera.zoom * (target.zoom / camera.zoom) ** share;
      // Between two cameras the point that both show at the same place stays there.
      const along = Math.abs(target.zoom - camera.zoom) > 1e-9 ? ((1 / zoom - 1 / camera.zoom) / (1 / target.zoom - 1 / camera.zoom)) : share;
      this.camera = { zoom, x: camera.x + (target.x - camera.x) * along, y: camera.y + (target.y - camera.y) * along };
      this.request();
    } else this.camera = target;
    this.canvas.dataset.isStill = String(this.camera === target);
    this.draw();
  }

  private draw(): void {
    const began = performance.now();
    const { context: c, scene, palette } = this;
    c.fillStyle = palette("surface");
    c.fillRect(0, 0, this.width, this.height);
    if (scene === undefined || this.width === 0) return;
    const { layout } = scene;
    const { zoom, x: left, y: top } = this.camera;
    const cellWidth = layout.cellWidth * zoom;
    const ranges = cellsInSight(layout, this.camera, this.height);
    if (cellWidth >= podsFromWidth) {
      const near: number[] = [];
      for (const { begin, end } of ranges) {
        for (let at = begin; at < end; ++at) {
          const rect = this.onScreen(layout.cells[at]);
          if (rect === undefined) continue;
          this.drawNearCell(scene, at, rect);
          near.push(layout.cells[at]?.node.id ?? -1);
        }
      }
      if (scene.fleet.isAggregated) this.onNear(near);
    } else this.drawFarCells(scene, ranges);
    this.drawArrows(scene);
    this.drawGroupNames(scene, left, top, zoom);
    this.drawFrame(this.hovered, palette("text-3"), 1);
    this.drawFrame(scene.selected, palette("accent"), 2);
    // For tests, and for whoever wonders.
    this.canvas.dataset.drawMs = (performance.now() - began).toFixed(2);
  }

  /** Where something of the world is on the screen; undefined if it is out of sight. */
  private onScreen(rect: Rect | undefined): Rect | undefined {
    if (rect === undefined) return undefined;
    const { zoom, x, y } = this.camera;
    const sx = (rect.x - x) * zoom;
    const sy = (rect.y - y) * zoom;
    const w = rect.w * zoom;
    const h = rect.h * zoom;
    return sx + w < 0 || sy + h < 0 || sx > this.width || sy > this.height ? undefined : { x: sx, y: sy, w, h };
  }

  /** Cells too small for pods: what is free, and what is taken, in one pass for each colour. */
  private drawFarCells(scene: Scene, ranges: readonly { begin: number; end: number }[]): void {
    const { context: c, palette } = this;
    const { layout, colouring, fleet } = scene;
    const { zoom, x: left, y: top } = this.camera;
    const w = layout.cellWidth * zoom;
    const h = layout.cellHeight * zoom;
    const isFillShown = w >= 7;
    const byTone = new Map<string, number[]>();
    const marked: number[] = [];
    c.fillStyle = palette("cell");
    c.beginPath();
    for (const { begin, end } of ranges) {
      for (let at = begin; at < end; ++at) {
        const cell = layout.cells[at];
        if (cell === undefined) continue;
        const x = (cell.x - left) * zoom;
        if (x + w < 0 || x > this.width) continue;
        const node = fleet.nodes.get(cell.node.id) ?? cell.node;
        const entry = colouring.of.get(node.id) ?? 0;
        const isDim = scene.onlyEntry >= 0 && scene.onlyEntry !== entry;
        const tone = isDim ? "scale-none" : (colouring.entries[entry]?.tone ?? "scale-none");
        const list = byTone.get(tone);
        if (list) list.push(at);
        else byTone.set(tone, [at]);
        if (isFillShown) c.rect(x, (cell.y - top) * zoom, w, h);
        if (node.flags !== 0 || scene.ghosts.size > 0 || scene.owner !== "") marked.push(at);
      }
    }
    c.fill();
    for (const [tone, list] of byTone) {
      c.fillStyle = palette(tone);
      c.beginPath();
      for (const at of list) {
        const cell = layout.cells[at];
        if (cell === undefined) continue;
        const node = fleet.nodes.get(cell.node.id) ?? cell.node;
        const share = isFillShown ? filled(useOf(fleet, node, scene.resource)) : 1;
        c.rect((cell.x - left) * zoom, (cell.y - top) * zoom + h * (1 - share), w, h * share);
      }
      c.fill();
    }
    for (const at of marked) {
      const cell = layout.cells[at];
      if (cell === undefined) continue;
      const rect = { x: (cell.x - left) * zoom, y: (cell.y - top) * zoom, w, h };
      this.drawMarks(scene, at, rect);
      if (scene.owner !== "" && (fleet.podsOf.get(cell.node.id) ?? []).some((pod) => pod.owner.key === scene.owner)) {
        c.fillStyle = palette("accent");
        c.fillRect(rect.x, rect.y, rect.w, Math.max(1.5, rect.h / 4));
      }
    }
  }

  /** A cell with its pods. */
  private drawNearCell(scene: Scene, at: number, rect: Rect): void {
    const { context: c, palette } = this;
    const { layout, colouring, fleet } = scene;
    const cell = layout.cells[at];
    if (cell === undefined) return;
    const node = fleet.nodes.get(cell.node.id) ?? cell.node;
    const entry = colouring.of.get(node.id) ?? 0;
    const isDim = scene.onlyEntry >= 0 && scene.onlyEntry !== entry;
    const tone = isDim ? "scale-none" : (colouring.entries[entry]?.tone ?? "scale-none");
    const isNamed = rect.w >= namesFromWidth;
    const strip = isNamed ? Math.min(rect.h * 0.2, 22) : 0;
    const hold: Rect = { x: rect.x, y: rect.y + strip, w: rect.w, h: rect.h - strip };
    c.fillStyle = palette("cell");
    c.fillRect(rect.x, rect.y, rect.w, rect.h);
    const boxes = this.boxes(scene, at);
    // Boxes are kept for a hold of 1 x 1.
    const gap = rect.w > 60 ? 1 : 0.5;
    const fill = palette(tone);
    const quiet = palette("scale-none");
    const accent = palette("accent");
    let last = "";
    for (const box of boxes) {
      const x = hold.x + box.x * hold.w;
      const y = hold.y + box.y * hold.h;
      const w = Math.max(0.6, box.w * hold.w - gap);
      const h = Math.max(0.6, box.h * hold.h - gap);
      const isOwners = scene.owner !== "" && box.pod.owner.key === scene.owner;
      const ink = isOwners ? accent : scene.owner !== "" ? quiet : fill;
      if (ink !== last) c.fillStyle = ink;
      last = ink;
      c.fillRect(x, y, w, h);
      if (w >= 60 && h >= 16) {
        this.podName(box.pod, { x, y, w, h }, isOwners ? "accent" : scene.owner !== "" ? "scale-none" : tone);
        last = "";
      }
    }
    c.strokeStyle = palette("line-strong");
    c.lineWidth = 1;
    c.strokeRect(Math.round(rect.x) + 0.5, Math.round(rect.y) + 0.5, Math.round(rect.w) - 1, Math.round(rect.h) - 1);
    this.drawMarks(scene, at, rect);
    if (isNamed) {
      const size = Math.min(13, Math.max(10, strip * 0.58));
      const use = useOf(fleet, node, scene.resource);
      const share = Number.isNaN(use) ? "" : formatShare(use, 1);
      c.textBaseline = "middle";
      let shareWidth = 0;
      if (rect.w >= 110) {
        c.font = `${size}px ${this.font}`;
        c.fillStyle = palette("text-3");
        c.textAlign = "right";
        shareWidth = c.measureText(share).width + 10;
        c.fillText(share, rect.x + rect.w - 6, rect.y + strip / 2 + 0.5);
      }
      c.textAlign = "left";
      c.fillStyle = palette("text");
      c.font = `500 ${size}px ${this.font}`;
      c.fillText(this.cut(node.name, rect.w - 12 - shareWidth, c.font), rect.x + 6, rect.y + strip / 2 + 0.5);
    }
  }

  private boxes(scene: Scene, at: number): ReturnType<typeof podBoxes> {
    const { fleet, layout, resource } = scene;
    const cell = layout.cells[at];
    if (cell === undefined) return [];
    const id = cell.node.id;
    const pods = fleet.podsOf.get(id) ?? [];
    const known = this.boxesOf.get(id);
    if (known !== undefined && known.pods === pods && known.resource === resource && known.layout === layout) return known.boxes;
    const node = fleet.nodes.get(id) ?? cell.node;
    const whole = node.allocatable[fleet.resources.indexOf(resource)] ?? 0;
    const column = fleet.podResources.indexOf(resource);
    const share = (pod: FleetPod): number => {
      const amount = resource === "pods" ? pod.count : (pod.requests[column] ?? 0);
      return whole > 0 ? amount / whole : 0;
    };
    const boxes = podBoxes(pods, share, { x: 0, y: 0, w: 1, h: 1 });
    this.boxesOf.set(id, { pods, resource, layout, boxes });
    return boxes;
  }

  /** The pod whose box is at a point of the screen. */
  podAt(at: number, px: number, py: number): FleetPod | undefined {
    const scene = this.scene;
    const rect = this.onScreen(scene?.layout.cells[at]);
    if (scene === undefined || rect === undefined || rect.w < podsFromWidth) return undefined;
    const strip = rect.w >= namesFromWidth ? Math.min(rect.h * 0.2, 22) : 0;
    const x = (px - rect.x) / rect.w;
    const y = (py - rect.y - strip) / (rect.h - strip);
    return this.boxes(scene, at).find((box) => x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h)?.pod;
  }

  private podName(pod: FleetPod, box: Rect, tone: string): void {
    const { context: c, palette } = this;
    const name = pod.count > 1 ? `${pod.owner.name} × ${formatCount(pod.count)}` : pod.name;
    c.font = `11px ${this.font}`;
    c.fillStyle = palette(`on-${tone}`);
    c.textAlign = "left";
    c.textBaseline = "top";
    c.fillText(this.cut(name, box.w - 8, c.font), box.x + 4, box.y + 3);
  }

  /** What is said of a node without colour: hatched if cordoned, crossed out if not ready, a corner if tainted. */
  private drawMarks(scene: Scene, at: number, rect: Rect): void {
    const { context: c, palette } = this;
    const cell = scene.layout.cells[at];
    if (cell === undefined) return;
    const node = scene.fleet.nodes.get(cell.node.id) ?? cell.node;
    const { x, y, w, h } = rect;
    if (w >= 5) {
      if ((node.flags & nodeFlag.tainted) !== 0) {
        const size = Math.min(14, w / 3);
        c.fillStyle = palette("text-3");
        c.beginPath();
        c.moveTo(x + w - size, y);
        c.lineTo(x + w, y);
        c.lineTo(x + w, y + size);
        c.fill();
      }
      if ((node.flags & nodeFlag.cordoned) !== 0) {
        c.save();
        c.beginPath();
        c.rect(x, y, w, h);
        c.clip();
        c.strokeStyle = palette("hatch");
        c.lineWidth = 1;
        c.beginPath();
        const step = Math.max(4, Math.min(9, w / 3));
        for (let d = -h; d < w; d += step) {
          c.moveTo(x + d, y + h);
          c.lineTo(x + d + h, y);
        }
        c.stroke();
        c.restore();
      }
      if ((node.flags & nodeFlag.notReady) !== 0) {
        c.strokeStyle = palette("state-bad");
        c.lineWidth = w >= 20 ? 2 : 1;
        c.beginPath();
        c.moveTo(x, y);
        c.lineTo(x + w, y + h);
        c.moveTo(x + w, y);
        c.lineTo(x, y + h);
        c.stroke();
      }
    }
    const entry = scene.colouring.entries[scene.colouring.of.get(node.id) ?? 0];
    if (entry !== undefined && entry.mark !== "" && w >= 13 && w < namesFromWidth) {
      const size = Math.min(13, w * 0.62);
      c.font = `600 ${size}px ${this.font}`;
      c.fillStyle = palette(w >= podsFromWidth ? "text" : `on-${entry.tone}`);
      c.textAlign = "center";
      c.textBaseline = "middle";
      c.fillText(entry.mark, x + w / 2, y + h - size * 0.7);
    }
    const ghost = scene.ghosts.get(node.name);
    if (ghost !== undefined && w >= 4) this.drawGhost(ghost, rect);
  }

  private drawGhost(ghost: Ghost, { x, y, w, h }: Rect): void {
    const { context: c, palette } = this;
    c.strokeStyle = palette(ghost.isRemoved || ghost.come === 0 ? "state-bad" : "accent");
    c.lineWidth = 2;
    c.setLineDash(w >= 16 ? [4, 3] : []);
    c.strokeRect(x + 1, y + 1, w - 2, h - 2);
    c.setLineDash([]);
    if (w < 26) return;
    const parts = ghost.isRemoved ? ["away"] : [ghost.come > 0 ? `+${ghost.come}` : "", ghost.go > 0 ? `−${ghost.go}` : ""].filter((part) => part !== "");
    const text = parts.join(" ");
    const size = Math.min(15, Math.max(9, w / 5));
    c.font = `600 ${size}px ${this.font}`;
    const wide = c.measureText(text).width + 8;
    const tall = size + 6;
    c.fillStyle = palette("surface");
    c.fillRect(x + w - wide - 4, y + h - tall - 4, wide, tall);
    c.fillStyle = palette(ghost.isRemoved || ghost.come === 0 ? "state-bad" : "accent");
    c.textAlign = "left";
    c.textBaseline = "middle";
    c.fillText(text, x + w - wide, y + h - tall / 2 - 4);
  }

  private drawGroupNames(scene: Scene, left: number, top: number, zoom: number): void {
    const { context: c, palette } = this;
    c.textBaseline = "middle";
    c.textAlign = "left";
    for (const group of scene.layout.groups) {
      const y = (group.y - top) * zoom;
      const bottom = y + group.h * zoom;
      if (bottom < 0 || y > this.height) continue;
      // The name stays in sight while its group is.
      const band = Math.max(18, Math.min(groupHeaderHeight * zoom, 26));
      const at = Math.max(0, Math.min(y, bottom - band));
      const isStuck = y < 0;
      const begin = (group.x - left) * zoom;
      const end = begin + group.w * zoom;
      if (end < 0 || begin > this.width) continue;
      const x = Math.max(12, begin);
      if (isStuck) {
        c.globalAlpha = 0.96;
        c.fillStyle = palette("surface");
        c.fillRect(begin - 12, at, end - begin + 24, band);
        c.globalAlpha = 1;
      }
      c.font = `600 12px ${this.font}`;
      const name = this.cut(group.name, Math.max(60, Math.min(end, this.width) - x - 90), c.font);
      c.fillStyle = palette("text");
      c.fillText(name, x, at + band / 2);
      const wide = c.measureText(name).width;
      c.font = `12px ${this.font}`;
      c.fillStyle = palette("text-3");
      c.fillText(`${formatCount(group.end - group.begin)} ${group.end - group.begin === 1 ? "node" : "nodes"}`, x + wide + 8, at + band / 2);
    }
  }

  /** Moves as bows from the middle of one cell to that of another, wider for more pods. */
  private drawArrows(scene: Scene): void {
    if (scene.arrows.length === 0) return;
    const { context: c, palette } = this;
    const { zoom, x: left, y: top } = this.camera;
    const middle = (at: number): { x: number; y: number } | undefined => {
      const cell = scene.layout.cells[at];
      return cell === undefined ? undefined : { x: (cell.x + cell.w / 2 - left) * zoom, y: (cell.y + cell.h / 2 - top) * zoom };
    };
    c.strokeStyle = palette("accent");
    c.fillStyle = palette("accent");
    for (const arrow of scene.arrows) {
      const from = middle(arrow.from);
      const to = middle(arrow.to);
      if (from === undefined || to === undefined) continue;
      const [dx, dy] = [to.x - from.x, to.y - from.y];
      // Bent to one side, so that moves there and back can be told apart.
      const bend = { x: (from.x + to.x) / 2 - dy * 0.18, y: (from.y + to.y) / 2 + dx * 0.18 };
      const angle = Math.atan2(to.y - bend.y, to.x - bend.x);
      const width = Math.min(4, 1.25 + Math.log2(arrow.moves) * 0.6);
      const tip = 5 + width * 2;
      c.lineWidth = width;
      c.beginPath();
      c.moveTo(from.x, from.y);
      c.quadraticCurveTo(bend.x, bend.y, to.x - Math.cos(angle) * tip * 0.7, to.y - Math.sin(angle) * tip * 0.7);
      c.stroke();
      c.beginPath();
      c.moveTo(to.x, to.y);
      c.lineTo(to.x - Math.cos(angle - 0.45) * tip, to.y - Math.sin(angle - 0.45) * tip);
      c.lineTo(to.x - Math.cos(angle + 0.45) * tip, to.y - Math.sin(angle + 0.45) * tip);
      c.fill();
    }
  }

  private drawFrame(at: number, tone: string, width: number): void {
    const rect = this.onScreen(this.scene?.layout.cells[at]);
    if (rect === undefined) return;
    const { context: c } = this;
    c.strokeStyle = tone;
    c.lineWidth = width;
    c.strokeRect(rect.x - width / 2, rect.y - width / 2, rect.w + width, rect.h + width);
  }

  /** The text, cut with an ellipsis to the width. */
  private cut(text: string, width: number, font: string): string {
    if (width < 8) return "";
    const key = `${font}|${Math.round(width)}|${text}`;
    const known = this.textWidths.get(key);
    if (known !== undefined) return known;
    const { context: c } = this;
    let shown = isolated(text);
    if (c.measureText(shown).width > width) {
      const letters = [...text];
      let low = 0;
      let high = letters.length;
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (c.measureText(isolated(`${letters.slice(0, middle).join("")}…`)).width <= width) low = middle;
        else high = middle - 1;
      }
      shown = low === 0 ? "" : isolated(`${letters.slice(0, low).join("")}…`);
    }
    if (this.textWidths.size > 5000) this.textWidths.clear();
    this.textWidths.set(key, shown);
    return shown;
  }
}

/** Part of a cell that is drawn as taken. */
function filled(use: number): number {
  return Number.isNaN(use) ? 0 : Math.max(0, Math.min(1, use));
}
