/** Serves the browser app, with the data of its first view in the HTML, and the documentation site. Never lists a directory. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { Readable } from "node:stream";
import { setImmediate as afterOthers } from "node:timers/promises";
import fastifyStatic, { type FastifyStaticOptions } from "@fastify/static";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { formatError } from "../base/error.ts";
import { FIRST_LOAD_ID } from "../view/first-load.ts";
import { parsePreferences } from "../view/preferences.ts";
import { firstLoadJson, type FirstLoadOptions } from "./first-load.ts";
import { guardHeaders } from "./guard.ts";
import { serveAssets } from "./page-assets.ts";
import { type PageName, pageNames } from "./page-names.ts";
import { noStore } from "./reply.ts";

/** The builds put a content hash into these file names, so their content never changes. */
const HASHED = `${path.sep}assets${path.sep}`;

export interface PageOptions extends FirstLoadOptions {
  readonly webDir: string;
  /** Origins whose pages may embed a board in a frame. */
  readonly embedOrigins: readonly string[];
}

export async function servePage(app: FastifyInstance, options: PageOptions): Promise<void> {
  const { webDir } = options;
  if (!existsSync(path.join(webDir, "index.html"))) {
    app.get("/", async (_request, reply) =>
      reply.code(503).type("text/html; charset=utf-8").send(notBuilt),
    );
    return;
  }
  await app.register(fastifyStatic, { ...staticFiles(webDir), index: false });
  serveAssets(app, path.join(webDir, "assets"));
  for (const name of pageNames) {
    const { head, tail } = readTemplate(webDir, name);
    const policy = guardHeaders[policyHeader] ?? "";
    const embeddable = name === "boards" && options.embedOrigins.length > 0;
    const ownPolicy = embeddable ? withAncestors(policy, options.embedOrigins) : policy;
    const show = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      // A policy set by the operator stays unchanged.
      if (reply.getHeader(policyHeader) === guardHeaders[policyHeader]) {
        reply.header(policyHeader, ownPolicy);
        // X-Frame-Options has no list of origins, and browsers that support frame-ancestors ignore it.
        if (embeddable) reply.removeHeader("x-frame-options");
      }
      const data = async () =>
        firstLoadJson(name, request, reply, options).catch((thrown: unknown) => {
          // The head has been sent, and the page fetches what it lacks.
          options.api?.log.error("the data of a page failed; it is sent without", {
            page: name,
            error: formatError(thrown),
          });
          return undefined;
        });
      return noStore(reply)
        .type("text/html; charset=utf-8")
        .send(
          Readable.from(htmlParts(withPreferences(head, request), data, tail), {
            objectMode: false,
          }),
        );
    };
    // The app itself interprets the query string.
    for (const url of name === "fleet" ? ["/", "/index.html", "/fleet"] : [`/${name}`])
      app.get(url, show);
  }
}

/** Sends the head first: the browser loads the scripts that it names while the hub collects the data. */
async function* htmlParts(
  head: string,
  data: () => Promise<readonly (string | Buffer)[] | undefined>,
  tail: string,
): AsyncGenerator<Buffer, void> {
  yield Buffer.from(head);
  await afterOthers();
  const found = await data();
  const block =
    found === undefined
      ? []
      : [`<script type="application/json" id="${FIRST_LOAD_ID}">`, ...found, "</script>\n"];
  yield Buffer.concat([...block, tail].map((part) => Buffer.from(part)));
}

interface ViteChunk {
  readonly file: string;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
}

interface PageTemplate {
  /** The HTML before and after the data. */
  readonly head: string;
  readonly tail: string;
}

const policyHeader = "content-security-policy";

const withAncestors = (policy: string, origins: readonly string[]): string =>
  policy.replace("frame-ancestors 'none'", `frame-ancestors 'self' ${origins.join(" ")}`);

/** The theme has to be known before the first paint, and the page's own script runs too late for that. */
function withPreferences(head: string, request: FastifyRequest): string {
  const chosen = parsePreferences(request.headers.cookie);
  if (chosen === undefined) return head;
  const theme = chosen.theme === "auto" ? "" : ` data-theme="${chosen.theme}"`;
  return head.replace("<html", () => `<html${theme} data-density="${chosen.density}"`);
}

/** index.html with the scripts of this page preloaded. */
function readTemplate(webDir: string, name: PageName): PageTemplate {
  const html = readFileSync(path.join(webDir, "index.html"), "utf8");
  const manifest = path.join(webDir, ".vite", "manifest.json");
  const chunks = existsSync(manifest)
    ? (JSON.parse(readFileSync(manifest, "utf8")) as Readonly<Record<string, ViteChunk>>)
    : {};
  const files = [...filesOf(chunks, `src/pages/${name}/page.tsx`)];
  const tags = files
    .filter((file) => !html.includes(file))
    .map((file) =>
      file.endsWith(".css")
        ? `<link rel="stylesheet" crossorigin href="./${file}">\n`
        : `<link rel="modulepreload" crossorigin href="./${file}">\n`,
    );
  const page = html.replace("</head>", () => `${tags.join("")}</head>`);
  const end = page.lastIndexOf("</body>");
  const at = end === -1 ? page.length : end;
  return { head: page.slice(0, at), tail: page.slice(at) };
}

/** The files a chunk depends on, including its own. */
function filesOf(
  chunks: Readonly<Record<string, ViteChunk>>,
  key: string,
  seen = new Set<string>(),
): Set<string> {
  const chunk = chunks[key];
  if (chunk === undefined || seen.has(chunk.file)) return seen;
  seen.add(chunk.file);
  for (const file of chunk.css ?? []) seen.add(file);
  for (const imported of chunk.imports ?? []) filesOf(chunks, imported, seen);
  return seen;
}

export const hasDocs = (docsDir: string | undefined): docsDir is string =>
  docsDir !== undefined && existsSync(path.join(docsDir, "index.html"));

/** Serves the documentation site under /docs/, with its own 404 page; its links are absolute, so it only works at the root of a host. */
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
    // The app's build creates `.br` and `.gz` files beside its files.
    preCompressed: true,
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
