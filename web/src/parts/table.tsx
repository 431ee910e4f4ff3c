// SPDX-License-Identifier: Apache-2.0
// Tables. Arrow keys, j and k, Home and End go from row to row; Enter opens one. A long table draws only the rows in sight.
import type { ComponentChildren, JSX, TargetedKeyboardEvent, TargetedMouseEvent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface ColumnOf<T> {
  readonly key: string;
  readonly title: string;
  readonly isNumber?: boolean;
  /** Left out on a narrow screen. */
  readonly isMinor?: boolean;
  readonly cell: (row: T) => ComponentChildren;
  /** Where given, the table can be ordered by it. */
  readonly order?: (a: T, b: T) => number;
}

export interface TableProps<T> {
  readonly label: string;
  readonly columns: readonly ColumnOf<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** Address behind a row: its first cell becomes a link. */
  readonly hrefOf?: ((row: T) => string) | undefined;
  readonly onOpen?: ((row: T) => void) | undefined;
  readonly classOf?: (row: T) => string;
  /** What is shown below a row that is open. */
  readonly below?: (row: T) => ComponentChildren;
  readonly isOpen?: (row: T) => boolean;
}

const rowKeys: Readonly<Record<string, number | "first" | "last">> = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, Home: "first", End: "last" };

/** Moves the focus to another row's link or button. */
function moveInRows(event: TargetedKeyboardEvent<HTMLElement>): void {
  const move = rowKeys[event.key];
  if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  const focused = document.activeElement;
  if (focused instanceof HTMLInputElement || focused instanceof HTMLSelectElement || focused instanceof HTMLTextAreaElement) return;
  const stops = [...event.currentTarget.querySelectorAll<HTMLElement>(".row-open")];
  const row = focused?.closest("tr");
  const at = stops.findIndex((stop) => stop === focused || stop.closest("tr") === row);
  const to = move === "first" ? 0 : move === "last" ? stops.length - 1 : at < 0 ? 0 : at + move;
  const stop = stops[to];
  if (stop === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  stop.focus();
  stop.closest("tr")?.scrollIntoView({ block: "nearest" });
}

function Cells<T>({ row, table }: { row: T; table: TableProps<T> }): JSX.Element {
  return (
    <>
      {table.columns.map((column, i) => (
        <td key={column.key} class={classes(column)} data-title={column.title}>
          {i === 0 ? <Opener row={row} table={table}>{column.cell(row)}</Opener> : column.cell(row)}
        </td>
      ))}
    </>
  );
}

function Opener<T>({ row, table, children }: { row: T; table: TableProps<T>; children: ComponentChildren }): JSX.Element {
  if (table.hrefOf !== undefined) {
    return (
      <a class="row-open" href={table.hrefOf(row)}>
        {children}
      </a>
    );
  }
  if (table.onOpen !== undefined) {
    return (
      <button type="button" class="row-open" aria-expanded={table.isOpen ? table.isOpen(row) : undefined} onClick={() => table.onOpen?.(row)}>
        {children}
      </button>
    );
  }
  return <>{children}</>;
}

function classes<T>(column: ColumnOf<T>): string {
  return [`col-${column.key}`, column.isNumber ? "number" : "", column.isMinor ? "minor" : ""].join(" ").trim();
}

/** A click anywhere in a row is one on its link, unless text is being selected. */
function openRow(event: TargetedMouseEvent<HTMLTableRowElement>): void {
  if ((event.target as Element).closest("a, button, input, label, select") !== null) return;
  if (getSelection()?.isCollapsed === false) return;
  event.currentTarget.querySelector<HTMLElement>(".row-open")?.click();
}

function Head<T>({ columns, order, onOrder }: { columns: readonly ColumnOf<T>[]; order?: string; onOrder?: (key: string) => void }): JSX.Element {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const isOrder = order?.replace("-", "") === column.key;
          const direction = isOrder ? (order?.startsWith("-") ? "descending" : "ascending") : undefined;
          return (
            <th key={column.key} scope="col" class={classes(column)} aria-sort={direction}>
              {column.order && onOrder ? (
                <button type="button" class="order" onClick={() => onOrder(isOrder && direction === "descending" ? column.key : `-${column.key}`)}>
                  {column.title}
                  <span aria-hidden="true">{direction === "descending" ? " ↓" : direction === "ascending" ? " ↑" : ""}</span>
                </button>
              ) : (
                column.title
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

export function Table<T>(props: TableProps<T>): JSX.Element {
  const isOpenable = props.hrefOf !== undefined || props.onOpen !== undefined;
  return (
    <table class={`table ${isOpenable ? "table-open" : ""}`} aria-label={props.label} onKeyDown={moveInRows}>
      <Head columns={props.columns} />
      <tbody>
        {props.rows.map((row) => {
          const key = props.keyOf(row);
          const isOpen = props.isOpen?.(row) ?? false;
          return [
            <tr key={key} class={`${props.classOf?.(row) ?? ""} ${isOpen ? "is-open" : ""}`} onClick={isOpenable ? openRow : undefined}>
              <Cells row={row} table={props} />
            </tr>,
            isOpen ? (
              <tr key={`${key} below`} class="below">
                <td colSpan={props.columns.length}>{props.below?.(row)}</td>
              </tr>
            ) : null,
          ];
        })}
      </tbody>
    </table>
  );
}

const rowHeight = 37;
const spare = 8;

/** A table of any length in a box of its own that scrolls. Columns with an order can be chosen to order by. */
export function LongTable<T>(props: TableProps<T> & { order: string; onOrder: (key: string) => void }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ top: 0, height: 600 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const look = (): void => setSight({ top: element.scrollTop, height: element.clientHeight });
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const column = props.columns.find((each) => each.key === props.order.replace("-", ""));
  let rows = props.rows;
  if (column?.order) {
    const sign = props.order.startsWith("-") ? -1 : 1;
    const order = column.order;
    rows = [...rows].sort((a, b) => sign * order(a, b));
  }
  const begin = Math.max(0, Math.floor(sight.top / rowHeight) - spare);
  const end = Math.min(rows.length, Math.ceil((sight.top + sight.height) / rowHeight) + spare);
  const shown = rows.slice(begin, end);
  return (
    <div
      class="long-table"
      ref={box}
      tabIndex={0}
      role="region"
      aria-label={props.label}
      onScroll={(event) => setSight({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}
      onKeyDown={moveInRows}
    >
      <table class="table table-open" aria-label={props.label} aria-rowcount={rows.length + 1}>
        <Head columns={props.columns} order={props.order} onOrder={props.onOrder} />
        <tbody>
          {begin > 0 ? <Spacer rows={begin} columns={props.columns.length} /> : null}
          {shown.map((row, i) => (
            <tr key={props.keyOf(row)} class={props.classOf?.(row) ?? ""} aria-rowindex={begin + i + 2} onClick={openRow}>
              <Cells row={row} table={props} />
            </tr>
          ))}
          {end < rows.length ? <Spacer rows={rows.length - end} columns={props.columns.length} /> : null}
        </tbody>
      </table>
    </div>
  );
}

function Spacer({ rows, columns }: { rows: number; columns: number }): JSX.Element {
  return (
    <tr class="spacer" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${rows * rowHeight}px` }} />
    </tr>
  );
}
