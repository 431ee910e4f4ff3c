// SPDX-License-Identifier: Apache-2.0
// Small pieces that all views are made of.
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { now, second, serverTime } from "../model";
import { formatAge } from "../state/format";
import { useStore } from "../state/store";
import { Icon } from "./icons";

/** A name as it is: kept apart from its surroundings, cut where there is no room, whole when pointed at. */
export function Name({ text, class: of = "" }: { text: string; class?: string }): JSX.Element {
  return (
    <bdi class={`name ${of}`} title={text}>
      {text}
    </bdi>
  );
}

/** An age that ticks: at the moment that is shown, or with `isOfToday` by now. */
export function Age({ sinceMs, isOfToday = false }: { sinceMs: number; isOfToday?: boolean }): JSX.Element {
  useStore(second);
  if (!Number.isFinite(sinceMs)) return <span class="quiet">–</span>;
  return (
    <time dateTime={new Date(sinceMs).toISOString()} title={new Date(sinceMs).toLocaleString("en-GB")}>
      {formatAge((isOfToday ? serverTime() : now()) - sinceMs)}
    </time>
  );
}

/** How long until an instant; "now" when it has passed. */
export function Until({ atMs, isShort = false }: { atMs: number; isShort?: boolean }): JSX.Element {
  useStore(second);
  const left = atMs - now();
  return <span title={new Date(atMs).toLocaleString("en-GB")}>{left > 0 ? `${isShort ? "" : "in "}${formatAge(left)}` : "now"}</span>;
}

/** A bar that is filled by a share from 0 to 1. What it says is written beside it. */
export function ShareBar({ share, tone = "scale-4" }: { share: number; tone?: string }): JSX.Element {
  const percent = Number.isFinite(share) ? Math.max(0, Math.min(1, share)) * 100 : 0;
  return (
    <span class="share-bar" aria-hidden="true">
      <span style={{ width: `${percent}%`, background: `var(--${tone})` }} />
    </span>
  );
}

export interface Choice {
  readonly value: string;
  readonly label: string;
}

/** One of a few. */
export function Segmented(props: { label: string; choices: readonly Choice[]; value: string; onChoose: (value: string) => void }): JSX.Element {
  return (
    <div class="segmented" role="group" aria-label={props.label}>
      {props.choices.map((choice) => (
        <button key={choice.value} type="button" aria-pressed={choice.value === props.value} onClick={() => props.onChoose(choice.value)}>
          {choice.label}
        </button>
      ))}
    </div>
  );
}

/** One of many. */
export function Select(props: { label: string; choices: readonly Choice[]; value: string; onChoose: (value: string) => void }): JSX.Element {
  return (
    <label class="select">
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.onChoose(event.currentTarget.value)}>
        {props.choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A field that narrows what is shown. Escape empties it. */
export function Filter(props: { label: string; value: string; onChange: (text: string) => void }): JSX.Element {
  return (
    <input
      class="filter"
      type="search"
      aria-label={props.label}
      placeholder={props.label}
      value={props.value}
      spellcheck={false}
      autocomplete="off"
      onInput={(event) => props.onChange(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        if (props.value === "") event.currentTarget.blur();
        else props.onChange("");
        event.stopPropagation();
      }}
    />
  );
}

export function Pill({ tone = "plain", children }: { tone?: "plain" | "good" | "wait" | "bad" | "accent"; children: ComponentChildren }): JSX.Element {
  return <span class={`pill pill-${tone}`}>{children}</span>;
}

/** What is there when nothing is. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children ? <p>{children}</p> : null}
    </div>
  );
}

/** Says that something has gone wrong, for screen readers too. */
export function Problem({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <div class="problem" role="alert">
      {children}
    </div>
  );
}

/** Lines in the place of what is being read. */
export function Loading({ lines = 6, label }: { lines?: number; label: string }): JSX.Element {
  return (
    <div class="loading" role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, i) => (
        <span key={i} style={{ width: `${92 - ((i * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

export function ViewHead(props: { title: string; children?: ComponentChildren; sub?: ComponentChildren }): JSX.Element {
  return (
    <header class="view-head">
      <div class="view-title">
        <h1 tabIndex={-1}>{props.title}</h1>
        {props.sub ? <p class="view-sub">{props.sub}</p> : null}
      </div>
      {props.children ? <div class="view-tools">{props.children}</div> : null}
    </header>
  );
}

/** A dialog over the page. Escape and a click beside it close it; the browser keeps the focus in it. */
export function Dialog(props: { label: string; class?: string; onClose: () => void; children: ComponentChildren }): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  // Before the next key: it is for the dialog already.
  useLayoutEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={box}
      class={props.class ?? ""}
      aria-label={props.label}
      onClose={props.onClose}
      onClick={(event) => {
        if (event.target === box.current) props.onClose();
      }}
    >
      <div class="dialog-body">{props.children}</div>
    </dialog>
  );
}

export function CloseButton({ label, onClick }: { label: string; onClick: () => void }): JSX.Element {
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} onClick={onClick}>
      <Icon name="close" />
    </button>
  );
}
