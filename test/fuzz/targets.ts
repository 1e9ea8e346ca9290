// The one list of what the fuzzer feeds: every function that takes bytes or text from outside stands in one of these groups.
// test/fuzz/inventory.test.ts fails where a parser stands in none.

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
