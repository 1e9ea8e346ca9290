/** Tests logins with a real OpenID provider, in this process on loopback: the complete flow, and its failures. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { FastifyInstance } from "fastify";
import { Provider } from "oidc-provider";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { freePort } from "../../../engines/ports.ts";
import type { OidcSettings } from "../../access/oidc.ts";
import { Secret } from "../../net/http/secret.ts";
import { buildHub } from "../hub.ts";
import { change, form, LoginFixture, statusOf } from "../../../test/fixtures/hub/login.ts";

const back = "https://hub.example/gpus/login/oidc/callback";
const groups: Readonly<Record<string, readonly string[]>> = {
  ada: ["staff", "gpu-admins"],
  grace: ["gpu-users"],
  eve: ["staff"],
};
let server: Server;
let issuer = "";
let lab: LoginFixture;

beforeAll(async () => {
  // Silences the provider's warnings about test-only settings.
  vi.spyOn(console, "info").mockReturnValue(undefined);
  vi.spyOn(console, "warn").mockReturnValue(undefined);
  server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  issuer = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "gpulse",
        client_secret: "a secret of the provider",
        redirect_uris: [back],
        grant_types: ["authorization_code"],
        response_types: ["code"],
      },
    ],
    scopes: ["openid", "profile"],
    claims: { openid: ["sub"], profile: ["preferred_username", "groups"] },
    cookies: { keys: ["one key of a test"] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: id, groups: groups[id] ?? [] }),
    }),
  });
  const answer = provider.callback();
  server.on("request", (request, response) => void answer(request, response));
});
afterAll(async () => {
  vi.restoreAllMocks();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  lab = new LoginFixture();
});
afterEach(() => lab.close());

const settings = (changes: Partial<OidcSettings> = {}): OidcSettings => ({
  issuer,
  clientId: "gpulse",
  clientSecret: new Secret("a secret of the provider"),
  scopes: "openid profile",
  roleClaim: "groups",
  admin: ["gpu-admins"],
  viewer: ["gpu-users"],
  redirectUrl: back,
  label: "Lab",
  ...changes,
});
const hub = (changes: Partial<OidcSettings> = {}): Promise<FastifyInstance> =>
  lab.hub({ oidc: settings(changes) });

const cookies = (given: string | string[] | undefined): string[] =>
  [given ?? []].flat().map((one) => one.split(";", 1)[0] ?? "");

/** The browser's first request to the hub. */
async function begin(app: FastifyInstance, next = "") {
  const answer = await app.inject({ url: `/login/oidc${next}`, headers: { accept: "text/html" } });
  return { answer, cookie: cookies(answer.headers["set-cookie"]).join("; ") };
}

/** Simulates a browser at the provider: follows redirects, submits forms, and stops at the callback. */
async function atProvider(start: string, login: string): Promise<string> {
  const jar = new Map<string, string>();
  let url = start;
  for (let step = 0; step < 20; step++) {
    if (url.startsWith(back)) return url;
    const isForm = new URL(url).pathname.startsWith("/interaction/");
    const prompt = isForm && jar.has("asked") ? "consent" : "login";
    if (isForm) jar.set("asked", "yes");
    const answer = await fetch(url, {
      redirect: "manual",
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(isForm
        ? { method: "POST", body: new URLSearchParams({ prompt, login, password: "any" }) }
        : {}),
    });
    for (const one of answer.headers.getSetCookie()) {
      const [name = "", value = ""] = (one.split(";", 1)[0] ?? "").split("=", 2);
      jar.set(name, value);
    }
    const to = answer.headers.get("location");
    if (to === null) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
    url = new URL(to, url).href;
  }
  throw new Error("the provider leads in a circle");
}

async function through(app: FastifyInstance, login: string, next = "") {
  const { answer, cookie } = await begin(app, next);
  const returned = await atProvider(answer.headers.location ?? "", login);
  return { returned, cookie };
}

