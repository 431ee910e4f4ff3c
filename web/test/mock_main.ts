// SPDX-License-Identifier: Apache-2.0
// npm run mock [small|large|hostile|empty|snapshot] [PORT]: the page on a cluster that is made up, for working on it.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeCluster } from "./mock_cluster";
import { MockServer } from "./mock_server";

const dist = join(dirname(fileURLToPath(import.meta.url)), "../dist");
const shape = process.argv[2] ?? "middle";
const nowMs = Date.now();
const shapes: Readonly<Record<string, Parameters<typeof makeCluster>[0]>> = {
  small: { seed: 3, nodes: 5, pods: 34, pending: 12, nowMs },
  middle: { seed: 5, nodes: 180, pods: 2100, pending: 412, nowMs },
  large: { seed: 7, nodes: 5000, pods: 50000, pending: 900, nowMs },
  hostile: { seed: 9, nodes: 24, pods: 260, pending: 60, isHostile: true, nowMs },
  empty: { seed: 1, nodes: 0, pods: 0, pending: 0, nowMs },
  snapshot: { seed: 5, nodes: 180, pods: 2100, pending: 412, nowMs },
};
const server = new MockServer({ cluster: makeCluster(shapes[shape] ?? shapes.middle!), dist, mode: shape === "snapshot" ? "snapshot" : "live" });
console.log(await server.listen(Number(process.argv[3] ?? 8090)));
setInterval(() => server.sampleNow(), 2000);
setInterval(() => server.bind(1), 1500);
