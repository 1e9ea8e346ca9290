// Chaos: outages of systems around a hub: Kafka with the pipes on both sides of it, and a remote store.

import { afterAll, beforeAll, test } from "vitest";

import { startKafka } from "../../engines/kafka.ts";
import { orSkip } from "../../engines/cache.ts";
import { ensureBuild } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { startVictoriaMetrics } from "../../engines/victoria-metrics.ts";
import { Chaos, rounds } from "../chaos/counts.ts";
import { runStoreOutage } from "../chaos/outward.ts";
import { pipesUnderFire } from "../chaos/pipes.ts";

const chaos = new Chaos("Kafka, pipes and a store elsewhere");
const careful = { retry: 0, timeout: 600_000 };
beforeAll(ensureBuild, 300_000);
afterAll(() => chaos.close());

test(
  "Kafka and the pipes around it are killed, and every row is at the hub once",
  careful,
  async (context) => {
    const broker = await orSkip(
      context,
      startKafka({ settings: { "group.min.session.timeout.ms": "1000" } }),
    );
    try {
      await pipesUnderFire(chaos, { rows: 8_000, kills: rounds(3), broker });
    } finally {
      await broker.stop();
    }
  },
);

test("a store elsewhere that is away has everything when it is back", careful, async (context) => {
  const program = toolOrSkip(context, "victoria-metrics");
  const store = await startVictoriaMetrics(program, ["-dedup.minScrapeInterval=1ms"]);
  try {
    await runStoreOutage(chaos, store, rounds(1));
  } finally {
    await store.stop();
  }
});