const comeBack = (app: FastifyInstance, returned: string, cookie: string) =>
  app.inject({
    url: returned.slice("https://hub.example/gpus".length),
    headers: { cookie, accept: "text/html", "sec-fetch-site": "cross-site" },
  });
const sessionIn = (headers: Record<string, unknown>): string =>
  cookies(headers["set-cookie"] as string[]).find((one) => one.includes("_session=")) ?? "";

test("the form leads to the provider with PKCE, state and nonce, and no secret", async () => {
  const app = await hub();
  const shown = await app.inject({ url: "/gpu?uuid=1", headers: form });
  expect(shown.body).toContain('href="login/oidc?next=gpu%3Fuuid%3D1">Log in with Lab</a>');
  const { answer } = await begin(app);
  expect(answer.statusCode).toBe(303);
  const to = new URL(answer.headers.location ?? "");
  expect(to.origin).toBe(issuer);
  expect(Object.fromEntries(to.searchParams)).toMatchObject({
    client_id: "gpulse",
    response_type: "code",
    redirect_uri: back,
    code_challenge_method: "S256",
  });
  for (const name of ["state", "nonce", "code_challenge"])
    expect(to.searchParams.get(name)).toMatch(/^[\w-]{43}$/);
  expect(to.href).not.toContain("secret");
  expect(answer.headers["set-cookie"]).toMatch(
    /^__Host-gpulse_login=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600; Secure$/,
  );
});

test("an administrator of the provider comes back as one, to the page asked for", async () => {
  const app = await hub();
  const { returned, cookie } = await through(app, "ada", "?next=gpu%3Fuuid%3D1");
  const answer = await comeBack(app, returned, cookie);
  expect(answer.statusCode).toBe(200);
  expect(answer.body).toContain('content="0; url=../../gpu?uuid=1"');
  const session = sessionIn(answer.headers);
  expect((await change(app, session)).statusCode).toBe(200);
  const me = await app.inject({ url: "/api/me", headers: { cookie: session } });
  expect(me.json()).toMatchObject({ name: "ada", how: "oidc", scope: "admin" });
  const own = await app.inject({
    method: "POST",
    url: "/api/me/password",
    headers: { cookie: session, "sec-fetch-site": "same-origin" },
    payload: { current: "a", password: "b" },
  });
  expect(own.statusCode).toBe(403);
});

test("a viewer looks and changes nothing; one without a role gets the reason and no session", async () => {
  const app = await hub();
  const grace = await through(app, "grace");
  const session = sessionIn((await comeBack(app, grace.returned, grace.cookie)).headers);
  expect(await statusOf(app, session)).toBe(200);
  expect((await change(app, session)).statusCode).toBe(403);
  const eve = await through(app, "eve");
  const refused = await comeBack(app, eve.returned, eve.cookie);
  expect([refused.statusCode, sessionIn(refused.headers)]).toEqual([403, ""]);
  expect(refused.body).toContain("eve has no role here");
});

test("an administrator ends a session that the provider let in, and its browser has to log in again", async () => {
  const app = await hub();
  const [ada, grace] = [await through(app, "ada"), await through(app, "grace")];
  const admin = sessionIn((await comeBack(app, ada.returned, ada.cookie)).headers);
  const session = sessionIn((await comeBack(app, grace.returned, grace.cookie)).headers);
  const listed = await app.inject({ url: "/api/sessions", headers: { cookie: admin } });
  const { sessions } = listed.json<{ sessions: { id: string; name: string; how: string }[] }>();
  expect(sessions.map(({ name, how }) => [name, how])).toEqual([
    ["ada", "oidc"],
    ["grace", "oidc"],
  ]);
  expect(await statusOf(app, session)).toBe(200);
  const ended = await app.inject({
    method: "DELETE",
    url: `/api/sessions/${sessions[1]?.id}`,
    headers: { cookie: admin, "sec-fetch-site": "same-origin" },
  });
  expect(ended.statusCode).toBe(200);
  expect([await statusOf(app, session), await statusOf(app, admin)]).toEqual([401, 200]);
});

