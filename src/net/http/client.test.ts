import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TLSSocket } from "node:tls";
import { inspect } from "node:util";
import { afterAll, expect, test } from "vitest";
import { makeAuthority, writeCertificate } from "../../../engines/certificates.ts";
import { type HttpClientConfig, plainHttpClient } from "./auth-config.ts";
import { HttpClient } from "./client.ts";
import { request } from "./request.ts";
import { Secret } from "./secret.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-http-client-"));
const closes: (() => void)[] = [];
afterAll(() => {
  for (const close of closes) close();
  rmSync(folder, { recursive: true });
});

const authority = makeAuthority("gpulse test CA");
writeCertificate(
  folder,
  "server",
  authority.issue({ commonName: "server", names: ["target.test"] }),
);
writeCertificate(folder, "client", authority.issue({ commonName: "hub.test" }));
writeFileSync(path.join(folder, "ca.pem"), authority.cert);
const fixture = (name: string): string => path.join(folder, name);

function file(name: string, text: string): string {
  const where = path.join(folder, name);
  writeFileSync(where, text);
  return where;
}

function client(config: Partial<HttpClientConfig>): HttpClient {
  const made = new HttpClient({ ...plainHttpClient, ...config });
  closes.push(() => made.close());
  return made;
}

async function listen(server: http.Server | https.Server): Promise<number> {
  closes.push(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** A server that requests a client certificate of our CA and responds with its common name and the TLS version. */
function secureServer(): Promise<number> {
  return listen(
    https.createServer(
      {
        cert: readFileSync(fixture("server.pem")),
        key: readFileSync(fixture("server.key")),
        ca: readFileSync(fixture("ca.pem")),
        requestCert: true,
        rejectUnauthorized: false,
      },
      (asked, answer) => {
        const socket = asked.socket as TLSSocket;
        answer.end(
          `${String(socket.getPeerCertificate().subject?.CN ?? "nobody")} ${socket.getProtocol() ?? ""}`,
        );
      },
    ),
  );
}

async function ask(port: number, made: HttpClient): Promise<string> {
  const options = { timeoutMs: 5_000, maxBytes: 1_000, ...(await made.options()) };
  return (await request(`https://127.0.0.1:${port}/`, options)).body.toString();
}

test("nothing configured sends nothing", async () => {
  const { headers, maxRedirects } = await client({}).options();
  expect(headers).toEqual({});
  expect(maxRedirects).toBe(10);
  expect(await client({ followRedirects: false }).options()).not.toHaveProperty("maxRedirects");
});

test("a user and a password go as basic auth", async () => {
  const made = client({ basicAuth: { username: "größe", password: new Secret("p:w") } });
  const { headers } = await made.options();
  expect(headers).toEqual({
    authorization: `Basic ${Buffer.from("größe:p:w").toString("base64")}`,
  });
});

test("a user alone goes with an empty password", async () => {
  const { headers } = await client({ basicAuth: { username: "me" } }).options();
  expect(headers["authorization"]).toBe(`Basic ${Buffer.from("me:").toString("base64")}`);
});

test("credentials go with their type", async () => {
  const made = client({ authorization: { type: "Token", credentials: new Secret("abc") } });
  expect((await made.options()).headers).toEqual({ authorization: "Token abc" });
});

test("files are read again when they change", async () => {
  const credentialsFile = file("token", " one\n");
  const made = client({ authorization: { type: "Bearer", credentialsFile } });
  expect((await made.options()).headers["authorization"]).toBe("Bearer one");
  file("token", "second\n");
  expect((await made.options()).headers["authorization"]).toBe("Bearer second");
});

test("headers are made of values, secrets and files together", async () => {
  const made = client({
    headers: [
      {
        name: "X-Tenant",
        values: ["a", "b"],
        secrets: [new Secret("c")],
        files: [file("h", "d\n")],
      },
    ],
  });
  expect((await made.options()).headers).toEqual({ "x-tenant": "a, b, c, d" });
});

test("a file that is not there is named, with what it is for", async () => {
  const passwordFile = path.join(folder, "missing");
  const made = client({ basicAuth: { username: "me", passwordFile } });
  await expect(made.options()).rejects.toThrow(
    `the file ${passwordFile} with the password does not exist`,
  );
});

test("what no header may hold is refused without being shown", async () => {
  const made = client({ authorization: { type: "Bearer", credentials: new Secret("se\ncret") } });
  const thrown = await made.options().then(() => undefined, String);
  expect(thrown).toContain("the header authorization has an invalid value");
  expect(thrown).not.toContain("cret\n");
});

test("a secret never shows itself", () => {
  const secret = new Secret("hunter2");
  const config: HttpClientConfig = {
    ...plainHttpClient,
    basicAuth: { username: "me", password: secret },
  };
  for (const text of [
    String(secret),
    JSON.stringify(config),
    inspect(config, { depth: 9 }),
    inspect(client(config), { depth: 9, showHidden: true }),
  ])
    expect(text).not.toContain("hunter2");
  expect(secret.reveal()).toBe("hunter2");
});

test("a certificate that no known CA signed is refused", async () => {
  const port = await secureServer();
  await expect(ask(port, client({}))).rejects.toThrow(/certificate/);
});

test("a CA and a server's name make it trusted; without the name it is another's", async () => {
  const port = await secureServer();
  const tls = { caFile: fixture("ca.pem"), insecureSkipVerify: false };
  expect(await ask(port, client({ tls: { ...tls, serverName: "target.test" } }))).toMatch(
    /^nobody/,
  );
  await expect(ask(port, client({ tls }))).rejects.toThrow(/altnames|IP/);
});

test("verification may be turned off", async () => {
  const port = await secureServer();
  expect(await ask(port, client({ tls: { insecureSkipVerify: true } }))).toMatch(/^nobody/);
});

test("a client shows its certificate, and versions are kept to", async () => {
  const port = await secureServer();
  const made = client({
    tls: {
      ca: readFileSync(fixture("ca.pem"), "utf8"),
      certFile: fixture("client.pem"),
      keyFile: fixture("client.key"),
      serverName: "target.test",
      insecureSkipVerify: false,
      maxVersion: "TLSv1.2",
    },
  });
  expect(await ask(port, made)).toBe("hub.test TLSv1.2");
});

test("an agent is kept as long as its files are the same, and made again when they change", async () => {
  const port = await secureServer();
  const caFile = file("changing-ca.pem", readFileSync(fixture("client.pem"), "utf8"));
  const made = client({ tls: { caFile, serverName: "target.test", insecureSkipVerify: false } });
  await expect(ask(port, made)).rejects.toThrow(/certificate/);
  expect((await made.options()).agent).toBe((await made.options()).agent);
  file("changing-ca.pem", readFileSync(fixture("ca.pem"), "utf8"));
  expect(await ask(port, made)).toMatch(/^nobody/);
});

test("a closed client is asked in vain", async () => {
  const made = client({});
  made.close();
  await expect(made.options()).rejects.toThrow(/closed/);
});
