// SPDX-License-Identifier: Apache-2.0
// A value that views look at. Whoever changes it replaces it whole; listeners are called once each time.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export class Store<T> {
  private readonly listeners = new Set<() => void>();

  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set(next: T): void {
    if (Object.is(next, this.current)) return;
    this.current = next;
    for (const listener of [...this.listeners]) listener();
  }

  update(change: (value: T) => T): void {
    this.set(change(this.current));
  }

  /** Calls `listener` after each change, until the function that it returns is called. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/** The part of a store that a component shows; the component is drawn again when that part is another. */
export function useStore<T, S = T>(store: Store<T>, select: (value: T) => S = (value) => value as unknown as S): S {
  const [, redraw] = useState(0);
  const selected = select(store.value);
  const drawn = useRef({ select, selected });
  drawn.current = { select, selected };
  useLayoutEffect(() => {
    const look = (): void => {
      if (!Object.is(drawn.current.select(store.value), drawn.current.selected)) redraw((count) => count + 1);
    };
    look();
    return store.listen(look);
  }, [store]);
  return selected;
}
