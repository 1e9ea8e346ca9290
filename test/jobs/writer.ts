/**
 * The child of the crash test: feeds the ledger and says on standard output up to which delivery it is acknowledged. It is
 * killed at any moment. `writer DIR FIRST JOBS`
 */
import { writeSync } from "node:fs";
import { silentLog } from "../../src/base/log.ts";
import { HubJobs } from "../../src/hub/jobs/jobs.ts";
import { deliveriesOf, deliveryAt } from "./deliveries.ts";

const [dataDir = "", first = "0", jobs = "0"] = process.argv.slice(2);
const ledger = new HubJobs({
  dataDir,
  retentionMs: 1e15,
  log: silentLog,
  nowMs: Date.now,
  trustedNowMs: Date.now,
  // Small, so that kills fall into checkpoints too.
  checkpointBytes: 100_000,
});
for (let at = Number(first); at < deliveriesOf(Number(jobs)); at++) {
  ledger.take(deliveryAt(at, Number(jobs)));
  if (at % 10 !== 0) continue;
  writeSync(1, `${at}\n`);
  // So that the parent can keep up.
  await new Promise((resolve) => setImmediate(resolve));
}
writeSync(1, "done\n");
