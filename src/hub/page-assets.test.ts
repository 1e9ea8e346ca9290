import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serveAssets } from "./page-assets.ts";

const dir = mkdtempSync(path.join(tmpdir(), "gpulse-assets-"));
const app = fastify();
beforeAll(() => {
  for (const file of ["app-1.js", "app-1.js.br", "app-1.js.gz", "style-1.css", "secret.txt"])
    writeFileSync(path.join(dir, file), file);
  serveAssets(app, dir);
});
afterAll(async () => {
  await app.close();
  rmSync(dir, { recursive: true });
});

const get = (file: string, encoding?: string) =>
  app.inject({
    url: `/assets/${file}`,
    headers: encoding === undefined ? {} : { "accept-encoding": encoding },
  });

test.each([
  ["gzip, deflate, br, zstd", "app-1.js.br", "br"],
  ["gzip", "app-1.js.gz", "gzip"],
  ["br;q=0, gzip", "app-1.js.gz", "gzip"],
  ["identity", "app-1.js", undefined],
  [undefined, "app-1.js", undefined],
])("for Accept-Encoding %s the file is %s", async (accepted, body, encoding) => {
  const { headers, body: text } = await get("app-1.js", accepted);
  expect(text).toBe(body);
  expect(headers["content-encoding"]).toBe(encoding);
  expect(headers["content-type"]).toBe("text/javascript; charset=utf-8");
  expect(headers["vary"]).toBe("accept-encoding");
  expect(headers["cache-control"]).toBe("public, max-age=31536000, immutable");
});

test("a file that was not compressed is sent as it is", async () => {
  const { headers, body } = await get("style-1.css", "br");
  expect(body).toBe("style-1.css");
  expect(headers["content-type"]).toBe("text/css; charset=utf-8");
  expect(headers["content-encoding"]).toBeUndefined();
});

test.each(["secret.txt", "app-1.js.br", "app-2.js", "..%2fapp-1.js"])(
  "%s is not an asset",
  async (file) => {
    expect((await get(file)).statusCode).toBe(404);
  },
);

test("a file is read once, so a replaced one keeps the content that its name promises", async () => {
  await get("app-1.js");
  writeFileSync(path.join(dir, "app-1.js"), "replaced");
  expect((await get("app-1.js")).body).toBe("app-1.js");
});
