/** `/api/alerts/channels`: the fields of each notification channel, for forms. Exposes nothing of the configuration. */
import type { FastifyInstance } from "fastify";
import type { ChannelForm } from "../../alerting/channels/form.ts";
import { noStore } from "../reply.ts";

export function addChannels(app: FastifyInstance): void {
  let forms: readonly ChannelForm[] | undefined;
  app.get("/api/alerts/channels", async (_request, reply) => {
    forms ??= await readForms();
    return noStore(reply).send({ channels: forms });
  });
}

/** Loaded on demand: the schemas of all channels take 8 ms of every start. */
async function readForms(): Promise<readonly ChannelForm[]> {
  const [{ formOf }, { channels }] = await Promise.all([
    import("../../alerting/channels/form.ts"),
    import("../../alerting/channels/list.ts"),
  ]);
  return channels.map(formOf);
}
