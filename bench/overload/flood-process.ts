/** A flood as a process of its own, so that what it costs to send is not measured as the hub's. */
import { scenarios } from "./scenarios.ts";

export interface FloodSpec {
  readonly scenario: string;
  readonly port: number;
  readonly tokens: Readonly<Record<"push" | "read", string>>;
}

let isOver = false;
const statuses: Record<string, number> = {};

/** Over the channel: everybody on the machine can read the arguments of a process, and there are tokens in it. */
process.once("message", (spec: FloodSpec) => {
  const scenario = scenarios[spec.scenario];
  if (scenario === undefined) throw new Error(`BUG: there is no scenario ${spec.scenario}`);
  process.once("message", () => {
    isOver = true;
    process.send?.(statuses);
    // Whatever is still under way is given up.
    setTimeout(() => process.exit(), 200);
  });
  process.send?.("ready");
  void scenario.run({
    ...spec,
    isOver: () => isOver,
    answered: (status) => (statuses[status] = (statuses[status] ?? 0) + 1),
  });
});
