import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify } from "fastify";
import { afterEach, expect, test } from "vitest";
import { createLog } from "../../base/log.ts";
import { type Board, boardLimits, defaultVariables } from "../../view/board/board.ts";
import { isClosedToShares, requiredScope } from "../auth/required-scope.ts";
import { followVariable } from "./follow.ts";
import { addBoards } from "./routes.ts";
import { BoardStore, type BoardStoreOptions } from "./store.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const log = createLog({
  level: "error",
  json: false,
  colour: false,
  nowMs: () => 0,
  write: () => undefined,
});

async function hub(
  limits?: BoardStoreOptions["limits"],
  dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-boards-")),
) {
  if (!folders.includes(dataDir)) folders.push(dataDir);
  const store = new BoardStore({
    dataDir,
    log,
    nowMs: () => 1_700_000_000_000,
    ...(limits === undefined ? {} : { limits }),
  });
  const app = fastify();
  app.decorateRequest("access", null);
  await addBoards(app, store);
  const ask = async (method: "GET" | "POST" | "PUT" | "DELETE", url: string, payload?: object) => {
    const reply = await app.inject({ method, url, ...(payload === undefined ? {} : { payload }) });
    return {
      status: reply.statusCode,
      body: reply.body === "" ? {} : reply.json<Record<string, unknown>>(),
    };
  };
  return { ask, store, dataDir };
}

const panel = (id: string, query = "gpu_power_watts") => ({
  id,
  title: id,
  kind: "timeseries" as const,
  queries: [{ query }],
  columns: 6,
  rows: 3,
});
const board = (title: string, ...panels: Board["panels"]): Board => ({
  title,
  variables: defaultVariables,
  panels,
});

test("a board is added, listed, read, saved as the next version, and deleted", async () => {
  const { ask } = await hub();
  expect(await ask("POST", "/api/boards", board("Room 1", panel("a")))).toMatchObject({
    status: 201,
    body: { id: "room-1", version: 1, savedBy: "the owner, on loopback" },
  });
  expect((await ask("GET", "/api/boards")).body).toMatchObject({
    boards: [{ id: "room-1", title: "Room 1", panels: 1, version: 1 }],
  });
  const next = board("Room one", panel("a"), panel("b", 'sum(gpu_power_watts{host=~"$host"})'));
  expect(await ask("PUT", "/api/boards/room-1", { version: 1, board: next })).toMatchObject({
    status: 200,
    body: { version: 2, board: { title: "Room one" }, earlier: [{ version: 1 }] },
  });
  expect((await ask("GET", "/api/boards/room-1/versions/1")).body).toMatchObject({
    version: 1,
    board: { title: "Room 1" },
  });
  expect((await ask("DELETE", "/api/boards/room-1")).status).toBe(204);
  expect((await ask("GET", "/api/boards/room-1")).status).toBe(404);
});

test("two boards of one title have addresses of their own", async () => {
  const { ask } = await hub();
  const ids = [];
  for (let count = 0; count < 3; count += 1)
    ids.push((await ask("POST", "/api/boards", board("Ümläut / Room"))).body["id"]);
  expect(ids).toEqual(["ml-ut-room", "ml-ut-room-2", "ml-ut-room-3"]);
  expect((await ask("POST", "/api/boards", board("木"))).body["id"]).toBe("board");
});

test("a save over somebody else's is refused, and theirs stays", async () => {
  const { ask } = await hub();
  await ask("POST", "/api/boards", board("Room"));
  await ask("PUT", "/api/boards/room", { version: 1, board: board("Theirs") });
  const late = await ask("PUT", "/api/boards/room", { version: 1, board: board("Mine") });
  expect(late.status).toBe(409);
  expect(late.body["error"]).toContain("version 2");
  expect((await ask("GET", "/api/boards/room")).body).toMatchObject({ board: { title: "Theirs" } });
});

test.each([
  [{ title: "" }, '"title" must be text of 1 to 120 characters'],
  [{ panels: [panel("a"), panel("a")] }, 'Two panels have the id "a".'],
  [{ panels: [panel("a", "sum(")] }, "A query of panel"],
  [{ panels: [panel("a", "x".repeat(4_001))] }, "at most 4000 characters"],
  [{ panels: [{ ...panel("a"), kind: "pie" }] }, "one of timeseries, stat"],
  [{ panels: [{ ...panel("a"), columns: 13 }] }, "a whole number from 1 to 12"],
  [{ panels: [{ ...panel("a"), onclick: "x" }] }, 'unknown key "panels.0.onclick"'],
  [{ panels: Array.from({ length: 61 }, (_, at) => panel(`p${at}`)) }, "at most 60 panels"],
  [{ variables: [{ name: "step", label: "a", selector: "up" }] }, "another name"],
  [{ variables: [{ name: "a", label: "a", selector: "sum(up)" }] }, 'variable "a" is wrong'],
])("a board with %j is refused with the reason", async (wrong, reason) => {
  const { ask } = await hub();
  const reply = await ask("POST", "/api/boards", { ...board("Room"), ...wrong });
  expect(reply.status).toBe(400);
  expect(reply.body["error"]).toContain(reason);
  expect((await ask("GET", "/api/boards")).body).toEqual({ boards: [] });
});

