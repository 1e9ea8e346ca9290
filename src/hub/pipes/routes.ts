/**
 * `/api/pipes`: the hub's pipes and replays, listed for whoever may read, changed by administrators. What a pipe reads and
 * writes is what the hub's own user may: where nobody is asked and the network can reach it, nothing is changed.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { checkValue } from "../../config/check.ts";
import { GpulseError } from "../../errors/error.ts";
import type { HubAccess } from "../auth/judge.ts";
import { wasForwarded } from "../auth/judge.ts";
import type { Pipes } from "./pipes.ts";
import { wantedPipe } from "./spec.ts";

const bodyLimit = 32_768;
const safe = new Set(["GET", "HEAD"]);

export async function addPipes(
  app: FastifyInstance,
  pipes: Pipes,
  access: Pick<HubAccess, "openReads"> | undefined,
): Promise<void> {
  await app.register(async (api) => {
    api.addHook("onRequest", async (request, reply) => {
      reply.header("cache-control", "no-store");
      if (!reply.sent && !safe.has(request.method) && isStranger(request, access))
        return fail(
          reply,
          403,
          "Pipes are changed only by somebody known: make an admin token on the hub's machine with gpulse token add NAME --scope admin, and log in with it.",
        );
    });
    api.get("/api/pipes", async () => {
      await pipes.refresh();
      return { pipes: pipes.ids().flatMap((id) => pipes.shown(id) ?? []) };
    });
    api.post("/api/pipes", { bodyLimit }, async (request, reply) => {
      const checked = checkValue(wantedPipe, request.body ?? {});
      if (!checked.ok)
        return fail(reply, 400, checked.problems.map(({ sentence }) => sentence).join(" "));
      try {
        const id = await pipes.add(checked.value);
        return await reply.code(201).send(pipes.shown(id));
      } catch (thrown) {
        if (!(thrown instanceof GpulseError)) throw thrown;
        return fail(reply, 400, thrown.message);
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
            return fail(
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

/** Nobody in particular, from where anybody may be. Without `access` nobody is asked at all. */
function isStranger(
  { access: who, headers }: FastifyRequest,
  access: Pick<HubAccess, "openReads"> | undefined,
): boolean {
  if (access === undefined) return false;
  return who === null || (who.by === "nobody" && (!access.openReads || wasForwarded(headers)));
}

const fail = (reply: FastifyReply, status: number, error: string): FastifyReply =>
  reply.code(status).send({ error });
