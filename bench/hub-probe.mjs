// Asks a server, from a thread of its own, for something that costs nothing, over and over: how long that waits is how
// long the server is held up. Ends with a list of milliseconds when told to.

import http from "node:http";
import { parentPort, workerData } from "node:worker_threads";

const everyMs = 10;
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
/** @type {number[]} */
const waits = [];
let stopped = false;
parentPort?.once("message", () => (stopped = true));

function ask() {
  const began = performance.now();
  const next = () => {
    waits.push(performance.now() - began);
    if (!stopped) setTimeout(ask, everyMs);
    else {
      agent.destroy();
      parentPort?.postMessage(waits);
    }
  };
  http
    .get(`${workerData}/-/healthy`, { agent }, (response) => response.resume().on("end", next))
    .on("error", next);
}

ask();
