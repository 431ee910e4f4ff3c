// SPDX-License-Identifier: Apache-2.0
// Where the page begins.
import { render } from "preact";
import { App, ReportFile } from "./app";
import { start } from "./live";
import { takeReport } from "./views/reports";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/views.css";

const root = document.getElementById("app");
// A file that `berth shadow --page` has written has its report in it, and no server behind it.
const report = document.getElementById("report");
if (root !== null && report !== null) {
  render(<ReportFile problem={takeReport(report.textContent ?? "")} />, root);
} else if (root !== null) {
  render(<App />, root);
  void start();
}
