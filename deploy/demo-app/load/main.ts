// The main program of the load generator: runs until it is stopped and is controlled over HTTP, or with `--duration 30s` runs
// once and prints its counts.

import { quantileOf } from "../run/buckets.ts";
import { HttpError, listen, createDemoServer } from "../run/http.ts";
import { makeLog } from "../run/log.ts";
import { runProgram } from "../run/program.ts";
import { SettingsError, listenSettings, readSettings } from "../run/settings.ts";
import { durationBuckets, loadMetrics, statusCounts, tellLoad } from "./metrics.ts";
import { OpenLoop } from "./open-loop.ts";
import { STANDARD_PATTERN } from "./pattern.ts";
import { standardMix } from "./requests.ts";

const USAGE =
  "usage: load [--duration 30s [--json]]; everything else is set by environment variables";

interface Once {
  readonly seconds: number | undefined;
  readonly asJson: boolean;
}

function readArguments(args: readonly string[]): Once {
  let seconds: number | undefined;
  let asJson = false;
  const rest = [...args];
  for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
    if (next === "--json") asJson = true;
    else if (next === "--duration") {
      const [, amount, unit] = /^(\d+(?:\.\d+)?)(s|m)?$/.exec(rest.shift() ?? "") ?? [];
      if (amount === undefined) throw new SettingsError(`--duration takes 30s or 5m; ${USAGE}`);
      seconds = Number(amount) * (unit === "m" ? 60 : 1);
    } else throw new SettingsError(`${next} is not known; ${USAGE}`);
  }
  return { seconds, asJson };
}

await runProgram("load", async () => {
  const once = readArguments(process.argv.slice(2));
  const settings = readSettings(process.env, (from) => {
    const standard = STANDARD_PATTERN;
    const daySeconds = from.number("DAY_SECONDS", standard.daySeconds, { least: 10 });
    const mix = standardMix(daySeconds);
    return {
      ...listenSettings(from, 8003),
      url: from.url("TARGET_URL", "http://127.0.0.1:8080"),
      pattern: {
        rate: from.number("RATE", standard.rate, { most: 10_000 }),
        daySeconds,
        swing: from.number("SWING", standard.swing, { most: 1 }),
        burstsPerDay: from.number("BURSTS_PER_DAY", standard.burstsPerDay, { most: 1_000 }),
        burstFactor: from.number("BURST_FACTOR", standard.burstFactor, { least: 1, most: 100 }),
        burstShare: from.number("BURST_SHARE", standard.burstShare, { most: 1 }),
      },
      mix: {
        slow: from.number("SLOW_RATIO", mix.slow, { most: 1 }),
        bad: from.number("BAD_RATIO", mix.bad, { most: 1 }),
        read: from.number("READ_RATIO", mix.read, { most: 1 }),
        batch: from.number("BATCH_RATIO", mix.batch, { most: 1 }),
        batchSeconds: from.number("BATCH_SECONDS", mix.batchSeconds, { least: 1, most: 3_600 }),
      },
      maxInFlight: from.integer("MAX_IN_FLIGHT", 500, { least: 1 }),
      timeoutSeconds: from.number("TIMEOUT_SECONDS", 60, { least: 1 }),
    };
  });
  const log = makeLog("load", { level: once.seconds === undefined ? settings.logLevel : "error" });
  const metrics = loadMetrics();
  // The simulated day begins in the morning at the start, so that the first minutes have load.
  const fromSeconds = performance.now() / 1000 - settings.pattern.daySeconds / 4;
  const nowSeconds = (): number => performance.now() / 1000 - fromSeconds;
  const loop = new OpenLoop({ ...settings, metrics, log, random: Math.random, nowSeconds });
  tellLoad(metrics, { rate: () => loop.rate, inFlight: () => loop.inFlight });

  if (once.seconds !== undefined) {
    loop.start();
    const { seconds } = once;
    setTimeout(() => void finish(seconds, once.asJson), seconds * 1000);
    return { log, stop: () => loop.stop() };
  }
  const server = { ...settings, registry: metrics.registry, log };
  const app = createDemoServer(server);
  app.post<{ Body: { rate?: unknown } | null }>("/rate", (request) => {
    const rate = request.body?.rate;
    if (typeof rate !== "number" || !(rate >= 0 && rate <= 10_000))
      throw new HttpError(400, "invalid_request", "rate must be a number from 0 to 10000");
    loop.setRate(rate);
    return { rate };
  });
  app.post("/pause", () => {
    loop.pause();
    return { paused: true };
  });
  app.post("/resume", () => {
    loop.resume();
    return { paused: false };
  });
  await listen(app, server);
  loop.start();
  return {
    log,
    stop: async () => {
      await loop.stop();
      await app.close();
    },
  };

  async function finish(seconds: number, asJson: boolean): Promise<void> {
    await loop.stop();
    const buckets = await durationBuckets(metrics);
    const [arrivals, dropped] = await Promise.all(
      [metrics.arrivals, metrics.dropped].map(async (one) => (await one.get()).values[0]?.value),
    );
    const at = (quantile: number): number | null => quantileOf(buckets, quantile) ?? null;
    const summary = {
      seconds,
      arrivals: arrivals ?? 0,
      dropped: dropped ?? 0,
      arrivalsPerSecond: (arrivals ?? 0) / seconds,
      statuses: await statusCounts(metrics),
      p50Seconds: at(0.5),
      p95Seconds: at(0.95),
      p99Seconds: at(0.99),
    };
    const lines = Object.entries(summary).map(
      ([name, value]) => `${name}: ${JSON.stringify(value)}`,
    );
    process.stdout.write(`${asJson ? JSON.stringify(summary) : lines.join("\n")}\n`);
    process.exit(0);
  }
});
