/** HTML pages outside the app: login, refused, redirect, not found. No scripts, the app's colours; all request data is escaped. */
import type { FastifyInstance, FastifyReply } from "fastify";
import { guardHeaders } from "../guard.ts";
import { type PageName, pageNames } from "../page-names.ts";
import { pagePath } from "./share-page.ts";

/** The stylesheet of these pages. */
export function serveAccessPageStyle(app: FastifyInstance): void {
  app.get("/login.css", async (_request, reply) =>
    reply
      .type("text/css; charset=utf-8")
      .header("cache-control", "max-age=3600")
      .send(accessPageStyle),
  );
}

/** The response to a browser that followed a wrong or outdated link. */
export function sendNotFoundPage(reply: FastifyReply, path: string): FastifyReply {
  const root = toRoot(reply.request.url);
  const links = pageNames.map((name) => `<a href="${root}${name}">${labelOf(name)}</a>`);
  return sendAccessPage(
    reply,
    404,
    "no such page",
    `<p role="alert">There is no page at <code>${escapeMarkup(path)}</code>.</p>
<p>Pages of this gpulse: ${links.join(", ")}.</p>
<p><a href="${root}docs/">Documentation</a></p>`,
  );
}

const labelOf = (name: PageName): string =>
  name === "gpu" ? "GPU" : name.charAt(0).toUpperCase() + name.slice(1);

/** Responds with the login form. */
export function sendLoginPage(
  reply: FastifyReply,
  status: number,
  {
    problem = "",
    oidc,
    next,
  }: { readonly problem?: string; readonly oidc?: string; readonly next?: string } = {},
): FastifyReply {
  const { url } = reply.request;
  const form = loginForm(problem, toRoot(url), oidc, nextOf(next === undefined ? url : `/${next}`));
  return sendAccessPage(reply, status, "log in", form);
}

/** The response to an authenticated caller without the required scope. */
export function sendForbiddenPage(
  reply: FastifyReply,
  sentence: string,
  who: string,
): FastifyReply {
  const root = toRoot(reply.request.url);
  return sendAccessPage(
    reply,
    403,
    "not allowed",
    `<p role="alert">${escapeMarkup(sentence)}</p>
<p class="small">You are here as <strong>${escapeMarkup(who)}</strong>.</p>
<form method="post" action="${root}api/logout"><button>Log in as somebody else</button></form>
<p><a href="${root}.">To the overview</a></p>`,
  );
}

/**
 * Redirects to `target` from the hub's own page. On a link from another site the browser withholds the strict cookie; on a
 * navigation from here it does not.
 */
export function sendRedirectPage(reply: FastifyReply, target: string): FastifyReply {
  const to = escapeMarkup(target);
  return sendAccessPage(
    reply,
    200,
    "one moment",
    `<p><a href="${to}">To the page</a></p>`,
    `<meta http-equiv="refresh" content="0; url=${to}">`,
  );
}

export function sendAccessPage(
  reply: FastifyReply,
  status: number,
  title: string,
  body: string,
  head = "",
): FastifyReply {
  const root = toRoot(reply.request.url);
  const policy = guardHeaders["content-security-policy"] ?? "";
  return reply
    .code(status)
    .headers({
      "cache-control": "no-store",
      // With `no-referrer`, a browser sends `Origin: null` for the form's own submission, which would be refused as cross-site.
      "referrer-policy": "same-origin",
      "content-security-policy": policy.replace("form-action 'none'", "form-action 'self'"),
    })
    .type("text/html; charset=utf-8").send(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>gpulse: ${title}</title>
<link rel="icon" href="${root}favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${root}login.css">
${head}
</head>
<body>
<main>
<h1><svg viewBox="0 0 24 16" aria-hidden="true"><path d="M1 9h5l2.5-7 4 13 3-8 1.5 2h6"/></svg>gpulse</h1>
${body}
</main>
</body>
</html>
`);
}

/** A relative path to the root, so that the form works under any path prefix of a proxy. */
function toRoot(url: string): string {
  const [path = "/"] = url.split("?", 1);
  return "../".repeat(Math.min(10, path.split("/").length - 2));
}

/** The requested page, to return to after the login. */
const nextOf = (url: string): string => {
  const next = pagePath(url);
  return next === undefined || next === "/" ? "" : next.slice(1);
};

export const escapeMarkup = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const loginForm = (
  problem: string,
  root: string,
  oidc: string | undefined,
  next: string,
): string => `${problem === "" ? "" : `<p role="alert">${escapeMarkup(problem)}</p>\n`}${
  oidc === undefined
    ? ""
    : `<p><a class="button" href="${root}login/oidc${next === "" ? "" : `?next=${encodeURIComponent(next)}`}">Log in with ${escapeMarkup(oidc)}</a></p>\n<p class="or">or</p>\n`
}<form method="post" action="${root}api/login">
<label>User <span class="small">empty with a token</span><input name="name" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="100" autofocus></label>
<label>Password or token<input type="password" name="password" autocomplete="current-password" maxlength="1024" required></label>
${next === "" ? "" : `<input type="hidden" name="next" value="${escapeMarkup(next)}">\n`}<button>Log in</button>
</form>
<p class="small">On the hub's machine, <code>gpulse user add NAME</code> makes a user, <code>gpulse token add NAME --scope read</code> a token.</p>`;

const accessPageStyle = `:root {
  color-scheme: light dark;
  --bg: light-dark(oklch(0.985 0.002 262), oklch(0.168 0.008 264));
  --raised: light-dark(oklch(1 0 0), oklch(0.2 0.009 264));
  --line: light-dark(oklch(0.905 0.005 262), oklch(0.27 0.01 264));
  --edge: light-dark(oklch(0.66 0.012 262), oklch(0.5 0.014 264));
  --text: light-dark(oklch(0.235 0.014 264), oklch(0.935 0.005 264));
  --muted: light-dark(oklch(0.485 0.014 264), oklch(0.695 0.012 264));
  --accent: light-dark(oklch(0.5 0.14 256), oklch(0.76 0.11 254));
  --on-accent: light-dark(oklch(1 0 0), oklch(0.168 0.008 264));
  --bad: light-dark(oklch(0.53 0.205 27), oklch(0.71 0.185 24));
}
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--bg); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { width: min(24rem, 100%); padding: 1.5rem; border: 1px solid var(--line); border-radius: .75rem; background: var(--raised); }
h1 { display: flex; align-items: center; gap: .5rem; margin: 0 0 1rem; font-size: 1.25rem; }
h1 svg { width: 1.75rem; fill: none; stroke: var(--accent); stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
label, input, select, button, .button { display: block; width: 100%; font: inherit; }
label { margin-bottom: .9rem; font-weight: 500; }
input, select { margin-top: .25rem; padding: .5rem .7rem; border: 1px solid var(--edge); border-radius: .4rem; background: var(--bg); color: var(--text); }
button, .button { padding: .55rem .7rem; border: 1px solid var(--accent); border-radius: .4rem; background: var(--accent); color: var(--on-accent); font-weight: 600; text-align: center; text-decoration: none; cursor: pointer; }
.button { background: transparent; color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
a { color: var(--accent); }
p { margin: .9rem 0 0; overflow-wrap: anywhere; }
form + p, form { margin-top: 1rem; }
[role="alert"] { padding: .5rem .7rem; border-left: 4px solid var(--bad); background: var(--bg); }
.small { color: var(--muted); font-size: .875rem; font-weight: 400; }
.or { color: var(--muted); text-align: center; }
code { font-size: .9em; }
`;
