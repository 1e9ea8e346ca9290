/** `/api/alerts/channels`: the fields of each notification channel, for forms. Exposes nothing of the configuration. */
import type { FastifyInstance } from "fastify";
import { type ChannelForm, formOf } from "../../alerting/channels/form.ts";
import { channels } from "../../alerting/channels/list.ts";
import { noStore } from "../reply.ts";

export function addChannels(app: FastifyInstance): void {
  let forms: readonly ChannelForm[] | undefined;
  app.get("/api/alerts/channels", async (_request, reply) => {
    forms ??= channels.map(formOf);
    return noStore(reply).send({ channels: forms });
  });
}
