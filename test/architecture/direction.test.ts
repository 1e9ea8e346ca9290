import { expect, test } from "vitest";

import { violations } from "./direction.ts";
import { readSource, sourceFiles } from "./source-tree.ts";

test("imports in src only point backwards along the flow", () => {
  const files = sourceFiles("src").filter((file) => file.endsWith(".ts"));
  expect(files.length).toBeGreaterThan(20);
  expect(files.flatMap((file) => violations(file, readSource(file)))).toEqual([]);
});

test.for([
  ["src/pipeline/run.ts", `import { open } from "../store/open.ts";`, "later in the flow"],
  ["src/sources/sim/read.ts", `import type { Nv } from "../nvidia/nv.ts";`, "beside both"],
  ["src/model/frame.ts", `import { readFileSync } from "node:fs";`, "no I/O"],
  ["src/model/frame.ts", `import { log } from "../log/log.ts";`, "errors alone"],
  ["src/agent/run.ts", `const later = await import("../hub/hub.ts");`, "later in the flow"],
  ["src/agent/run.ts", `export * from "../../engines/ports.ts";`, "outside src"],
  ["src/extras/run.ts", "", "no folder of the flow"],
])("%s with %s is refused", ([file = "", text = "", reason = ""]) => {
  const found = violations(file, text);
  expect(found).toHaveLength(1);
  expect(found[0]).toContain(reason);
});

test.for([
  ["src/sinks/exporter/page.ts", `import { frame } from "../../model/frame.ts";`],
  [
    "src/sources/list.ts",
    `import { sim } from "./sim/define.ts"; import { nv } from "./nvidia/define.ts";`,
  ],
  ["src/model/frame.ts", `// import { log } from "../log/log.ts";`],
  ["src/model/frame.test.ts", `import { readFileSync } from "node:fs";`],
])("%s with %s is allowed", ([file = "", text = ""]) => {
  expect(violations(file, text)).toEqual([]);
});
