// SPDX-License-Identifier: Apache-2.0
// The picture on the page: wheel, pinch, drag and keys move it; a click or Enter selects a node.
import type { JSX, TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { theme } from "../theme";
import { Icon } from "../parts/icons";
import { lookAtNodes } from "../live";
import type { Fleet, FleetNode, FleetPod } from "../state/fleet";
import { podsOn } from "../state/fleet";
import { formatAmount, formatCount, formatShare, plural } from "../state/format";
import { useStore } from "../state/store";
import * as model from "../model";
import type { Colouring } from "./colouring";
import { useOf } from "./colouring";
import type { Camera, Layout } from "./layout";
import { cellArrows, cellAt, layOut, lookAt, neighbour, wholeFleet, zoomAt } from "./layout";
import type { Ghost } from "./renderer";
import { FleetPicture, arrowsMax } from "./renderer";

interface Props {
  readonly fleet: Fleet;
  readonly colouring: Colouring;
  readonly resource: string;
  readonly grouping: string;
  readonly ghosts: ReadonlyMap<string, Ghost>;
  /** Moves between nodes, by name. */
  readonly arrows: readonly { readonly from: string; readonly to: string; readonly moves: number }[];
  readonly owner: string;
  readonly onlyEntry: number;
  /** Name of a node; "" for none. */
  readonly selected: string;
  readonly onSelect: (name: string) => void;
}

interface Tip {
  readonly x: number;
  readonly y: number;
  readonly node: FleetNode;
  readonly pod: FleetPod | undefined;
}

/** Pixels from which on a press is a drag. */
const dragFrom = 4;
const directions: Readonly<Record<string, "left" | "right" | "up" | "down">> = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };

