// SPDX-License-Identifier: Apache-2.0
// Server-Sent Events over fetch: EventSource cannot send a token. The parser is a pure state machine; the connection tries
// again by itself, from the last event that has arrived, so that no event is delivered twice.

export interface StreamEvent {
  readonly id: string;
  readonly name: string;
  readonly data: string;
}

/** Longest event that is read; a longer one ends the connection. */
export const eventCharsMax = 64 << 20;

/** Takes text as it arrives, whatever its cuts, and gives whole events. */
export class EventParser {
  private rest = "";
  private name = "";
  private data: string[] = [];
  private id = "";

  feed(text: string): StreamEvent[] {
    this.rest += text;
    if (this.rest.length > eventCharsMax) throw new Error("an event of the server is too long");
    const events: StreamEvent[] = [];
    let start = 0;
    for (;;) {
      const end = this.rest.indexOf("\n", start);
      if (end < 0) break;
      const line = this.rest.slice(start, this.rest[end - 1] === "\r" && end > start ? end - 1 : end);
      start = end + 1;
      const event = this.take(line);
      if (event) events.push(event);
    }
    this.rest = this.rest.slice(start);
    return events;
  }

  private take(line: string): StreamEvent | undefined {
    if (line === "") {
      const event = this.data.length > 0 ? { id: this.id, name: this.name || "message", data: this.data.join("\n") } : undefined;
      this.name = "";
      this.data = [];
      return event;
    }
    if (line.startsWith(":")) return undefined;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "event") this.name = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id" && !value.includes("\0")) this.id = value;
    return undefined;
  }
}

export type ConnectionState = "connecting" | "live" | "lost" | "refused";

/** Milliseconds until the next try, after so many that failed: 0.5 s, doubled up to 10 s. */
export function retryAfterMs(failures: number): number {
  return Math.min(10_000, 500 * 2 ** Math.min(failures, 10));
}

export interface StreamOptions {
  /** The event behind which the first connection begins; "" for none. */
  readonly first?: string;
  /** Opens the stream behind the event of that id ("" for none). */
  readonly open: (lastId: string, signal: AbortSignal) => Promise<Response>;
  readonly onEvent: (event: StreamEvent) => void;
  readonly onState: (state: ConnectionState, problem: string) => void;
  /** Any sign of life; a server that is silent for longer is taken for lost. */
  readonly silentMsMax?: number;
  /** Runs something so many milliseconds later, unless the function that it returns is called first. */
  readonly later?: (run: () => void, ms: number) => () => void;
}

function byTimer(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/** Keeps the stream open until the function that it returns is called. */
export function keepStream(options: StreamOptions): () => void {
  const silentMsMax = options.silentMsMax ?? 45_000;
  let failures = 0;
  let lastId = options.first ?? "";
  let isEnded = false;
  const later = options.later ?? byTimer;
  let endWait = (): void => undefined;
  let abort = new AbortController();

  const run = async (): Promise<void> => {
    abort = new AbortController();
    const mine = abort;
    let endSilence = (): void => undefined;
    const heard = (): void => {
      endSilence();
      endSilence = later(() => mine.abort(), silentMsMax);
    };
    let problem = "The connection to the server was lost.";
    try {
      heard();
      const response = await options.open(lastId, mine.signal);
      if (response.status === 401 || response.status === 403) {
        isEnded = true;
        options.onState("refused", "");
        return;
      }
      if (!response.ok || response.body === null) throw new Error(`the server answered ${response.status}`);
      failures = 0;
      options.onState("live", "");
      const parser = new EventParser();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        heard();
        for (const event of parser.feed(value)) {
          if (event.id !== "") lastId = event.id;
          options.onEvent(event);
        }
      }
    } catch (error) {
      if (error instanceof Error && error.name !== "AbortError") problem = error.message;
    } finally {
      endSilence();
    }
    if (isEnded) return;
    options.onState("lost", problem);
    endWait = later(() => {
      if (!isEnded) void run();
    }, retryAfterMs(failures));
    failures += 1;
  };

  options.onState("connecting", "");
  void run();
  return () => {
    isEnded = true;
    endWait();
    abort.abort();
  };
}
