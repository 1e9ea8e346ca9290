/** Every source there is. Adding one is a folder and a line here. */
import { fault } from "./fault/define.ts";
import { sim } from "./sim/define.ts";
import type { SourceDefinition } from "./source.ts";

export const sources: readonly SourceDefinition[] = [sim, fault];
