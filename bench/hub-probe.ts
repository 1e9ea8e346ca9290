// Requests a cheap path of a server over and over from a separate process: the response time shows how long the server is
// blocked. Forked; sends its list of milliseconds when told to stop.

import { Agent, get } from "node:http";

const url = process.argv[2] ?? "";
const everyMs = Number(process.argv[3]);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const waits: number[] = [];
let stopped = false;
process.once("message", () => (stopped = true));

function ask(): void {
  const began = performance.now();
  const next = (): void => {
    waits.push(performance.now() - began);
    if (!stopped) setTimeout(ask, everyMs);
    else {
      agent.destroy();
      process.send?.(waits, () => process.disconnect());
    }
  };
  get(url, { agent }, (response) => response.resume().on("end", next)).on("error", next);
}

ask();
