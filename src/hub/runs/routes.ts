/** `/api/runs`: benchmark runs, uploaded, listed, read, downloaded and deleted. */
import type { FastifyInstance, FastifyReply } from "fastify";
import { GpulseError } from "../../base/error.ts";
import { RunRejectedError, type RunStore, type StoredRun } from "./store.ts";
import { noStore, sendError } from "../reply.ts";

export async function addRuns(app: FastifyInstance, runs: RunStore): Promise<void> {
  app.get("/api/runs", async (_request, reply) =>
    noStore(reply).send({ runs: (await runs.list()).map(storedRunJson) }),
  );

  app.get<{ Params: { id: string } }>("/api/runs/:id", async ({ params }, reply) => {
    const stored = await runs.get(params.id);
    return stored === undefined
      ? missing(reply, params.id)
      : noStore(reply).send(storedRunJson(stored));
  });

  app.get<{ Params: { id: string } }>("/api/runs/:id/file", async ({ params }, reply) => {
    const bytes = await runs.bytes(params.id);
    if (bytes === undefined) return missing(reply, params.id);
    return noStore(reply)
      .type("application/zip")
      .header("content-disposition", `attachment; filename="${params.id}.gpulserun"`)
      .send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  });

  app.delete<{ Params: { id: string } }>("/api/runs/:id", async ({ params }, reply) =>
    (await runs.remove(params.id)) ? reply.code(204).send() : missing(reply, params.id),
  );

  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) =>
      done(null, body),
    );
    scope.post("/api/runs", { bodyLimit: runs.limits.runBytes }, async ({ body }, reply) => {
      if (!Buffer.isBuffer(body) || body.length === 0)
        return sendError(reply, 400, "Send the bytes of a .gpulserun file.");
      try {
        const { stored, isNew } = await runs.add(body);
        return await noStore(reply.code(isNew ? 201 : 200)).send({
          id: stored.run.id,
          seal: stored.seal,
        });
      } catch (thrown) {
        if (thrown instanceof RunRejectedError)
          return noStore(reply.code(thrown.status)).send({ error: thrown.message });
        if (thrown instanceof GpulseError && thrown.code === "RUN_FILE")
          return sendError(reply, 400, thrown.message);
        throw thrown;
      }
    });
  });
}

const storedRunJson = ({ run, seal, bytes }: StoredRun) => ({ run, seal, bytes });

const missing = (reply: FastifyReply, id: string): FastifyReply =>
  sendError(reply, 404, `There is no run ${JSON.stringify(id.slice(0, 100))}.`);
