/** Serves the built browser app and the documentation site. Where one was not built, says so and what to do; never lists a folder. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import fastifyStatic, { type FastifyStaticOptions } from "@fastify/static";
import type { FastifyInstance } from "fastify";
import { pageNames } from "./page-names.ts";

/** The builds put a hash of the content into the names of these files, so a name never changes its content. */
const HASHED = `${path.sep}assets${path.sep}`;

export async function servePage(app: FastifyInstance, webDir: string): Promise<void> {
  if (!existsSync(path.join(webDir, "index.html"))) {
    app.get("/", async (_request, reply) =>
      reply.code(503).type("text/html; charset=utf-8").send(notBuilt),
    );
    return;
  }
  await app.register(fastifyStatic, staticFiles(webDir));
  // The app reads the rest of the address itself.
  for (const name of pageNames)
    app.get(`/${name}`, async (_request, reply) => reply.sendFile("index.html"));
}

export const hasDocs = (docsDir: string | undefined): docsDir is string =>
  docsDir !== undefined && existsSync(path.join(docsDir, "index.html"));

/** The documentation site under /docs/, with its own 404 page; its links are absolute, so it works only at the root of a host. */
export async function serveDocs(app: FastifyInstance, docsDir: string | undefined): Promise<void> {
  if (!hasDocs(docsDir)) {
    for (const url of ["/docs", "/docs/*"])
      app.get(url, async (_request, reply) =>
        reply.code(404).type("text/html; charset=utf-8").send(noDocs),
      );
    return;
  }
  const notFound = path.join(docsDir, "404.html");
  const missing = existsSync(notFound) ? readFileSync(notFound) : noDocs;
  app.get("/docs", async (_request, reply) => reply.redirect("docs/", 302));
  await app.register(
    async (docs) => {
      docs.setNotFoundHandler(async (_request, reply) =>
        reply.code(404).type("text/html; charset=utf-8").send(missing),
      );
      await docs.register(fastifyStatic, { ...staticFiles(docsDir), decorateReply: false });
    },
    { prefix: "/docs" },
  );
}

function staticFiles(root: string): FastifyStaticOptions {
  return {
    root: path.resolve(root),
    cacheControl: false,
    dotfiles: "deny",
    setHeaders: (reply, file) => {
      reply.header(
        "cache-control",
        file.includes(HASHED) ? "public, max-age=31536000, immutable" : "no-cache",
      );
    },
  };
}

const noDocs = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>gpulse: no documentation here</title>
<h1>The documentation is not part of this installation</h1>
<p>In a checkout, run <code>npm run docs:site</code> and start gpulse again. The npm package of a release contains it.</p>
<p>The same pages are the Markdown files in <code>docs/</code>.</p>
</html>
`;

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
