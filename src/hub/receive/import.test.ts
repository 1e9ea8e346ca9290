import { Readable } from "node:stream";
import { existsSync, readFileSync } from "node:fs";
import { fastify } from "fastify";
import { expect, test } from "vitest";
import { GpulseError } from "../../base/error.ts";
import { addImport, type ImportUpload, type Upload } from "./import.ts";

const outcome = {
  format: "gpuz",
  samples: 1,
  kept: 1,
  refused: 0,
  notes: [],
  fromTime: null,
  toTime: null,
  skipped: [],
};

async function hub(importUpload: ImportUpload, maxBytes?: number) {
  const app = fastify({ bodyLimit: 1_024 });
  await addImport(app, importUpload, maxBytes);
  return app;
}

const upload = (payload: Buffer | string, query = "name=log.txt") => ({
  method: "POST" as const,
  url: `/api/import?${query}`,
  payload,
  headers: { "content-type": "application/octet-stream" },
});

test("the importer finds the whole file with what was said of it, and it is gone afterwards", async () => {
  const seen: (Upload & { text: string })[] = [];
  const app = await hub(async (given) => {
    seen.push({ ...given, text: readFileSync(given.file, "latin1") });
    return outcome;
  });
  const text = "x".repeat(100_000);
  const answer = await app.inject(upload(text, "name=log.txt&gpuName=RX&timezone=UTC"));
  expect(answer.json()).toEqual({ name: "log.txt", ...outcome });
  expect(seen).toMatchObject([{ text, name: "log.txt", gpuName: "RX", timezone: "UTC" }]);
  expect(existsSync(seen[0]?.file ?? "")).toBe(false);
});

test("what the importer refuses is reported by the name the file had, not by where it lay", async () => {
  const app = await hub(async ({ file }) => {
    throw new GpulseError("FILE_FORMAT", `${file} is no log.`);
  });
  const answer = await app.inject(upload("?"));
  expect([answer.statusCode, answer.json()]).toEqual([400, { error: "log.txt is no log." }]);
});

test("a second file has to wait, and the next may come when the first is in", async () => {
  const app = await hub(async () => {
    // Another upload arrives while the first is read.
    if (!asked) {
      asked = true;
      second = (await app.inject(upload("b"))).statusCode;
    }
    return outcome;
  });
  let asked = false;
  let second = 0;
  expect((await app.inject(upload("a"))).statusCode).toBe(200);
  expect(second).toBe(503);
  expect((await app.inject(upload("c"))).statusCode).toBe(200);
});

test.each([
  ["that says so", undefined],
  ["that does not say so", "chunked"],
])("a file %s is refused when it is too large", async (_what, encoding) => {
  let imported = false;
  const app = await hub(async () => {
    imported = true;
    return outcome;
  }, 1_000);
  const { payload, headers, ...rest } = upload("x".repeat(2_000));
  const answer = await app.inject({
    ...rest,
    payload: encoding === undefined ? payload : Readable.from([payload]),
    headers,
  });
  expect([answer.statusCode, imported]).toEqual([413, false]);
});
