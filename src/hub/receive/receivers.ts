/** Registers all receivers, with the ingestion path they share. */
import type { FastifyInstance } from "fastify";
import type { ApiContext } from "../api/context.ts";
import { addAgentPush } from "./agent-push.ts";
import { defaultIngestWorkers } from "./decode/body-decoder.ts";
import { Intake } from "./intake.ts";
import { addInflux } from "./influx.ts";
import { addOtlp } from "./otlp.ts";
import { addJsonPush } from "./push.ts";
import { addRemoteWrite } from "./remote-write.ts";

export async function addReceivers(app: FastifyInstance, context: ApiContext): Promise<void> {
  const { writer, metadata, received, log, nowMs } = context;
  const intake = new Intake({
    writer,
    metadata,
    exemplars: context.exemplars,
    received,
    log,
    nowMs,
    ingest: context.ingest,
    store: context.store,
    workers: context.ingestWorkers ?? defaultIngestWorkers(undefined, context.budgets?.limit.bytes),
    onStored: context.pushed && ((batch) => context.pushed?.take(batch)),
    admission: context.budgets && { bytes: context.budgets.bodiesBytes },
  });
  app.addHook("onClose", () => intake.decoder.close());
  await addRemoteWrite(app, intake, log);
  await addOtlp(app, intake, log);
  await addInflux(app, intake, log);
  await addJsonPush(app, intake, log);
  if (context.agents !== undefined) await addAgentPush(app, context.agents, intake, log);
}
