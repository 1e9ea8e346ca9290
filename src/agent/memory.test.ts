import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { silentLog } from "../base/log.ts";
import { FakeClock } from "../../test/fixtures/fake-clock.ts";
import { FaultSource } from "../sources/fault/define.ts";
import { Collector } from "./collector.ts";

test("broken sources leave memory flat over hours of ticks", async () => {
  setFlagsFromString("--expose_gc");
  const collect = runInNewContext("gc") as () => void;
  const clock = new FakeClock(0);
  const sources = (["throw", "hang", "garbage"] as const).map((kind) => ({
    name: kind,
    source: new FaultSource(kind),
  }));
  const collector = new Collector({
    sources,
    intervalMs: 1_000,
    hostName: "box",
    procfs: "/proc",
    version: "1",
    clock,
    log: silentLog,
  });
  collector.start();
  const hour = async (): Promise<number> => {
    await clock.advance(3_600_000);
    collector.page(undefined);
    collect();
    return process.memoryUsage().heapUsed;
  };
  await hour();
  const before = await hour();
  for (let count = 0; count < 4; count++) await hour();
  expect((await hour()) - before).toBeLessThan(512 * 1024);
  const stopping = collector.stop();
  await clock.advance(60_000);
  await stopping;
});