export function Picture(props: Props): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const picture = useRef<FleetPicture | undefined>(undefined);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [isZoomed, setZoomed] = useState(false);
  const [tip, setTip] = useState<Tip | undefined>(undefined);
  const [cursor, setCursor] = useState(-1);
  /** The node that was selected in the picture itself, which needs not be brought into sight. */
  const pickedHere = useRef("");
  const pick = (name: string): void => {
    pickedHere.current = name;
    props.onSelect(name);
  };
  const scheme = useStore(theme);
  const layout = useMemo(
    () => (size.width > 0 ? layOut(props.fleet, props.grouping, size.width, size.height) : undefined),
    [props.fleet.shape, props.fleet.epoch, props.grouping, size.width, size.height],
  );
  const selectedAt = useMemo(() => (layout === undefined || props.selected === "" ? -1 : layout.cells.findIndex((cell) => cell.node.name === props.selected)), [layout, props.selected]);
  const arrows = useMemo(() => (layout === undefined ? [] : cellArrows(layout, props.arrows, arrowsMax)), [layout, props.arrows]);
  const shownAt = selectedAt >= 0 ? selectedAt : cursor;

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || canvas.current === null) return undefined;
    picture.current = new FleetPicture(canvas.current, (camera) => setZoomed(camera.zoom > 1.01 || camera.y > 1), lookAtNodes);
    const look = (): void => {
      const { width, height } = element.getBoundingClientRect();
      picture.current?.resize(Math.floor(width), Math.floor(height));
      setSize({ width: Math.floor(width), height: Math.floor(height) });
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => {
      observer.disconnect();
      picture.current?.end();
      picture.current = undefined;
    };
  }, []);

  useLayoutEffect(() => picture.current?.readTheme(), [scheme]);

  useLayoutEffect(() => {
    if (layout === undefined) return;
    picture.current?.show({
      fleet: props.fleet,
      layout,
      colouring: props.colouring,
      resource: props.resource,
      ghosts: props.ghosts,
      arrows,
      selected: shownAt,
      owner: props.owner,
      onlyEntry: props.onlyEntry,
    });
    if (canvas.current !== null) {
      canvas.current.dataset.nodes = String(layout.cells.length);
      canvas.current.dataset.arrows = String(arrows.length);
    }
  }, [layout, props.fleet, props.colouring, props.resource, props.ghosts, arrows, shownAt, props.owner, props.onlyEntry]);

  // A node that an address or the search has named is brought into sight, and made large enough to see its pods.
  useEffect(() => {
    const cell = layout?.cells[selectedAt];
    if (cell === undefined || picture.current === undefined || pickedHere.current === cell.node.name) return;
    const { view } = picture.current;
    const x = (cell.x - view.x) * view.zoom;
    const y = (cell.y - view.y) * view.zoom;
    const isSeen = x >= 0 && y >= 0 && x + cell.w * view.zoom <= size.width && y + cell.h * view.zoom <= size.height;
    if (!isSeen || cell.w * view.zoom < 60) picture.current.moveTo(lookAt(cell, size.width, size.height), true);
  }, [selectedAt, layout]);

  usePointers(canvas, picture, () => layout, {
    onHover: (at, x, y) => {
      picture.current?.hover(at);
      const cell = layout?.cells[at];
      setTip(cell === undefined ? undefined : { x, y, node: props.fleet.nodes.get(cell.node.id) ?? cell.node, pod: picture.current?.podAt(at, x, y) });
    },
    onClick: (at, x, y) => {
      const cell = layout?.cells[at];
      if (cell === undefined) return;
      setCursor(at);
      const pod = picture.current?.podAt(at, x, y);
      if (pod !== undefined && pod.name !== "" && props.selected === cell.node.name) {
        model.go({ view: "pod", path: [pod.namespace, pod.name], query: {} });
        return;
      }
      pick(cell.node.name);
    },
    onDoubleClick: (at) => {
      const cell = layout?.cells[at];
      if (cell !== undefined) picture.current?.moveTo(lookAt(cell, size.width, size.height), true);
    },
  });

  const zoomBy = (factor: number): void => {
    const shown = picture.current;
    if (shown !== undefined) shown.moveTo(zoomAt(shown.goal, factor, size.width / 2, size.height / 2), true);
  };
  const onKey = (event: TargetedKeyboardEvent<HTMLCanvasElement>): void => {
    const shown = picture.current;
    if (shown === undefined || layout === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const direction = directions[event.key];
    if (direction !== undefined) {
      const next = neighbour(layout, shownAt, direction);
      setCursor(next);
      const cell = layout.cells[next];
      if (props.selected !== "" && cell !== undefined) pick(cell.node.name);
      if (cell !== undefined) shown.moveTo(intoSight(shown.goal, layout, next, size.width, size.height), true);
    } else if (event.key === "Enter" || event.key === " ") {
      const cell = layout.cells[shownAt];
      if (cell !== undefined) pick(cell.node.name);
    } else if (event.key === "+" || event.key === "=") zoomBy(1.6);
    else if (event.key === "-") zoomBy(1 / 1.6);
    else if (event.key === "0") shown.moveTo(wholeFleet, true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const at = layout?.cells[shownAt];
  return (
    <div class="picture" ref={box}>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-roledescription="picture of the cluster"
        aria-label={`${plural(props.fleet.nodes.size, "node")} in rows. Arrow keys go from node to node, Enter opens one, plus and minus zoom, 0 shows all, t shows the same as a table.`}
        onKeyDown={onKey}
      />
      <p class="sr-only" aria-live="polite">
        {at === undefined ? "" : nodeSentence(props.fleet, props.fleet.nodes.get(at.node.id) ?? at.node, props.resource)}
      </p>
      <div class="picture-tools">
        <button type="button" class="icon-button" aria-label="Nearer" title="Nearer (+)" onClick={() => zoomBy(1.6)}>
          <Icon name="plus" />
        </button>
        <button type="button" class="icon-button" aria-label="Farther" title="Farther (-)" onClick={() => zoomBy(1 / 1.6)}>
          <Icon name="minus" />
        </button>
        <button type="button" class="icon-button" aria-label="Whole cluster" title="Whole cluster (0)" disabled={!isZoomed} onClick={() => picture.current?.moveTo(wholeFleet, true)}>
          <Icon name="whole" />
        </button>
      </div>
      {tip ? <Tooltip tip={tip} fleet={props.fleet} resource={props.resource} colouring={props.colouring} ghosts={props.ghosts} width={size.width} height={size.height} /> : null}
    </div>
  );
}

function nodeSentence(fleet: Fleet, node: FleetNode, resource: string): string {
  const pods = podsOn(fleet, node);
  return `${node.name}, ${node.zone}, ${formatShare(useOf(fleet, node, resource), 1)} of ${resource}, ${plural(pods, "pod")}`;
}

/** Moves the camera as little as is needed to see a cell. */
function intoSight(camera: Camera, layout: Layout, at: number, width: number, height: number): Camera {
  const cell = layout.cells[at];
  if (cell === undefined) return camera;
  const margin = 30 / camera.zoom;
  const fit = (from: number, seen: number, begin: number, extent: number): number => {
    if (begin - margin < from) return begin - margin;
    return begin + extent + margin > from + seen ? begin + extent + margin - seen : from;
  };
  return { ...camera, x: fit(camera.x, width / camera.zoom, cell.x, cell.w), y: fit(camera.y, height / camera.zoom, cell.y, cell.h) };
}

function Tooltip(props: { tip: Tip; fleet: Fleet; resource: string; colouring: Colouring; ghosts: ReadonlyMap<string, Ghost>; width: number; height: number }): JSX.Element {
  const { tip, fleet, resource } = props;
  const { node, pod } = tip;
  const column = fleet.resources.indexOf(resource);
  const entry = props.colouring.entries[props.colouring.of.get(node.id) ?? 0];
  const ghost = props.ghosts.get(node.name);
  const isLeft = tip.x > props.width - 290;
  const isUp = tip.y > props.height - 150;
  const pods = podsOn(fleet, node);
  return (
    <div
      class="tip"
      aria-hidden="true"
      style={{
        left: isLeft ? "auto" : `${tip.x + 14}px`,
        right: isLeft ? `${props.width - tip.x + 14}px` : "auto",
        top: isUp ? "auto" : `${tip.y + 14}px`,
        bottom: isUp ? `${props.height - tip.y + 14}px` : "auto",
      }}
    >
      {pod ? (
        <>
          <bdi class="strong">{pod.name || `${pod.owner.name} × ${formatCount(pod.count)}`}</bdi>
          <span class="quiet">
            <bdi>{pod.namespace}</bdi> · {pod.owner.kind} <bdi>{pod.owner.name}</bdi>
          </span>
          <span>
            {fleet.podResources
              .map((name, i) => [name, pod.requests[i] ?? 0] as const)
              .filter(([name, amount]) => amount > 0 && name !== "pods")
              .slice(0, 4)
              .map(([name, amount]) => `${name} ${formatAmount(name, amount)}`)
              .join(" · ")}
          </span>
          <hr />
        </>
      ) : null}
      <bdi class={pod ? "" : "strong"}>{node.name}</bdi>
      <span>
        {formatShare(useOf(fleet, node, resource), 1)} of {resource}
        <span class="quiet">
          {" "}
          ({formatAmount(resource, node.requested[column] ?? 0)} of {formatAmount(resource, node.allocatable[column] ?? 0)})
        </span>
      </span>
      <span class="quiet">
        {plural(pods, "pod")}
        {entry && entry.mark !== "" ? ` · ${entry.label}` : ""}
        {node.taints !== "" ? ` · ${node.taints}` : ""}
      </span>
      {ghost ? <span class="tone-accent">{ghost.isRemoved ? "would be taken away" : `${ghost.come} would come, ${ghost.go} would go`}</span> : null}
    </div>
  );
}

interface PointerHandlers {
  readonly onHover: (at: number, x: number, y: number) => void;
  readonly onClick: (at: number, x: number, y: number) => void;
  readonly onDoubleClick: (at: number) => void;
}

/** Wheel and pinch zoom, drag moves, a press without a drag is a click. */
function usePointers(
  canvas: { current: HTMLCanvasElement | null },
  picture: { current: FleetPicture | undefined },
  layoutOf: () => Layout | undefined,
  handlers: PointerHandlers,
): void {
  const now = useRef({ layoutOf, handlers });
  now.current = { layoutOf, handlers };
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    const pointers = new Map<number, { x: number; y: number }>();
    let pressed: { x: number; y: number; camera: Camera; isDrag: boolean } | undefined;
    let pinch: { distance: number; camera: Camera; x: number; y: number } | undefined;
    const place = (event: { clientX: number; clientY: number }): { x: number; y: number } => {
      const rect = element.getBoundingClientRect();
      return { x: event.clientX - rect.left, y: event.clientY - rect.top };
    };
    const cellUnder = (x: number, y: number): number => {
      const layout = now.current.layoutOf();
      const shown = picture.current;
      if (layout === undefined || shown === undefined) return -1;
      return cellAt(layout, shown.view.x + x / shown.view.zoom, shown.view.y + y / shown.view.zoom);
    };
    const onWheel = (event: WheelEvent): void => {
      const shown = picture.current;
      if (shown === undefined) return;
      event.preventDefault();
      const { x, y } = place(event);
      const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
      const isPan = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      if (isPan) {
        const { goal } = shown;
        shown.moveTo({ ...goal, x: goal.x + ((event.deltaX || event.deltaY) * unit) / goal.zoom }, false);
        return;
      }
      const factor = Math.exp(-event.deltaY * unit * (event.ctrlKey ? 0.01 : 0.0022));
      shown.moveTo(zoomAt(shown.goal, factor, x, y), true);
      now.current.handlers.onHover(-1, x, y);
    };
    const onDown = (event: PointerEvent): void => {
      const shown = picture.current;
      if (shown === undefined || (event.pointerType === "mouse" && event.button !== 0)) return;
      element.setPointerCapture(event.pointerId);
      const { x, y } = place(event);
      pointers.set(event.pointerId, { x, y });
      if (pointers.size === 2) {
        const [a, b] = [...pointers.values()] as [{ x: number; y: number }, { x: number; y: number }];
        pinch = { distance: Math.hypot(a.x - b.x, a.y - b.y), camera: shown.view, x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
        pressed = undefined;
      } else pressed = { x, y, camera: shown.view, isDrag: false };
    };
    const onMove = (event: PointerEvent): void => {
      const shown = picture.current;
      if (shown === undefined) return;
      const { x, y } = place(event);
      if (pointers.has(event.pointerId)) pointers.set(event.pointerId, { x, y });
      if (pinch !== undefined && pointers.size === 2) {
        const [a, b] = [...pointers.values()] as [{ x: number; y: number }, { x: number; y: number }];
        const moved = zoomAt(pinch.camera, Math.hypot(a.x - b.x, a.y - b.y) / Math.max(1, pinch.distance), pinch.x, pinch.y);
        shown.moveTo({ ...moved, x: moved.x - ((a.x + b.x) / 2 - pinch.x) / moved.zoom, y: moved.y - ((a.y + b.y) / 2 - pinch.y) / moved.zoom }, false);
        return;
      }
      if (pressed !== undefined) {
        if (!pressed.isDrag && Math.hypot(x - pressed.x, y - pressed.y) < dragFrom) return;
        pressed.isDrag = true;
        element.classList.add("is-dragged");
        now.current.handlers.onHover(-1, x, y);
        const { camera } = pressed;
        shown.moveTo({ ...camera, x: camera.x - (x - pressed.x) / camera.zoom, y: camera.y - (y - pressed.y) / camera.zoom }, false);
        return;
      }
      if (event.pointerType === "mouse") now.current.handlers.onHover(cellUnder(x, y), x, y);
    };
    const onUp = (event: PointerEvent): void => {
      const { x, y } = place(event);
      pointers.delete(event.pointerId);
      element.classList.remove("is-dragged");
      if (pinch !== undefined) {
        if (pointers.size === 0) pinch = undefined;
        return;
      }
      const wasPressed = pressed;
      pressed = undefined;
      if (event.type === "pointerup" && wasPressed !== undefined && !wasPressed.isDrag) now.current.handlers.onClick(cellUnder(x, y), x, y);
    };
    const onDoubleClick = (event: MouseEvent): void => {
      const { x, y } = place(event);
      now.current.handlers.onDoubleClick(cellUnder(x, y));
    };
    const onLeave = (): void => now.current.handlers.onHover(-1, 0, 0);
    element.addEventListener("wheel", onWheel, { passive: false });
    element.addEventListener("pointerdown", onDown);
    element.addEventListener("pointermove", onMove);
    element.addEventListener("pointerup", onUp);
    element.addEventListener("pointercancel", onUp);
    element.addEventListener("pointerleave", onLeave);
    element.addEventListener("dblclick", onDoubleClick);
    return () => {
      element.removeEventListener("wheel", onWheel);
      element.removeEventListener("pointerdown", onDown);
      element.removeEventListener("pointermove", onMove);
      element.removeEventListener("pointerup", onUp);
      element.removeEventListener("pointercancel", onUp);
      element.removeEventListener("pointerleave", onLeave);
      element.removeEventListener("dblclick", onDoubleClick);
    };
  }, []);
}

