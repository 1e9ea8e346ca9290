import { type AddressInfo, connect } from "node:net";
import { fastify, type FastifyInstance } from "fastify";
import { afterEach, expect, test, vi } from "vitest";
import { silentLog } from "../../base/log.ts";
import { addRefusalLog } from "./refusal-log.ts";

const apps: FastifyInstance[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
});

let nowMs = Date.parse("2026-11-15T12:00:00Z");
function hub() {
  const reported: string[] = [];
  const write =
    (level: string) =>
    (message: string, fields: object = {}): void =>
      void reported.push(`${level} ${message} ${Object.values(fields).join(" ")}`);
  const app = fastify({ bodyLimit: 10 });
  apps.push(app);
  addRefusalLog(app, {
    log: { ...silentLog, info: write("info"), warn: write("warn") },
    nowMs: () => nowMs,
  });
  app.post("/api/things/:id", async () => ({}));
  app.get("/status/:code", async (request, reply) =>
    reply.code(Number((request.params as { code: string }).code)).send({}),
  );
  return { app, reported };
}

test.each([
  [413, "warn"],
  [421, "warn"],
  [429, "warn"],
  [403, "warn"],
  [400, "info"],
  [422, "info"],
  [200, undefined],
  [500, undefined],
])("an answer of %i is reported as %s", async (status, level) => {
  const { app, reported } = hub();
  await app.inject({ url: `/status/${status}?token=secret` });
  const line = `${level} request refused 127.0.0.1 GET /status/:code ${status}`;
  await vi.waitFor(() => expect(reported).toEqual(level === undefined ? [] : [line]));
});

test("a body that is too large is reported by its route, and not with it", async () => {
  const { app, reported } = hub();
  await app.inject({ method: "POST", url: "/api/things/x1", payload: { secret: "a".repeat(99) } });
  await vi.waitFor(() =>
    expect(reported).toEqual(["warn request refused 127.0.0.1 POST /api/things/:id 413"]),
  );
});

test("who has yet to log in is not reported, and who asks as a program is", async () => {
  const { app, reported } = hub();
  await app.inject({ url: "/status/401", headers: { accept: "text/html" } });
  await app.inject({ url: "/status/401" });
  await vi.waitFor(() => expect(reported).toHaveLength(1));
});

test("what is not there is reported where somebody climbs for it", async () => {
  const { app, reported } = hub();
  await app.inject({ url: "/favicon.ico" });
  await app.inject({ url: "/..%2f..%2fetc%2fpasswd" });
  await vi.waitFor(() =>
    expect(reported).toEqual(["info request refused 127.0.0.1 GET (no such route) 404"]),
  );
});

test("a flood is reported five times a minute, and another kind all the same", async () => {
  const { app, reported } = hub();
  for (let count = 0; count < 50; count++) await app.inject({ url: "/status/429" });
  await app.inject({ url: "/status/403" });
  await vi.waitFor(() => expect(reported).toHaveLength(6));
  expect(reported[4]).toContain("more of this kind in this minute are not logged");
  nowMs += 60_000;
  await app.inject({ url: "/status/429" });
  await vi.waitFor(() => expect(reported).toHaveLength(7));
});

test("what is no HTTP is reported", async () => {
  const { app, reported } = hub();
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const socket = connect(port, "127.0.0.1", () => socket.write("NONSENSE\r\n\r\n"));
  await new Promise((resolve) => socket.on("close", resolve).resume());
  await vi.waitFor(() =>
    expect(reported[0]).toMatch(/^info request refused 127\.0\.0\.1 \(no request: HPE_\w+\) 400$/),
  );
});
