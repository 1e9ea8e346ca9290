/**
 * `/api/boards`: list, read, save with a version, delete, pin a panel, and read a file to import. Reading needs the read
 * scope; every change needs admin, as `requiredScope` decides for routes it does not list.
 */
import type { FastifyInstance, FastifyReply } from "fastify";
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { QueryError } from "../../query/errors.ts";
import { type Board, boardLimits, type BoardPanel } from "../../view/board/board.ts";
import { callerName, isoTime } from "../auth/caller.ts";
import { noStore, sendError } from "../reply.ts";
import { followVariable } from "./follow.ts";
import { convertGrafana, isGrafana } from "./grafana.ts";
import { isRecord } from "./json.ts";
import { checkBoard } from "./schema.ts";
import { BoardError, type BoardStore, type BoardVersion, type StoredBoard } from "./store.ts";

/** Limit of a board and its version as JSON. */
const saveBytes = boardLimits.boardBytes + 4_096;

const savedBoard = v.strictObject({
  version: v.pipe(v.number("a whole number"), v.integer("a whole number")),
  board: v.unknown(),
});

const pinned = v.strictObject({
  panel: v.unknown(),
  follow: v.optional(v.boolean("true or false")),
});

interface ById {
  readonly Params: { readonly id: string };
}
interface ByVersion {
  readonly Params: { readonly id: string; readonly version: string };
}

export async function addBoards(app: FastifyInstance, store: BoardStore): Promise<void> {
  await app.register(async (api) => {
    api.setErrorHandler(async (thrown, _request, reply) => {
      if (thrown instanceof BoardError) return sendError(reply, thrown.status, thrown.message);
      throw thrown;
    });
    api.addHook("onRequest", async (_request, reply) => void noStore(reply));
    api.get("/api/boards", async () => ({ boards: store.list().map(summaryOf) }));
    api.get<ById>("/api/boards/:id", async ({ params }) => boardJson(store.get(params.id)));
    api.get<ByVersion>("/api/boards/:id/versions/:version", async ({ params }, reply) => {
      const { earlier, ...newest } = store.get(params.id);
      const found = [newest, ...earlier].find(({ version }) => String(version) === params.version);
      if (found === undefined)
        return sendError(
          reply,
          404,
          `There is no version ${params.version.slice(0, 12)} any more.`,
        );
      return { ...versionJson(found), board: found.board };
    });
    api.post("/api/boards", { bodyLimit: saveBytes }, async (request, reply) => {
      const { board, problem } = checkBoard(request.body);
      if (board === undefined) return sendError(reply, 400, problem);
      return reply.code(201).send(boardJson(store.add(board, callerName(request))));
    });
    api.put<ById>("/api/boards/:id", { bodyLimit: saveBytes }, async (request, reply) => {
      const body = checkValue(savedBoard, request.body ?? {});
      if (!body.ok) return sendProblems(reply, body.problems);
      const { board, problem } = checkBoard(body.value.board);
      if (board === undefined) return sendError(reply, 400, problem);
      const { id } = request.params;
      return boardJson(store.save(id, body.value.version, board, callerName(request)));
    });
    api.delete<ById>("/api/boards/:id", async ({ params }, reply) => {
      store.remove(params.id);
      return reply.code(204).send();
    });
    api.post<ById>("/api/boards/:id/panels", { bodyLimit: saveBytes }, async (request, reply) => {
      const body = checkValue(pinned, request.body ?? {});
      if (!body.ok) return sendProblems(reply, body.problems);
      const before = store.get(request.params.id);
      const { board, problem } = pin(before.board, body.value.panel, body.value.follow === true);
      if (board === undefined) return sendError(reply, 400, problem);
      return boardJson(store.save(before.id, before.version, board, callerName(request)));
    });
    const bodyLimit = boardLimits.importBytes;
    api.post("/api/boards/import", { bodyLimit }, async ({ body }, reply) => {
      const { board, leftOut, problem } = readImport(body);
      if (board === undefined) return sendError(reply, 400, problem);
      return { board, leftOut };
    });
  });
}

/** Pins a panel to a board under a new id; `follow` makes its queries use the board's host variable. */
function pin(board: Board, panel: unknown, follow: boolean): ReturnType<typeof checkBoard> {
  const ids = new Set(board.panels.map(({ id }) => id));
  let number = board.panels.length + 1;
  while (ids.has(`panel-${number}`)) number += 1;
  const own = { ...(isRecord(panel) ? panel : {}), id: `panel-${number}` };
  const checked = checkBoard({ ...board, panels: [...board.panels, own] });
  const added = checked.board?.panels.at(-1);
  if (!follow || checked.board === undefined || added === undefined) return checked;
  const variable = board.variables.find(({ label }) => label === "host");
  if (variable === undefined) return checked;
  return checkBoard({
    ...board,
    panels: [...board.panels, following(added, variable.label, variable.name)],
  });
}

const following = (panel: BoardPanel, label: string, variable: string): BoardPanel => ({
  ...panel,
  queries: panel.queries.map((one) => {
    try {
      return { ...one, query: followVariable(one.query, label, variable) };
    } catch (thrown) {
      // The query contains variables already: it stays unchanged.
      if (thrown instanceof QueryError) return one;
      throw thrown;
    }
  }),
});

type ImportResult =
  | { readonly board: Board; readonly leftOut: readonly string[]; readonly problem?: undefined }
  | { readonly board?: undefined; readonly leftOut?: undefined; readonly problem: string };

/** Imports a board exported by gpulse, or a Grafana dashboard. */
function readImport(value: unknown): ImportResult {
  if (isRecord(value) && value["gpulse"] === "board") {
    const { gpulse: _kind, format, ...rest } = value;
    if (format !== 1)
      return {
        problem: `This board has format ${JSON.stringify(format)?.slice(0, 20)}: this gpulse reads format 1. Upgrade it.`,
      };
    const checked = checkBoard(rest);
    return checked.board === undefined ? checked : { board: checked.board, leftOut: [] };
  }
  if (!isGrafana(value))
    return { problem: "This is neither a board of gpulse nor a Grafana dashboard in JSON." };
  const { board: converted, leftOut } = convertGrafana(value);
  if (converted.panels.length === 0)
    return { problem: `No panel could be imported. ${leftOut.slice(0, 5).join(" ")}`.trim() };
  const checked = checkBoard(converted);
  return checked.board === undefined ? checked : { board: checked.board, leftOut };
}

const sendProblems = (
  reply: FastifyReply,
  problems: readonly { readonly sentence: string }[],
): FastifyReply => sendError(reply, 400, problems.map(({ sentence }) => sentence).join(" "));

const versionJson = ({ version, savedMs, savedBy }: BoardVersion) => ({
  version,
  savedAt: isoTime(savedMs),
  savedBy,
});

const summaryOf = (stored: StoredBoard) => ({
  id: stored.id,
  title: stored.board.title,
  panels: stored.board.panels.length,
  ...versionJson(stored),
});

const boardJson = (stored: StoredBoard) => ({
  id: stored.id,
  ...versionJson(stored),
  board: stored.board,
  earlier: stored.earlier.map(versionJson),
});
