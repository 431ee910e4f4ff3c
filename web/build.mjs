// SPDX-License-Identifier: Apache-2.0
// Builds the page into dist/ (index.html, app.js, app.css, icon.svg), or with the argument `test` its tests into dist-test/
// (`test FOLDER`: those of that folder of test/ alone).
// Fails where the page has become too large to embed.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const gzipBytesMax = 300_000;

/** The page: one script, one style sheet, one document. */
async function buildPage() {
  const out = join(here, "dist");
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out);
  await build({
    entryPoints: { app: join(here, "src/main.tsx") },
    outdir: out,
    bundle: true,
    minify: true,
    format: "esm",
    target: ["es2022"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    banner: { js: "// SPDX-License-Identifier: Apache-2.0", css: "/* SPDX-License-Identifier: Apache-2.0 */" },
    logLevel: "warning",
  });
  for (const name of ["index.html", "icon.svg"]) copyFileSync(join(here, "src", name), join(out, name));
  let sum = 0;
  for (const name of readdirSync(out)) {
    const bytes = gzipSync(readFileSync(join(out, name)), { level: 9 }).length;
    sum += bytes;
    console.log(`dist/${name}: ${(bytes / 1000).toFixed(1)} kB compressed`);
  }
  if (sum > gzipBytesMax) throw new Error(`the page has ${sum} bytes compressed; at most ${gzipBytesMax} are embedded`);
}

/** Tests and the mock server, each a program for Node. `only`: those of one folder, beside what is there. */
async function buildTests(only) {
  const out = join(here, "dist-test");
  rmSync(only === undefined ? out : join(out, only), { recursive: true, force: true });
  const named = (folder) =>
    readdirSync(join(here, folder))
      .filter((name) => name.endsWith(".test.ts"))
      .map((name) => join(here, folder, name));
  const common = {
    bundle: true,
    platform: "node",
    format: "esm",
    target: ["node18"],
    packages: "external",
    jsx: "automatic",
    jsxImportSource: "preact",
    sourcemap: "inline",
    logLevel: "warning",
  };
  if (only === undefined) await build({ ...common, entryPoints: named("test"), outdir: join(out, "unit") });
  for (const folder of only === undefined ? ["browser", "real", "kube"] : [only]) {
    await build({ ...common, entryPoints: named(`test/${folder}`), outdir: join(out, folder) });
  }
  if (only !== undefined) return;
  await build({ ...common, entryPoints: [join(here, "test/mock_main.ts")], outdir: out });
}

await (process.argv[2] === "test" ? buildTests(process.argv[3]) : buildPage());
