import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { plainHttpClient } from "./auth-config.ts";
import { HttpClient } from "./client.ts";
import { type OAuth2Config, TokenSource } from "./oauth2.ts";
import { HttpAgent } from "./request.ts";
import { Secret } from "./secret.ts";

const asked: string[] = [];
let answer: (authorization: string, body: string) => { status: number; body: string };
let server: http.Server;
let tokenUrl = "";
beforeEach(async () => {
  asked.length = 0;
  answer = () => ({ status: 200, body: '{"access_token":"t0k3n","expires_in":60}' });
  server = http.createServer((incoming, outgoing) => {
    let body = "";
    incoming.setEncoding("utf8").on("data", (part: string) => (body += part));
    incoming.on("end", () => {
      const { authorization = "none" } = incoming.headers;
      asked.push(`${authorization} ${body}`);
      const { status, body: text } = answer(authorization, body);
      outgoing.writeHead(status).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  tokenUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
});
afterEach(() => new Promise<void>((resolve) => void server.close(() => resolve())));

const configOf = (more: Partial<OAuth2Config> = {}): OAuth2Config => ({
  clientId: "me",
  clientSecret: new Secret("hunter2"),
  tokenUrl,
  scopes: [],
  endpointParams: {},
  tls: { insecureSkipVerify: false },
  ...more,
});
const basic = `Basic ${Buffer.from("me:hunter2").toString("base64")}`;

async function authorizationOf(config: OAuth2Config): Promise<string> {
  const client = new HttpClient({ ...plainHttpClient, oauth2: config });
  try {
    return (await client.options()).headers["authorization"] ?? "none";
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  } finally {
    client.close();
  }
}

test("a client's requests carry the token of its id and secret", async () => {
  const config = configOf({ scopes: ["a", "b"], endpointParams: { audience: "x" } });
  expect(await authorizationOf(config)).toBe("Bearer t0k3n");
  expect(asked).toEqual([`${basic} grant_type=client_credentials&scope=a+b&audience=x`]);
});

test("a server that reads the secret only from the body is asked again that way", async () => {
  answer = (authorization) => ({
    status: authorization === "none" ? 200 : 401,
    body: "access_token=f0rm&token_type=bearer",
  });
  expect(await authorizationOf(configOf())).toBe("Bearer f0rm");
  expect(asked[1]).toBe("none grant_type=client_credentials&client_id=me&client_secret=hunter2");
});

test("the secret may stand in a file", async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-oauth2-"));
  const clientSecretFile = path.join(dir, "secret");
  writeFileSync(clientSecretFile, "hunter2\n");
  const { clientSecret: _, ...config } = configOf({ clientSecretFile });
  expect(await authorizationOf(config)).toBe("Bearer t0k3n");
  expect(asked[0]).toMatch(basic);
  rmSync(dir, { recursive: true });
});

test.each([
  [403, "no hunter2", /\/token gave no token: it answered 403$/],
  [200, "{}", /\/token returned no token$/],
  [200, '{"access_token":"a\\nb"}', /returned no token$/],
])("an answer of %i with %s is an error without a secret", async (status, body, says) => {
  answer = () => ({ status, body });
  expect(await authorizationOf(configOf())).toMatch(says);
});

test("a token is fetched once, and again shortly before it expires", async () => {
  let nowMs = 0;
  const agent = new HttpAgent();
  const tokens = new TokenSource(configOf(), {
    agent: () => Promise.resolve(agent),
    clientSecret: () => Promise.resolve("hunter2"),
    nowMs: () => nowMs,
  });
  await Promise.all([tokens.header(), tokens.header()]);
  nowMs = 49_000;
  await tokens.header();
  expect(asked).toHaveLength(1);
  nowMs = 51_000;
  await tokens.header();
  expect(asked).toHaveLength(2);
  agent.close();
});
