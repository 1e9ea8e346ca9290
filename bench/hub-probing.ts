/** Starts the probe that asks a server for `/-/healthy` from a process of its own (hub-probe.ts). */
import { fork } from "node:child_process";
import { once } from "node:events";

export interface Probe {
  /** Milliseconds that each answer took. */
  stop(): Promise<readonly number[]>;
}

export function startProbe(url: string, everyMs = 10): Probe {
  const probe = fork(new URL("./hub-probe.ts", import.meta.url), [url, String(everyMs)]);
  return {
    stop: async () => {
      probe.send("stop");
      const [waits] = (await once(probe, "message")) as [number[]];
      return waits;
    },
  };
}
