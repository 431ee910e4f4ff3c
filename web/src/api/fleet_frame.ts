// SPDX-License-Identifier: Apache-2.0
// Reads a binary frame of the fleet: a directory in JSON and columns behind it. Says what is wrong with a frame that is none.

export interface FleetDirectory {
  readonly kind: "full" | "delta" | "part";
  readonly epoch: number;
  readonly revision: number;
  readonly base?: number;
  readonly aggregated?: boolean;
  readonly nodes: number;
  readonly pods: number;
  readonly podCount?: number;
  readonly nodeCount?: number;
  readonly labelKeys?: readonly string[];
  readonly resources?: readonly string[];
  readonly podResources?: readonly string[];
  readonly columns: readonly { readonly name: string; readonly type: string; readonly offset: number; readonly length: number; readonly stored?: number }[];
}

export type Column = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;

export interface FleetFrame {
  readonly directory: FleetDirectory;
  /** The column of that name; one that the frame lacks is empty. */
  column(name: string): Column;
  has(name: string): boolean;
  /** The string of that index; "" for one that there is not. */
  text(index: number | undefined): string;
}

const magic = 0x544c4642; // "BFLT", little endian
const layoutVersion = 4;
const empty = new Uint32Array(0);

export function readFrame(buffer: ArrayBuffer): FleetFrame {
  const view = new DataView(buffer);
  if (buffer.byteLength < 16 || view.getUint32(0, true) !== magic) throw new Error("the fleet is not in the form that this page reads");
  const version = view.getUint32(4, true);
  if (version !== layoutVersion) throw new Error(`the fleet is in form ${version}; this page reads form ${layoutVersion}: reload the page`);
  const directoryBytes = view.getUint32(8, true);
  const dataOffset = view.getUint32(12, true);
  if (16 + directoryBytes > dataOffset || dataOffset > buffer.byteLength) throw new Error("the fleet's frame has been cut");
  const directory = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 16, directoryBytes))) as FleetDirectory;
  const columns = new Map<string, Column>();
  for (const each of directory.columns) {
    const column = columnOf(buffer, each.type, dataOffset + each.offset, each.length, each.stored ?? each.length);
    if (column) columns.set(each.name, column);
  }
  const column = (name: string): Column => columns.get(name) ?? empty;
  // A string that is cut out of another keeps the other alive. That is right for a whole fleet; of a delta each row may live long.
  const areCut = directory.kind === "full";
  const has = (name: string): boolean => columns.has(name);
  return { directory, column, has, text: textReader(column("string.offset"), column("string.bytes"), areCut) };
}

/** So many values, which are those again and again. */
function repeated(stored: Column, length: number): Column {
  const values = new (stored.constructor as new (length: number) => Column)(length);
  values.set(stored.subarray(0, length));
  for (let known = stored.length; known > 0 && known < length; known *= 2) values.copyWithin(known, 0, known);
  return values;
}

function columnOf(buffer: ArrayBuffer, type: string, offset: number, length: number, stored: number): Column | undefined {
  if (type === "d32") {
    // Each is the difference to the one before it.
    const values = columnOf(buffer, "u32", offset, length, stored)?.slice() ?? empty;
    for (let i = 1; i < length; ++i) values[i] = (values[i] ?? 0) + (values[i - 1] ?? 0);
    return values;
  }
  const make = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f64: Float64Array }[type];
  if (make === undefined) return undefined;
  if (offset + stored * make.BYTES_PER_ELEMENT > buffer.byteLength) throw new Error("the fleet's frame has been cut");
  const values = new make(buffer, offset, stored);
  return stored < length ? repeated(values, length) : values;
}

/** Strings by index. Names are nearly always ASCII; then, if they may be cut, all are decoded at once. */
function textReader(offsets: Column, bytes: Column, areCut: boolean): (index: number | undefined) => string {
  const decoder = new TextDecoder();
  const all = areCut ? decoder.decode(bytes) : "";
  const isAscii = areCut && all.length === bytes.length;
  // Zones and labels come once for each node that has them.
  const known: (string | undefined)[] = [];
  return (index) => {
    const begin = index === undefined ? undefined : offsets[index];
    const end = index === undefined ? undefined : offsets[index + 1];
    if (index === undefined || begin === undefined || end === undefined) return "";
    return (known[index] ??= isAscii ? all.slice(begin, end) : decoder.decode(bytes.subarray(begin, end)));
  };
}

/** The bytes of a text in base64. */
export function fromBase64(text: string): ArrayBuffer {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes.buffer;
}
