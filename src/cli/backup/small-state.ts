/**
 * What a hub knows beside its samples: who may do what, silences, events, pipes, runs. All of it is logs of checksummed
 * records, which a reader reads up to their last whole one, so they may be copied while the hub writes.
 */
import { cpSync, existsSync } from "node:fs";
import path from "node:path";
import { makeFolderSync } from "../../base/make-folder.ts";

/** Left out: pending notifications (they would be sent again, days later), sessions, spools and the lake. */
const smallStateFiles = [
  "access/audit.jsonl",
  "access/audit-unprivileged.jsonl",
  // Each mark before its file, which may grow meanwhile: a mark ahead of its file would read as damage.
  "access/shares.state.mark",
  "access/shares.state",
  "access/tokens.state.mark",
  "access/tokens.state",
  "access/users.state.mark",
  "access/users.state",
  "alerts/deliveries.log",
  "alerts/sent.log",
  "alerts/silences.log",
  "events",
  "pipes/pipes.log",
  "runs",
  "snapshots/snapshots.log",
] as const;

/** In a snapshot of the store everything of this kind is in one folder, which the store itself does not know. */
export const smallStateFolder = "state";

/** Returns what was there to copy. */
export function copySmallState(from: string, to: string): string[] {
  const found = smallStateFiles.filter((one) => existsSync(path.join(from, one)));
  for (const one of found) {
    makeFolderSync(path.dirname(path.join(to, one)), { mode: 0o700 });
    cpSync(path.join(from, one), path.join(to, one), { recursive: true, preserveTimestamps: true });
  }
  return found;
}
