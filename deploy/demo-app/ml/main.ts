// The main program of the simulated model server.

import { createDemoServer, listen } from "../run/http.ts";
import { makeLog } from "../run/log.ts";
import { runProgram } from "../run/program.ts";
import { listenSettings, readSettings } from "../run/settings.ts";
import { startTracing } from "../run/tracing.ts";
import { STANDARD_FLEET } from "./fleet.ts";
import { ModelServer } from "./server.ts";

await runProgram("ml", async () => {
  const settings = readSettings(process.env, (from) => {
    const standard = STANDARD_FLEET;
    const gpus = from.integer("GPUS", standard.gpus, { least: 2, most: 1024 });
    return {
      ...listenSettings(from, 8002),
      modelName: from.text("MODEL_NAME", "simulated-65b"),
      gpus,
      slots: from.integer("SLOTS", standard.slots, { least: 1, most: 1024 }),
      packTo: from.integer("PACK_TO", standard.packTo, { least: 1, most: 1024 }),
      batchGpus: from.integer("BATCH_GPUS", Math.floor(gpus / 2), { most: gpus - 1 }),
      kvTokens: from.integer("KV_TOKENS", standard.kvTokens, { least: 1_024 }),
      maxModelTokens: from.integer("MAX_MODEL_TOKENS", 4_096, { least: 64, most: 131_072 }),
      unloadSeconds: from.number("UNLOAD_SECONDS", standard.unloadSeconds),
      slowdown: from.number("SLOWDOWN", 1, { least: 0.01, most: 1000 }),
      errorRatio: from.number("ERROR_RATIO", 0, { most: 1 }),
    };
  });
  if (settings.maxModelTokens > settings.kvTokens)
    throw new Error("MAX_MODEL_TOKENS must not be more than KV_TOKENS");
  const log = makeLog("ml", { level: settings.logLevel });
  const tracing = startTracing("ml", settings.tracesUrl);
  // A monotonic clock: setting the system clock must not stop or repeat work in progress.
  const nowMs = (): number => performance.timeOrigin + performance.now();
  const model = new ModelServer(settings, { nowMs, random: Math.random });
  const server = { ...settings, registry: model.registry, log };
  const app = createDemoServer(server);
  model.routes(app, tracing.tracer);
  model.start();
  log.info("this model server is simulated", { model: settings.modelName, gpus: settings.gpus });
  await listen(app, server);
  return {
    log,
    stop: async () => {
      await app.close();
      model.stop();
      await tracing.stop();
    },
  };
});
