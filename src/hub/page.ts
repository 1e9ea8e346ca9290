/** Serves the built browser app. Where it was not built, says so and what to do; never lists a folder. */
import { existsSync } from "node:fs";
import path from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance } from "fastify";
import { pageNames } from "./page-names.ts";

/** Vite puts a hash of the content into the names of these files, so a name never changes its content. */
const HASHED = `${path.sep}assets${path.sep}`;

export async function servePage(app: FastifyInstance, webDir: string): Promise<void> {
  if (!existsSync(path.join(webDir, "index.html"))) {
    app.get("/", async (_request, reply) =>
      reply.code(503).type("text/html; charset=utf-8").send(notBuilt),
    );
    return;
  }
  await app.register(fastifyStatic, {
    root: path.resolve(webDir),
    cacheControl: false,
    dotfiles: "deny",
    setHeaders: (reply, file) => {
      reply.header(
        "cache-control",
        file.includes(HASHED) ? "public, max-age=31536000, immutable" : "no-cache",
      );
    },
  });
  // The app reads the rest of the address itself.
  for (const name of pageNames)
    app.get(`/${name}`, async (_request, reply) => reply.sendFile("index.html"));
}

const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>gpulse: the page is not built</title>
<h1>The page is not built</h1>
<p>gpulse is running, but its browser app is missing from this installation.</p>
<p>In a checkout, run <code>npm run build</code> and start gpulse again.</p>
<p>The numbers are there already: <a href="metrics">/metrics</a>, <a href="stats">/stats</a>, <a href="api/fleet">/api/fleet</a>.</p>
</html>
`;
