/** A flood in a separate process, so that the cost of sending is not measured as the hub's. */
import { scenarios } from "./scenarios.ts";

export interface FloodSpec {
  readonly scenario: string;
  readonly port: number;
  readonly tokens: Readonly<Record<"push" | "read", string>>;
}

let isOver = false;
const statuses: Record<string, number> = {};

/** Received over the channel: every local user can read a process's arguments, and it contains tokens. */
process.once("message", (spec: FloodSpec) => {
  const scenario = scenarios[spec.scenario];
  if (scenario === undefined) throw new Error(`BUG: there is no scenario ${spec.scenario}`);
  process.once("message", () => {
    isOver = true;
    process.send?.(statuses);
    // Requests still in flight are aborted.
    setTimeout(() => process.exit(), 200);
  });
  process.send?.("ready");
  void scenario.run({
    ...spec,
    isOver: () => isOver,
    answered: (status) => (statuses[status] = (statuses[status] ?? 0) + 1),
  });
});
