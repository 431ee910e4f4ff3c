// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { EventParser, keepStream, retryAfterMs } from "../src/api/event_stream";

const text = ": alive\n\nid: 7-1-2\nevent: fleet\ndata: {\"a\":1}\n\nevent: numbers\r\ndata: x\r\ndata: y\r\n\r\n";

test("events are the same wherever the text is cut", () => {
  const whole = new EventParser().feed(text);
  assert.deepEqual(whole, [
    { id: "7-1-2", name: "fleet", data: '{"a":1}' },
    { id: "7-1-2", name: "numbers", data: "x\ny" },
  ]);
  for (let cut = 0; cut <= text.length; ++cut) {
    const parser = new EventParser();
    assert.deepEqual([...parser.feed(text.slice(0, cut)), ...parser.feed(text.slice(cut))], whole, `cut at ${cut}`);
  }
});

test("an event without data is none, and one that has not ended waits", () => {
  assert.deepEqual(new EventParser().feed("event: hello\n\n"), []);
  assert.deepEqual(new EventParser().feed("data: x\n"), []);
});

test("tries come less often, ten seconds apart at most", () => {
  assert.deepEqual([0, 1, 2, 9, 50].map(retryAfterMs), [500, 1000, 2000, 10_000, 10_000]);
});

test("a connection that ends is opened again behind its last event", async () => {
  const waits: number[] = [];
  const asked: string[] = [];
  const states: string[] = [];
  const heard: string[] = [];
  const answers = ["id: 7-1-0\ndata: a\n\n", "id: 7-2-0\ndata: b\n\n"];
  let isOver: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (isOver = resolve));
  const end = keepStream({
    first: "7-0-0",
    open: (last) => {
      asked.push(last);
      const answer = answers.shift();
      if (answer === undefined) {
        isOver();
        return new Promise(() => undefined);
      }
      return Promise.resolve(new Response(answer));
    },
    onEvent: (event) => heard.push(event.data),
    onState: (state) => states.push(state),
    later: (run, ms) => {
      if (ms > 20_000) return () => undefined;
      waits.push(ms);
      setImmediate(run);
      return () => undefined;
    },
  });
  await over;
  end();
  assert.deepEqual(asked, ["7-0-0", "7-1-0", "7-2-0"]);
  assert.deepEqual(heard, ["a", "b"]);
  assert.deepEqual(waits, [500, 500], "a connection that was there begins the waits anew");
  assert.deepEqual(states, ["connecting", "live", "lost", "live", "lost"]);
});

test("a server that is silent for too long is taken for lost", async () => {
  let passTime: () => void = () => undefined;
  const states: string[] = [];
  await new Promise<void>((resolve) => {
    const end = keepStream({
      silentMsMax: 45_000,
      open: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new DOMException("ended", "AbortError")));
          setImmediate(() => passTime());
        }),
      onEvent: () => undefined,
      onState: (state) => {
        states.push(state);
        if (state === "lost") {
          end();
          resolve();
        }
      },
      later: (run, ms) => {
        if (ms === 45_000) passTime = run;
        return () => undefined;
      },
    });
  });
  assert.deepEqual(states, ["connecting", "lost"]);
});

test("a refusal ends the tries", async () => {
  let opened = 0;
  const states: string[] = [];
  await new Promise<void>((resolve) => {
    keepStream({
      open: () => {
        opened += 1;
        return Promise.resolve(new Response("", { status: 401 }));
      },
      onEvent: () => undefined,
      onState: (state) => {
        states.push(state);
        if (state === "refused") resolve();
      },
    });
  });
  assert.equal(opened, 1);
  assert.deepEqual(states, ["connecting", "refused"]);
});
