/** Starts the probe that requests one path of a server, `/-/healthy` by default, from a separate process (hub-probe.ts). */
import { fork } from "node:child_process";
import { once } from "node:events";

export interface Probe {
  /** Milliseconds of each response. */
  stop(): Promise<readonly number[]>;
}

export function startProbe(url: string, everyMs = 10, path = "/-/healthy"): Probe {
  const probe = fork(new URL("./hub-probe.ts", import.meta.url), [url + path, String(everyMs)]);
  return {
    stop: async () => {
      probe.send("stop");
      const [waits] = (await once(probe, "message")) as [number[]];
      return waits;
    },
  };
}