test("the provider leads back to the address people reach the hub under", async () => {
  const { redirectUrl: _own, ...rest } = settings();
  const app = await buildHub({
    ...lab.options({ oidc: rest }),
    publicUrl: "https://hub.example/gpus/",
  });
  lab.ends.push(() => app.close());
  const { answer } = await begin(app);
  expect(new URL(answer.headers.location ?? "").searchParams.get("redirect_uri")).toBe(back);
});

test("sessions of a provider end when it is no longer set up", async () => {
  const { returned, cookie } = await through(await hub(), "grace");
  const app = await hub();
  const fresh = await through(app, "grace");
  const session = sessionIn((await comeBack(app, fresh.returned, fresh.cookie)).headers);
  expect(await statusOf(await lab.hub(), session)).toBe(401);
  expect((await comeBack(app, returned, cookie)).statusCode).toBe(401);
});

test("an answer is taken once, from the browser that asked, with its own state, in time", async () => {
  const app = await hub();
  const { returned, cookie } = await through(app, "ada");
  expect((await comeBack(app, returned, "")).statusCode).toBe(401);
  expect((await comeBack(app, returned, cookie)).statusCode).toBe(200);
  const replayed = await comeBack(app, returned, cookie);
  expect([replayed.statusCode, sessionIn(replayed.headers)]).toEqual([401, ""]);
  expect(replayed.body).toContain("already completed or took too long");

  const other = await through(app, "ada");
  const swapped = await comeBack(
    app,
    other.returned.replace(/state=[\w-]+/, "state=x"),
    other.cookie,
  );
  expect([swapped.statusCode, sessionIn(swapped.headers)]).toEqual([401, ""]);
  expect(swapped.body).toContain("belongs to another login");

  const late = await through(app, "ada");
  lab.nowMs += 10 * 60_000;
  expect((await comeBack(app, late.returned, late.cookie)).statusCode).toBe(401);
});

test("a code of an earlier login is refused by the provider, also under a right state", async () => {
  const app = await hub();
  const old = await through(app, "ada");
  await comeBack(app, old.returned, old.cookie);
  const fresh = await through(app, "ada");
  const code = new URL(old.returned).searchParams.get("code") ?? "";
  const mixed = fresh.returned.replace(/code=[^&]+/, `code=${code}`);
  const answer = await comeBack(app, mixed, fresh.cookie);
  expect([answer.statusCode, sessionIn(answer.headers)]).toEqual([401, ""]);
  expect(answer.body).toContain("no longer accepts this login");
});

test("what the provider refuses is reported in its words, as text", async () => {
  const app = await hub();
  const { answer, cookie } = await begin(app);
  const state = new URL(answer.headers.location ?? "").searchParams.get("state") ?? "";
  const refused = await app.inject({
    url: `/login/oidc/callback?error=access_denied&error_description=%3Cb%3Eno&state=${state}`,
    headers: { cookie },
  });
  expect(refused.statusCode).toBe(401);
  expect(refused.body).toContain("did not let you in: &#60;b&#62;no.");
});

test("a wrong secret and a provider that is away are reported as what they are, without the secret", async () => {
  const wrong = await hub({ clientSecret: new Secret("not the right one") });
  const { returned, cookie } = await through(wrong, "ada");
  const refused = await comeBack(wrong, returned, cookie);
  expect(refused.statusCode).toBe(502);
  expect(refused.body).toContain("does not know this hub");
  const away = await hub({ issuer: `http://127.0.0.1:${await freePort()}/` });
  const { answer } = await begin(away);
  expect(answer.statusCode).toBe(502);
  expect(answer.body).toContain("does not work right now (ECONNREFUSED)");
  expect(answer.body).toContain('action="../api/login"');
  expect(lab.logged.join("\n")).not.toContain("not the right one");
});

test("without a provider its addresses are not there", async () => {
  const app = await lab.hub();
  expect((await app.inject({ url: "/login/oidc" })).statusCode).toBe(401);
  const shown = await app.inject({ url: "/", headers: form });
  expect(shown.body).not.toContain("login/oidc");
});
