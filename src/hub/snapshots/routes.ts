/**
 * `/api/snapshots`: takes a snapshot of the hub's machine, lists, reads and compares them. `/api/snapshot` takes one without
 * storing it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { diffSnapshots } from "../../runs/snapshot/diff.ts";
import {
  defaultThresholds,
  type Snapshot,
  type SnapshotThresholds,
} from "../../machine/snapshot.ts";
import { PrometheusApiError, invalidParameter } from "../api/failure.ts";
import { Params } from "../api/params.ts";
import type { StoredSnapshot, SnapshotStore } from "./store.ts";
import { noStore } from "../reply.ts";

const bodyLimit = 4_096;

const wanted = v.strictObject({
  label: v.optional(
    v.pipe(
      v.string("text"),
      v.trim(),
      v.minLength(1, "text"),
      v.maxLength(200, "text of 200 letters at most"),
    ),
  ),
});

export async function addSnapshots(app: FastifyInstance, archive: SnapshotStore): Promise<void> {
  await app.register(async (api) => {
    api.setErrorHandler(async (thrown, _request, reply) => {
      if (thrown instanceof PrometheusApiError)
        return reply.code(thrown.status).type("application/json").send(thrown.body);
      throw thrown;
    });
    api.addHook("onRequest", async (_request, reply) => {
      noStore(reply);
    });
    api.get("/api/snapshot", async () => archive.now());
    api.post("/api/snapshots", { bodyLimit }, async (request, reply) =>
      add(archive, request, reply),
    );
    api.get("/api/snapshots", async () => success({ snapshots: archive.list().map(summary) }));
    api.get("/api/snapshots/diff", async (request, reply) =>
      reply.send(compare(archive, Params.of(request))),
    );
    api.get<{ Params: { id: string } }>("/api/snapshots/:id", async (request, reply) => {
      const { id } = request.params;
      return reply.send({ id, ...found(archive, id) });
    });
  });
}

async function add(
  archive: SnapshotStore,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const checked = checkValue(wanted, request.body ?? {});
  if (!checked.ok)
    throw new PrometheusApiError(
      "bad_data",
      checked.problems.map(({ sentence }) => sentence).join(" "),
    );
  const snapshot = await archive.add(checked.value.label);
  return reply.code(201).send(success({ ...summary(snapshot), snapshot: snapshot.snapshot }));
}

function compare(archive: SnapshotStore, params: Params): unknown {
  const [before, after] = ["before", "after"].map((name) => {
    const id = params.all(name)[0];
    if (id === undefined || id === "")
      throw invalidParameter(name, "give the id of a snapshot: GET /api/snapshots lists them");
    return found(archive, id);
  }) as [Snapshot, Snapshot];
  return success(diffSnapshots(before, after, thresholdsOf(params)));
}

function thresholdsOf(params: Params): SnapshotThresholds {
  const number = (name: string): number | undefined => {
    const text = params.all(name)[0];
    if (text === undefined) return undefined;
    const value = /^\d{1,15}(?:\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isNaN(value)) throw invalidParameter(name, `"${text.slice(0, 40)}" is not a number`);
    return value;
  };
  const memoryBytes = number("memory_threshold_bytes");
  const powerWatts = number("power_threshold_watts");
  return {
    ...defaultThresholds,
    ...(memoryBytes === undefined ? {} : { memoryBytes }),
    ...(powerWatts === undefined ? {} : { powerWatts }),
  };
}

function found(archive: SnapshotStore, id: string): Snapshot {
  const snapshot = archive.get(id);
  if (snapshot !== undefined) return snapshot;
  throw new PrometheusApiError(
    "not_found",
    `There is no snapshot "${id.slice(0, 40)}" here: GET /api/snapshots lists them.`,
  );
}

const success = (data: unknown) => ({ status: "success", data });

const summary = ({ id, snapshot }: StoredSnapshot) => ({
  id,
  label: snapshot.label ?? null,
  takenAt: snapshot.takenAt,
  host: snapshot.host,
  simulated: snapshot.simulated,
  gpus: snapshot.facts.gpus.length,
});
