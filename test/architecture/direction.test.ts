import { readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

import { repository } from "../../engines/program.ts";
import { LAYERS, violations } from "./direction.ts";
import { readSource, sourceFiles } from "./source-tree.ts";

test("src has exactly the folders of the layers, at most twenty", () => {
  const folders = readdirSync(path.join(repository, "src")).sort();
  expect(folders).toEqual(LAYERS.flat().sort());
  expect(folders.length).toBeLessThanOrEqual(20);
});

test("imports in src only point to the same layer or below", () => {
  const files = sourceFiles("src").filter((file) => file.endsWith(".ts"));
  expect(files.length).toBeGreaterThan(20);
  expect(files.flatMap((file) => violations(file, readSource(file)))).toEqual([]);
});

test.for([
  ["src/pipeline/run.ts", `import { open } from "../storage/open.ts";`, "in a layer above"],
  ["src/sources/sim/read.ts", `import type { Nv } from "../nvidia/nv.ts";`, "beside both"],
  ["src/alerting/channels/email/send.ts", `import { a } from "../slack/a.ts";`, "beside both"],
  ["src/model/frame.ts", `import { readFileSync } from "node:fs";`, "no I/O"],
  ["src/model/frame.ts", `import { parse } from "../config/yaml.ts";`, "base only"],
  ["src/view/live/row.ts", `const later = await import("../../hub/hub.ts");`, "in a layer above"],
  ["src/agent/run.ts", `export * from "../../engines/ports.ts";`, "outside src"],
  ["src/extras/run.ts", "", "no folder of LAYERS"],
])("%s with %s is refused", ([file = "", text = "", reason = ""]) => {
  const found = violations(file, text);
  expect(found).toHaveLength(1);
  expect(found[0]).toContain(reason);
});

test.for([
  ["src/sinks/exporter/page.ts", `import { frame } from "../../model/frame.ts";`],
  ["src/query/eval.ts", `import type { Selection } from "../storage/select.ts";`],
  [
    "src/sources/list.ts",
    `import { sim } from "./sim/define.ts"; import { nv } from "./nvidia/define.ts";`,
  ],
  ["src/model/frame.ts", `// import { log } from "../config/log.ts";`],
  ["src/model/frame.test.ts", `import { readFileSync } from "node:fs";`],
])("%s with %s is allowed", ([file = "", text = ""]) => {
  expect(violations(file, text)).toEqual([]);
});
