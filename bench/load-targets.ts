/**
 * Thousands of scrape targets on one port with a path each, in a separate worker so that they do not slow the measuring process.
 */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { Worker } from "node:worker_threads";

export const seriesPerTarget = 100;

/** Values change from page to page, as real ones do. */
const exporter = `
  const { parentPort } = require("node:worker_threads");
  let n = 0;
  const server = require("node:http").createServer((request, reply) => {
    n++;
    let page = "";
    for (let at = 0; at < ${seriesPerTarget}; at++)
      page += 'some_metric_name{device="device-' + at + '",kind="kind of it"} ' + (at * 1000 + n) + '\\n';
    reply.setHeader("content-type", "text/plain; version=0.0.4").end(page);
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

export interface Targets {
  /** Writes a prometheus.yml that scrapes `count` targets at this interval. */
  configure(file: string, count: number, intervalSeconds: number): void;
  stop(): Promise<void>;
}

export async function startTargets(): Promise<Targets> {
  const worker = new Worker(exporter, { eval: true });
  const [port] = (await once(worker, "message")) as [number];
  return {
    configure: (file, count, intervalSeconds) => {
      const every = `${intervalSeconds}s`;
      const groups = Array.from({ length: count }, (_, at) => ({
        targets: [`127.0.0.1:${port}`],
        labels: { instance: `machine-${at}:9400`, __param_n: String(at) },
      }));
      writeFileSync(
        file,
        JSON.stringify({
          global: { scrape_interval: every, scrape_timeout: every },
          scrape_configs: [{ job_name: "many", static_configs: groups }],
        }),
      );
    },
    stop: async () => void (await worker.terminate()),
  };
}
