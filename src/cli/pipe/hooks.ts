/** What a pipeline file changes in a stage that is also a command: access to its pipe, and no output to the terminal. */
import type { StreamRules } from "../../pipeline/tags/options.ts";
import type { Pipe } from "../../pipeline/stream/pipe.ts";

export interface StageHooks {
  readonly onPipe?: (pipe: Pipe) => void;
  /** Shows a progress line on stderr; true if absent. */
  readonly progress?: boolean;
  /** A spool folder per stage: two stages may send to the same sink. */
  readonly spoolFolder?: string;
  /** Replaces the rules from flags. */
  readonly rules?: StreamRules;
}
