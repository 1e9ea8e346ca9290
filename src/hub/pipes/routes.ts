/**
 * `/api/pipes`: the hub's pipes and replays, listed for every reader, changed by administrators only. A pipe reads and writes
 * with the permissions of the hub's own account, so a caller without a token or login may change nothing, not even on loopback,
 * and a request from the network may not refer to the hub's files or environment for a secret.
 */
import type { FastifyInstance } from "fastify";
import { checkValue } from "../../config/check.ts";
import type { HubAccess } from "../auth/authenticator.ts";
import { isAnonymous, isFromNetwork } from "../auth/caller.ts";
import type { Pipes } from "./pipes.ts";
import { refersToSecret } from "./secrets.ts";
import { pipeSpecSchema } from "./spec.ts";
import { noStore, sendError, sendThrownError } from "../reply.ts";

const bodyLimit = 32_768;
const safe = new Set(["GET", "HEAD"]);

export async function addPipes(
  app: FastifyInstance,
  pipes: Pipes,
  access: Pick<HubAccess, "behindProxy"> = {},
): Promise<void> {
  await app.register(async (api) => {
    api.addHook("onRequest", async (request, reply) => {
      noStore(reply);
      if (!reply.sent && !safe.has(request.method) && isAnonymous(request))
        return sendError(
          reply,
          403,
          "Pipes need an admin token, also on this machine: create one on the hub's machine with gpulse token add NAME --scope admin and log in with it, or run gpulse pipe on the command line.",
        );
    });
    api.get("/api/pipes", async () => {
      await pipes.refresh();
      return { pipes: pipes.ids().flatMap((id) => pipes.shown(id) ?? []) };
    });
    api.post("/api/pipes", { bodyLimit }, async (request, reply) => {
      const checked = checkValue(pipeSpecSchema, request.body ?? {});
      if (!checked.ok)
        return sendError(reply, 400, checked.problems.map(({ sentence }) => sentence).join(" "));
      const { from, to } = checked.value;
      if ([...from, ...to].some(refersToSecret) && isFromNetwork(request, access))
        return sendError(
          reply,
          403,
          "${VARIABLE} and file:PATH are refused in requests from the network: add this pipe from a browser or program on the hub's machine, or run gpulse pipe there.",
        );
      try {
        const id = await pipes.add(checked.value);
        return await reply.code(201).send(pipes.shown(id));
      } catch (thrown) {
        return sendThrownError(reply, 400, thrown);
      }
    });
    const change = (
      method: "POST" | "DELETE",
      url: string,
      act: (id: string) => void | Promise<void>,
    ): void =>
      void api.route<{ Params: { id: string } }>({
        method,
        url,
        handler: async ({ params: { id } }, reply) => {
          const before = pipes.shown(id);
          if (before === undefined)
            return sendError(
              reply,
              404,
              `There is no pipe "${id.slice(0, 40)}" here: GET /api/pipes lists them.`,
            );
          await act(id);
          return reply.send(pipes.shown(id) ?? before);
        },
      });
    change("POST", "/api/pipes/:id/start", (id) => pipes.start(id));
    change("POST", "/api/pipes/:id/stop", (id) => pipes.stop(id));
    change("DELETE", "/api/pipes/:id", (id) => pipes.remove(id));
  });
}
