/** Real TLS servers and clients on loopback: which clients are accepted, what is refused, and files that change while serving. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { hashSync } from "bcryptjs";
import { makeAuthority, writeCertificate } from "../../../engines/certificates.ts";
import { GpulseError } from "../../base/error.ts";
import { type Log, silentLog } from "../../base/log.ts";
import { BasicUsers } from "./basic-users.ts";
import { HttpAgent, request, type TlsOptions } from "./request.ts";
import { WebListener } from "./web-listener.ts";
import { readWebConfig } from "./web-config.ts";

const ca = makeAuthority("test CA");
const otherCa = makeAuthority("other CA");
const names = ["localhost", "127.0.0.1"];
let dir = "";
const ends: (() => void)[] = [];
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-listener-"));
});
afterEach(() => {
  for (const end of ends.splice(0)) end();
  rmSync(dir, { recursive: true, force: true });
});

function hubCertificate(name = "hub", by = ca) {
  return writeCertificate(dir, name, by.issue({ commonName: name, names }));
}

async function serve(
  yaml: string,
  log: Log = silentLog,
): Promise<{ listener: WebListener; url: string }> {
  const file = path.join(dir, "web.yml");
  writeFileSync(file, yaml);
  const listener = await WebListener.open({ configFile: file }, {}, log);
  const server: Server = listener.createServer({}, (_request, response) => response.end("hello"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => {
    listener.close();
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { listener, url: `https://127.0.0.1:${port}/` };
}

/** Returns the body, or the word "refused". */
async function get(url: string, tls: TlsOptions = { ca: ca.cert }): Promise<string> {
  const agent = new HttpAgent(tls);
  try {
    const { body } = await request(url, { agent, timeoutMs: 5_000, maxBytes: 1_000 });
    return body.toString();
  } catch {
    return "refused";
  } finally {
    agent.close();
  }
}

const tlsYaml = (more = ""): string =>
  `tls_server_config:\n  cert_file: hub.pem\n  key_file: hub.key\n${more}`;

test("a certificate of the right CA is trusted, of another is not", async () => {
  hubCertificate();
  const { url } = await serve(tlsYaml());
  expect(await get(url)).toBe("hello");
  expect(await get(url, { ca: otherCa.cert })).toBe("refused");
  expect(await get(url.replace("https", "http"))).toBe("refused");
});

test.each([
  ["NoClientCert", "hello", "hello", "hello"],
  ["RequestClientCert", "hello", "hello", "hello"],
  ["RequireAnyClientCert", "refused", "hello", "hello"],
  ["VerifyClientCertIfGiven", "hello", "hello", "refused"],
  ["RequireAndVerifyClientCert", "refused", "hello", "refused"],
])("%s: without a certificate %s, with ours %s, with another's %s", async (type, ...wanted) => {
  hubCertificate();
  writeFileSync(path.join(dir, "ca.pem"), ca.cert);
  const clientCa = type === "NoClientCert" ? "" : "  client_ca_file: ca.pem\n";
  const { url } = await serve(tlsYaml(`  client_auth_type: ${type}\n${clientCa}`));
  const [ours, theirs] = [ca, otherCa].map((by) => by.issue({ commonName: "client" }));
  const got = [
    await get(url),
    await get(url, { ca: ca.cert, ...ours }),
    await get(url, { ca: ca.cert, ...theirs }),
  ];
  expect(got).toEqual(wanted);
});

test("only a client certificate with an allowed name is let in", async () => {
  hubCertificate();
  writeFileSync(path.join(dir, "ca.pem"), ca.cert);
  const { url } = await serve(
    tlsYaml(
      "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n  client_allowed_sans: [scraper.example]\n",
    ),
  );
  const client = (name: string) => ca.issue({ commonName: "client", names: [name] });
  expect(await get(url, { ca: ca.cert, ...client("scraper.example") })).toBe("hello");
  expect(await get(url, { ca: ca.cert, ...client("other.example") })).toBe("refused");
});

