import { Readable } from "node:stream";
import { gunzipSync } from "node:zlib";
import { fastify } from "fastify";
import { expect, test } from "vitest";
import { addCompression } from "./compression.ts";

const long = JSON.stringify(Array.from({ length: 500 }, (_, at) => ({ at, text: "value" })));

async function get(url: string, acceptEncoding?: string) {
  const app = fastify();
  addCompression(app);
  app.get("/long", async (_request, reply) => reply.type("application/json").send(long));
  app.get("/short", async () => ({ short: true }));
  app.get("/stream", async (_request, reply) =>
    reply.type("text/plain").send(Readable.from([long, long])),
  );
  app.get("/picture", async (_request, reply) => reply.type("image/png").send(Buffer.alloc(9_000)));
  app.get("/packed", async (_request, reply) =>
    reply.type("text/css").header("content-encoding", "br").send(Buffer.alloc(9_000)),
  );
  app.get("/broken", async (_request, reply) =>
    reply.type("text/plain").send(
      Readable.from(
        (async function* parts() {
          yield long;
          throw new Error("the source failed");
        })(),
      ),
    ),
  );
  const headers = acceptEncoding === undefined ? {} : { "accept-encoding": acceptEncoding };
  try {
    return await app.inject({ url, headers });
  } finally {
    await app.close();
  }
}

test("a response is compressed for a client that accepts gzip, and only then", async () => {
  const packed = await get("/long", "br, gzip");
  expect(packed.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
  expect(gunzipSync(packed.rawPayload).toString()).toBe(long);
  expect(packed.rawPayload.length).toBeLessThan(long.length / 4);
  for (const refused of [undefined, "identity", "gzip;q=0", "br"]) {
    const plain = await get("/long", refused);
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(plain.headers["vary"]).toBe("accept-encoding");
    expect(plain.body).toBe(long);
  }
});

test("a stream is compressed as it is made", async () => {
  const { headers, rawPayload } = await get("/stream", "gzip");
  expect(headers["content-encoding"]).toBe("gzip");
  expect(headers["content-length"]).toBeUndefined();
  expect(gunzipSync(rawPayload).toString()).toBe(long + long);
});

test("short responses, pictures and what is compressed already stay as they are", async () => {
  expect((await get("/short", "gzip")).json()).toEqual({ short: true });
  expect((await get("/picture", "gzip")).rawPayload.length).toBe(9_000);
  const { headers, rawPayload } = await get("/packed", "gzip");
  expect(headers["content-encoding"]).toBe("br");
  expect(rawPayload.length).toBe(9_000);
});

test("a stream that fails before its first byte is an error that can be read", async () => {
  const { statusCode, headers, rawPayload } = await get("/broken", "gzip");
  expect(statusCode).toBe(500);
  const body = headers["content-encoding"] === "gzip" ? gunzipSync(rawPayload) : rawPayload;
  expect(JSON.parse(body.toString())).toMatchObject({ message: "the source failed" });
});
