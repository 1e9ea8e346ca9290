/**
 * Serves the files of the browser app whose names contain a content hash, from memory: a file from disk takes several turns of
 * the event loop, and a page needs six before its first chart. Each file is read when it is first requested.
 */
import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { FastifyInstance } from "fastify";
import { acceptsEncoding } from "../formats/prometheus/negotiate.ts";

/** The build creates `.br` and `.gz` files beside its files; smallest first. */
const encodings = [
  { name: "br", suffix: ".br" },
  { name: "gzip", suffix: ".gz" },
] as const;

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
};

/** Files of other types are left to the handler of static files. */
export function serveAssets(app: FastifyInstance, assetsDir: string): void {
  const present = new Set(existsSync(assetsDir) ? readdirSync(assetsDir) : []);
  const contents = new Map<string, Promise<Buffer>>();
  const read = (file: string): Promise<Buffer> => {
    const known = contents.get(file);
    if (known !== undefined) return known;
    const content = readFile(path.join(assetsDir, file));
    contents.set(file, content);
    content.catch(() => contents.delete(file));
    return content;
  };
  for (const file of present) {
    const type = types[path.extname(file)];
    if (type === undefined) continue;
    const variants = encodings.filter(({ suffix }) => present.has(`${file}${suffix}`));
    app.get(`/assets/${file}`, async (request, reply) => {
      const accepted = request.headers["accept-encoding"] ?? "";
      const variant = variants.find(({ name }) => acceptsEncoding(accepted, name));
      if (variant !== undefined) reply.header("content-encoding", variant.name);
      return reply
        .type(type)
        .header("vary", "accept-encoding")
        .header("cache-control", "public, max-age=31536000, immutable")
        .send(await read(`${file}${variant?.suffix ?? ""}`));
    });
  }
}