test("who is refused for a certificate is reported in the log, and a flood of them in a few lines", async () => {
  hubCertificate();
  writeFileSync(path.join(dir, "ca.pem"), ca.cert);
  const reported: string[] = [];
  const warn = (message: string, fields: object = {}): void =>
    void reported.push(`${message}: ${Object.values(fields).join(" ")}`);
  const { url } = await serve(
    tlsYaml(
      "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n  client_allowed_sans: [scraper.example]\n",
    ),
    { ...silentLog, warn },
  );
  const [unnamed, stranger] = [ca, otherCa].map((by) => by.issue({ commonName: "client" }));
  for (const [given, says] of [
    [{}, "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE"],
    [stranger, "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
    [unnamed, "has none of the allowed names"],
  ] as const) {
    expect(await get(url, { ca: ca.cert, ...given })).toBe("refused");
    await vi.waitFor(() => expect(reported.join("\n")).toContain(says), 60_000);
  }
  for (let count = 0; count < 10; count++) await get(url);
  await vi.waitFor(() => expect(reported.join("\n")).toContain("are not logged"), 60_000);
  expect(reported.length).toBeLessThanOrEqual(10);
});

test("a version below the least is refused", async () => {
  hubCertificate();
  const { url } = await serve(tlsYaml("  min_version: TLS13\n"));
  expect(await get(url, { ca: ca.cert, maxVersion: "TLSv1.2" })).toBe("refused");
  expect(await get(url)).toBe("hello");
});

test("a new certificate is served without a restart, a broken one is reported and not taken", async () => {
  hubCertificate();
  const reported: string[] = [];
  const note = (message: string): void => void reported.push(message);
  const { listener, url } = await serve(tlsYaml(), { ...silentLog, info: note, error: note });
  hubCertificate("hub", otherCa);
  await vi.waitFor(async () => expect(await get(url, { ca: otherCa.cert })).toBe("hello"), 8_000);
  expect(await get(url)).toBe("refused");
  writeFileSync(path.join(dir, "hub.key"), "no key at all");
  await vi.waitFor(() => expect(reported.at(-1)).toContain("keeping the previous ones"), 8_000);
  expect(await get(url, { ca: otherCa.cert })).toBe("hello");
  expect(await listener.reload()).toBe(false);
});

test("users and headers follow the file; turning TLS off waits for a restart", async () => {
  hubCertificate();
  const reported: string[] = [];
  const log = {
    ...silentLog,
    error: (_: string, fields = {}) => void reported.push(JSON.stringify(fields)),
  };
  const { listener } = await serve(tlsYaml(), log);
  expect(listener.users.any).toBe(false);
  const hash = hashSync("pw", 4);
  const next = path.join(dir, "next.yml");
  writeFileSync(
    next,
    `${tlsYaml()}basic_auth_users: { me: "${hash}" }\nhttp_server_config: { headers: { Strict-Transport-Security: max-age=1 } }\n`,
  );
  renameSync(next, path.join(dir, "web.yml"));
  await vi.waitFor(() => expect(listener.users.any).toBe(true), 8_000);
  expect(listener.headers).toEqual({ "strict-transport-security": "max-age=1" });
  writeFileSync(path.join(dir, "web.yml"), "{}\n");
  expect(await listener.reload()).toBe(false);
  expect(reported.at(-1)).toContain("turning TLS on or off needs a restart");
  expect([listener.secure, listener.users.any]).toEqual([true, true]);
});

test.each([
  [{ cert: "nowhere.pem" }, "nowhere.pem does not exist"],
  [{ cert: "web.yml" }, "web.yml is not a PEM file"],
  [{ key: "other.key" }, "other.key is not the key of the certificate in"],
  [{ key: "hub.pem" }, "hub.pem holds no private key"],
])("files %j are refused: %s", async (changes, sentence) => {
  hubCertificate();
  hubCertificate("other");
  const { cert = "hub.pem", key = "hub.key" } = changes as { cert?: string; key?: string };
  const yaml = `tls_server_config: { cert_file: ${cert}, key_file: ${key} }\n`;
  const opened = serve(yaml);
  await expect(opened).rejects.toThrow(GpulseError);
  await expect(opened).rejects.toThrow(sentence);
});

test.each([
  ["tls_server_config: { cert_file: a }", "key_file"],
  ["tls_server: {}", 'unknown key "tls_server"'],
  ["tls_server_config: { cert_file: a, key_file: b, client_auth: x }", "client_auth"],
  ["tls_server_config: { cert_file: a, key_file: b, min_version: TLS10 }", "TLS12 or TLS13"],
  [
    "tls_server_config: { cert_file: a, key_file: b, client_ca_file: c }",
    "asks for no certificate",
  ],
  [
    "tls_server_config: { cert_file: a, key_file: b, client_auth_type: RequireAndVerifyClientCert }",
    "needs client_ca_file",
  ],
  ["tls_server_config: { cert_file: a, key_file: b, cipher_suites: [RC4] }", "cipher suite"],
  ["basic_auth_users: { me: plain }", "bcrypt hash"],
  [
    "basic_auth_users: { me: $2y$20$abcdefghijklmnopqrstuuWqEYH3mMHhVUBjEUlhDKqZYWC7TV3nO }",
    "bcrypt hash",
  ],
  ["http_server_config: { headers: { X-Other: 1 } }", "X-Other"],
])("web configuration %s is refused: %s", async (yaml, sentence) => {
  const file = path.join(dir, "web.yml");
  writeFileSync(file, `${yaml}\n`);
  await expect(readWebConfig(file, {})).rejects.toThrow(sentence);
});

test("every key of Prometheus's documentation is taken", async () => {
  hubCertificate();
  writeFileSync(path.join(dir, "ca.pem"), ca.cert);
  const { url } = await serve(
    `${tlsYaml()}  client_auth_type: VerifyClientCertIfGiven
  client_ca_file: ca.pem
  min_version: TLS12
  max_version: TLS13
  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, TLS_AES_128_GCM_SHA256]
  prefer_server_cipher_suites: true
  curve_preferences: [CurveP256, X25519]
http_server_config:
  http2: true
  headers:
    Content-Security-Policy: default-src 'none'
    X-Frame-Options: deny
    X-Content-Type-Options: nosniff
    X-XSS-Protection: "0"
    Strict-Transport-Security: max-age=60
basic_auth_users:
  me: ${hashSync("pw", 4)}
`,
  );
  expect(await get(url)).toBe("hello");
});

test("a password is right or wrong, and the right one is remembered", async () => {
  const hash = hashSync("pw", 4);
  const users = new BasicUsers(new Map([["me", hash]]));
  expect(users.remembers("me", "pw")).toBe(false);
  const asked = [
    ["me", "pw"],
    ["me", "wrong"],
    ["other", "pw"],
    ["me", ""],
  ] as const;
  expect(await Promise.all(asked.map(([user, password]) => users.check(user, password)))).toEqual([
    true,
    false,
    false,
    false,
  ]);
  expect(users.remembers("me", "pw")).toBe(true);
  expect(users.remembers("me", "wrong")).toBe(false);
  const [same, changed] = [hash, hashSync("pw", 4)].map(
    (now) => new BasicUsers(new Map([["me", now]]), users),
  );
  expect([same?.remembers("me", "pw"), changed?.remembers("me", "pw")]).toEqual([true, false]);
});
