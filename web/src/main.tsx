// SPDX-License-Identifier: Apache-2.0
// Where the page begins.
import { render } from "preact";
import { App } from "./app";
import { start } from "./live";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/views.css";

const root = document.getElementById("app");
if (root !== null) {
  render(<App />, root);
  void start();
}
