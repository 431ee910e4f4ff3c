// SPDX-License-Identifier: Apache-2.0
// In the place of the page while the server refuses to answer: asks for a token, or says what is missing.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { hasToken, setToken } from "../api/client";
import { start } from "../live";
import type { Barrier } from "../model";
import { Problem } from "../parts/basics";
import { Mark } from "../parts/icons";

export function BarrierScreen({ barrier }: { barrier: Barrier }): JSX.Element {
  const [text, setText] = useState("");
  const [isTrying, setTrying] = useState(false);
  const isAgain = hasToken();
  return (
    <main class="barrier">
      <div class="barrier-box">
        <Mark />
        {barrier.kind === "forbidden" && !isAgain ? (
          <>
            <h1>This browser may not read the cluster</h1>
            <Problem>{barrier.sentence}</Problem>
            <p>
              A page of <code>berth ui</code> opens with the link that the command prints; the link is good once. Start the command again for another link. On
              a berth that runs in a cluster, the token below needs the right to <code>get</code> the non-resource URL <code>/ui/api/*</code>.
            </p>
          </>
        ) : (
          <>
            <h1>{isAgain ? "The token is not accepted any longer" : "A token is needed"}</h1>
            <p>{barrier.sentence}</p>
          </>
        )}
        <form
          onSubmit={(event) => {
            event.preventDefault();
            setToken(text);
            setTrying(true);
            void start().then(() => setTrying(false));
          }}
        >
          <label class="field">
            <span class="field-label">Bearer token</span>
            <input class="mono" type="password" autocomplete="off" required value={text} onInput={(event) => setText(event.currentTarget.value)} />
            <span class="field-hint">
              As from <code>kubectl create token</code>. It stays in this page's memory and is forgotten with it.
            </span>
          </label>
          <button type="submit" class="button button-primary" disabled={isTrying}>
            Open
          </button>
        </form>
      </div>
    </main>
  );
}
