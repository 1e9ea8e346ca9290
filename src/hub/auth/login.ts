/** Logging in to the page with a token: a plain form, no script, and the token travels in a body, never in a URL. */
import type { FastifyInstance, FastifyReply } from "fastify";
import { guardHeaders } from "../guard.ts";

export interface LoginDesk {
  /** The cookie for a token's text, or the sentence and status that refuse it. */
  login(
    text: string,
    address: string,
  ): { readonly cookie: string } | { readonly refused: string; readonly status: number };
  /** Ends the session of this Cookie header; the cookie that forgets it. */
  logout(cookies: string | undefined): string;
}

const maxBodyBytes = 4_096;

export async function addLogin(app: FastifyInstance, desk: LoginDesk): Promise<void> {
  app.get("/login", async (_request, reply) => sendLogin(reply, 200));
  app.get("/login.css", async (_request, reply) =>
    reply.type("text/css; charset=utf-8").header("cache-control", "max-age=3600").send(style),
  );
  await app.register(async (scope) => {
    scope.addContentTypeParser(
      "application/x-www-form-urlencoded",
      { parseAs: "string", bodyLimit: maxBodyBytes },
      (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
    );
    scope.post("/api/login", { bodyLimit: maxBodyBytes }, async (request, reply) => {
      const answer = desk.login(tokenIn(request.body), request.ip);
      if ("refused" in answer)
        return wantsPage(request.headers.accept)
          ? sendLogin(reply, answer.status, answer.refused)
          : reply.code(answer.status).send({ error: answer.refused });
      return reply.header("set-cookie", answer.cookie).redirect("../", 303);
    });
    scope.post("/api/logout", { bodyLimit: maxBodyBytes }, async (request, reply) =>
      reply.header("set-cookie", desk.logout(request.headers.cookie)).redirect("../login", 303),
    );
  });
}

export const wantsPage = (accept: string | undefined): boolean =>
  accept !== undefined && /\btext\/html\b/.test(accept);

/** Answers with the form: the page cannot be shown to who is not known. */
export function sendLogin(reply: FastifyReply, status: number, trouble = ""): FastifyReply {
  const policy = guardHeaders["content-security-policy"] ?? "";
  return reply
    .code(status)
    .headers({
      "cache-control": "no-store",
      "content-security-policy": policy.replace("form-action 'none'", "form-action 'self'"),
    })
    .type("text/html; charset=utf-8")
    .send(form(trouble, toRoot(reply.request.url)));
}

/** Relative, so that the form works under whatever path a proxy has put the hub. */
function toRoot(url: string): string {
  const [path = "/"] = url.split("?", 1);
  return "../".repeat(Math.min(10, path.split("/").length - 2));
}

function tokenIn(body: unknown): string {
  const token = typeof body === "object" && body !== null && "token" in body ? body.token : "";
  return typeof token === "string" ? token.trim() : "";
}

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const form = (trouble: string, root: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>gpulse: log in</title>
<link rel="stylesheet" href="${root}login.css">
<main>
<h1>gpulse</h1>
${trouble === "" ? "" : `<p role="alert">${escaped(trouble)}</p>\n`}<form method="post" action="${root}api/login">
<label>Token <input type="password" name="token" autocomplete="current-password" required autofocus></label>
<button>Log in</button>
</form>
<p>On the hub's machine, <code>gpulse token add NAME --scope read</code> makes one.</p>
</main>
</html>
`;

const style = `body { margin: 0; min-height: 100vh; display: grid; place-items: center; font: 16px/1.5 system-ui, sans-serif; }
main { width: min(24rem, 90vw); }
label, input, button { display: block; width: 100%; box-sizing: border-box; font: inherit; }
input, button { margin: .4rem 0 1rem; padding: .5rem .7rem; }
[role="alert"] { border-left: 4px solid #c33; padding-left: .7rem; }
code { font-size: .9em; }
`;
