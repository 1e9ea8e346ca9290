/** What a pipeline file wants of a stage that also runs alone: to see its pipe, and to keep the terminal to itself. */
import type { StreamRules } from "../../pipeline/tags/options.ts";
import type { Pipe } from "../../pipeline/stream/pipe.ts";

export interface StageHooks {
  readonly onPipe?: (pipe: Pipe) => void;
  /** A line of progress on stderr; true where absent. */
  readonly progress?: boolean;
  /** Stages have spools of their own: two may send to the same place. */
  readonly spoolFolder?: string;
  /** Instead of what flags say. */
  readonly rules?: StreamRules;
}
