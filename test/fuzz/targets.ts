// The list of all fuzz targets: every function that takes external bytes or text is in one of these groups.
// test/fuzz/inventory.test.ts fails for a parser in none of them.

import type { FuzzTarget } from "./contract.ts";
import { targets as config } from "./targets/config.ts";
import { targets as files } from "./targets/files.ts";
import { targets as hardware } from "./targets/hardware.ts";
import { targets as wire } from "./targets/wire.ts";

export const groups: Readonly<Record<string, readonly FuzzTarget[]>> = {
  wire,
  hardware,
  config,
  files,
};