test("boards outlive a restart, and a damaged record costs only itself", async () => {
  const first = await hub();
  await first.ask("POST", "/api/boards", board("One", panel("a")));
  await first.ask("POST", "/api/boards", board("Two"));
  first.store.close();
  const file = path.join(first.dataDir, "boards", "boards.log");
  expect(readdirSync(path.join(first.dataDir, "boards"))).toContain("boards.log");
  const text = readFileSync(file, "latin1");
  writeFileSync(file, text.replace('"title":"Two"', '"title":"Xwo"'), "latin1");
  const second = await hub(undefined, first.dataDir);
  expect((await second.ask("GET", "/api/boards")).body).toMatchObject({
    boards: [{ id: "one", panels: 1 }],
  });
});

test("number and size of boards are bounded; earlier versions go first", async () => {
  const few = await hub({ boards: 1, totalBytes: 6_000, earlierVersions: 10 });
  const big = board("Room", ...Array.from({ length: 12 }, (_, at) => panel(`p${at}`)));
  expect((await few.ask("POST", "/api/boards", big)).status).toBe(201);
  for (let version = 1; version < 5; version += 1)
    expect((await few.ask("PUT", "/api/boards/room", { version, board: big })).status).toBe(200);
  const { body } = await few.ask("GET", "/api/boards/room");
  expect(body["version"]).toBe(5);
  expect((body["earlier"] as unknown[]).length).toBeLessThan(4);
  expect((await few.ask("POST", "/api/boards", board("Other"))).status).toBe(507);
  const huge = board("Room", ...Array.from({ length: 60 }, (_, at) => panel(`p${at}`)));
  expect((await few.ask("PUT", "/api/boards/room", { version: 5, board: huge })).status).toBe(507);
  expect((await few.ask("GET", "/api/boards/room")).body["version"]).toBe(5);
});

test("a chart is pinned with an id of its own, and follows the board's host", async () => {
  const { ask } = await hub();
  await ask("POST", "/api/boards", board("Room", panel("panel-2")));
  const { body } = await ask("POST", "/api/boards/room/panels", {
    panel: panel("x", "sum(gpu_power_watts)"),
    follow: true,
  });
  expect((body["board"] as Board).panels[1]).toMatchObject({
    id: "panel-3",
    queries: [{ query: 'sum(gpu_power_watts{host=~"$host"})' }],
  });
  const wrong = await ask("POST", "/api/boards/room/panels", { panel: { title: 1 } });
  expect(wrong.status).toBe(400);
});

test.each([
  ["a", 'a{host=~"$host"}'],
  ["a{}", 'a{host=~"$host"}'],
  ['a{x="}"}', 'a{x="}",host=~"$host"}'],
  ['a{x="1",}', 'a{x="1",host=~"$host"}'],
  ['{__name__=~"a|b"}', '{__name__=~"a|b",host=~"$host"}'],
  ['a{host="n1"} / b', 'a{host="n1"} / b{host=~"$host"}'],
  ['a{uuid="u"}', 'a{uuid="u"}'],
  ["rate(a[$rate] offset 5m)", 'rate(a{host=~"$host"}[$rate] offset 5m)'],
  ["max_over_time(sum(a)[$range:$step])", 'max_over_time(sum(a{host=~"$host"})[$range:$step])'],
])("%s follows the host as %s", (query, expected) => {
  expect(followVariable(query, "host", "host")).toBe(expected);
});

test("reading boards needs the read scope, changing them admin; a shared link may show them", () => {
  expect(requiredScope("GET", "/api/boards/:id")).toBe("read");
  expect(requiredScope("POST", "/api/boards")).toBe("admin");
  expect(requiredScope("PUT", "/api/boards/:id")).toBe("admin");
  expect(requiredScope("POST", "/api/boards/:id/panels")).toBe("admin");
  expect(requiredScope("POST", "/api/boards/import")).toBe("admin");
  expect(isClosedToShares("/api/boards/:id")).toBe(false);
});

test("what is exported is imported as it was", async () => {
  const { ask } = await hub();
  const own = board("Room", panel("a"));
  const { status, body } = await ask("POST", "/api/boards/import", {
    gpulse: "board",
    format: 1,
    ...own,
  });
  expect(status).toBe(200);
  expect(body).toEqual({ board: own, leftOut: [] });
  const newer = await ask("POST", "/api/boards/import", { gpulse: "board", format: 2 });
  expect(newer.body["error"]).toContain("format 2");
  const large = { gpulse: "board", format: 1, title: "x".repeat(boardLimits.importBytes) };
  expect((await ask("POST", "/api/boards/import", large)).status).toBe(413);
});
