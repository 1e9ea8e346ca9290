// What can go wrong with a file of the hub: shared by the lab, which draws rules, and by the module in the hub that applies them.

export type Operation = "open" | "read" | "write" | "sync" | "rename" | "remove";

/**
 * `kill` before the operation, `kill after` it, `kill, torn` in the middle of a write. `EIO, torn` and `ENOSPC, torn`: half of the
 * bytes are written and the write fails. `short`: half of them are written and the write says so.
 */
export type Outcome =
  | "kill"
  | "kill after"
  | "kill, torn"
  | "EIO"
  | "EIO, torn"
  | "ENOSPC"
  | "ENOSPC, torn"
  | "short";

export interface FaultRule {
  readonly operations: readonly Operation[];
  /** A regular expression for the file's name in the data folder. */
  readonly file: string;
  /** So many operations proceed first. */
  readonly after: number;
  /** So many then have the outcome; all where absent. */
  readonly times?: number;
  /** For so long after the first; for ever where absent. */
  readonly forMs?: number;
  readonly outcome: Outcome;
}
