/** Opens the hub's agent registry with the records of the data folder. */
import path from "node:path";
import { StateMap } from "../../base/state/state-map.ts";
import { Agents, type AgentsOptions } from "./agents.ts";
import { parseRecord } from "./record.ts";

export function openAgents(options: AgentsOptions & { readonly dataDir: string }): Agents {
  const file = path.join(options.dataDir, "agents", "agents.state");
  const store = new StateMap(file, { log: options.log, parse: parseRecord });
  return new Agents({ ...options, store });
}
