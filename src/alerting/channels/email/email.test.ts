import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeAuthority } from "../../../../engines/certificates.ts";
import { freePort } from "../../../../engines/ports.ts";
import {
  notificationOf,
  openEntries,
  sendBy,
  twoAlerts,
} from "../../../../test/fixtures/alerting/channels.ts";
import {
  type MailServer,
  type MailServerOptions,
  startMailServer,
} from "../../../../test/fixtures/alerting/channels-email.ts";

const authority = makeAuthority("test CA");
const certificate = authority.issue({ commonName: "mail", names: ["127.0.0.1", "localhost"] });
const password = "hunter2-correct-horse";

let dir: string;
let servers: MailServer[];
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-email-"));
  writeFileSync(path.join(dir, "ca.pem"), authority.cert);
  servers = [];
});
afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
  rmSync(dir, { recursive: true, force: true });
});

async function serve(options: MailServerOptions = {}): Promise<MailServer> {
  const server = await startMailServer({ ...certificate, user: "gpulse", password, ...options });
  servers.push(server);
  return server;
}

const entry = (port: number, more = ""): string => `email_configs:
  - to: 'Ops <ops@example.com>, second@example.com'
    from: gpulse <gpulse@example.com>
    smarthost: 127.0.0.1:${port}
    tls_config: { ca_file: ca.pem }
${more.replace(/^(?=.)/gm, "    ")}`;
const signedIn = "auth_username: gpulse\nauth_password: $EMAIL_PASS";
const open = (text: string, env: Record<string, string> = { EMAIL_PASS: password }) =>
  openEntries(text, { env, file: path.join(dir, "alertmanager.yml") });

test("a mail goes over STARTTLS with AUTH, as HTML and text, with a key that stays the same", async () => {
  const server = await serve();
  const receivers = await open(entry(server.port, signedIn));
  expect(await sendBy(receivers)).toBeUndefined();
  expect(await sendBy(receivers)).toBeUndefined();
  const [mail, again] = server.mails;
  expect(mail).toMatchObject({
    from: "gpulse@example.com",
    to: ["ops@example.com", "second@example.com"],
    user: "gpulse",
    secure: true,
  });
  const id = /^Message-ID: (.*)$/im.exec(mail?.text ?? "")?.[1];
  expect(id).toBe("<0123456789abcdef0123456789abcdef@example.com>");
  expect(again?.text).toContain(`Message-ID: ${id}`);
  expect(mail?.text).toContain("X-Gpulse-Idempotency-Key: 0123456789abcdef0123456789abcdef");
  expect(mail?.text).toContain("Subject: [FIRING:1] GpuHot (node-7 critical)");
  expect(mail?.text).toContain("From: gpulse <gpulse@example.com>");
  expect(mail?.text).toContain("To: Ops <ops@example.com>, second@example.com");
  expect(mail?.text).toContain("Auto-Submitted: auto-generated");
  expect(mail?.text).toMatch(/Content-Type: multipart\/alternative/);
  expect(mail?.text).toMatch(/Content-Type: text\/plain; charset=utf-8/);
  expect(mail?.text).toMatch(/Content-Type: text\/html; charset=utf-8/);
  expect(mail?.text).toContain("Date: Tue, 14 Nov 2023 22:13:20 +0000");
  receivers.close();
});

test("a mail goes over TLS from the first byte where it is forced", async () => {
  const server = await serve({ secure: true });
  const receivers = await open(entry(server.port, `${signedIn}\nforce_implicit_tls: true`));
  expect(await sendBy(receivers)).toBeUndefined();
  expect(server.mails[0]).toMatchObject({ user: "gpulse", secure: true });
  receivers.close();
});

test.each(["PLAIN", "LOGIN", "CRAM-MD5"])(
  "a server that only knows %s lets us in",
  async (method) => {
    const server = await serve({ authMethods: [method] });
    const secret =
      method === "CRAM-MD5" ? "auth_username: gpulse\nauth_secret: $EMAIL_PASS" : signedIn;
    const receivers = await open(entry(server.port, secret));
    expect(await sendBy(receivers)).toBeUndefined();
    expect(server.mails[0]?.user).toBe("gpulse");
    receivers.close();
  },
);

test("an identity goes along with PLAIN", async () => {
  const server = await serve({ authMethods: ["PLAIN"] });
  const receivers = await open(entry(server.port, `${signedIn}\nauth_identity: someone`));
  expect(await sendBy(receivers)).toBeUndefined();
  expect(server.mails).toHaveLength(1);
  receivers.close();
});

test("headers and texts of the file are templates, and name who is notified", async () => {
  const server = await serve();
  const more = `${signedIn}
headers: { subject: '{{ .Status }}: {{ .CommonLabels.host }}', Reply-To: answers@example.com, X-Team: '{{ .GroupLabels.alertname }}', To: hidden@example.com }
html: ''
text: 'Firing: {{ len .Alerts.Firing }} äöü'
threading: { enabled: true, thread_by_date: daily }`;
  const receivers = await open(entry(server.port, more));
  expect(await sendBy(receivers)).toBeUndefined();
  const text = server.mails[0]?.text ?? "";
  expect(text).toContain("Subject: firing: node-7");
  expect(text).toContain("Reply-To: answers@example.com");
  expect(text).toContain("X-Team: GpuHot");
  expect(text).toContain("To: hidden@example.com");
  expect(text).toMatch(/^References: <thread-[0-9a-f]{32}@example.com>$/m);
  expect(text).toContain("Content-Type: text/plain; charset=utf-8");
  expect(text).not.toContain("text/html");
  receivers.close();
});

test("a wrong password is said without it, and asked for again only slowly", async () => {
  const server = await serve();
  const wrong = "hunter2-battery-staple";
  const receivers = await open(entry(server.port, signedIn), { EMAIL_PASS: wrong });
  const problem = await sendBy(receivers);
  expect(problem?.message).toMatch(/rejected the user name and password: .*Invalid/);
  expect(problem?.message).not.toContain("hunter2");
  expect(JSON.stringify(problem)).not.toContain("hunter2");
  expect([problem?.retryable, problem?.retryAfterMs]).toEqual([true, 300_000]);
  expect(server.mails).toHaveLength(0);
  receivers.close();
});

test("a password that is fixed in its file is used the next time", async () => {
  const server = await serve();
  const file = path.join(dir, "password");
  writeFileSync(file, "not yet\n");
  const receivers = await open(
    entry(server.port, "auth_username: gpulse\nauth_password_file: password"),
  );
  expect((await sendBy(receivers))?.retryable).toBe(true);
  writeFileSync(file, `${password}\n`);
  expect(await sendBy(receivers)).toBeUndefined();
  expect(server.mails).toHaveLength(1);
  receivers.close();
});

test("a server that is down is tried again, and takes it when it is back", async () => {
  const port = await freePort();
  const receivers = await open(entry(port, signedIn));
  const down = await sendBy(receivers);
  expect([down?.retryable, down?.message]).toEqual([true, expect.stringContaining("ECONNREFUSED")]);
  const server = await serve({ port });
  expect(await sendBy(receivers)).toBeUndefined();
  expect(server.mails).toHaveLength(1);
  receivers.close();
});

test("a certificate that nobody we know has signed stops us before the password is said", async () => {
  const said: string[] = [];
  const stranger = makeAuthority("another CA").issue({ commonName: "mail", names: ["127.0.0.1"] });
  const server = await serve({
    ...stranger,
    onAuth: (auth, _session, callback) => {
      said.push(auth.password ?? "");
      callback(new Error("no"));
    },
  });
  const receivers = await open(entry(server.port, signedIn));
  const problem = await sendBy(receivers);
  expect([problem?.retryable, problem?.message]).toEqual([
    true,
    expect.stringContaining("127.0.0.1"),
  ]);
  expect([said, server.mails]).toEqual([[], []]);
  receivers.close();
});

test("a server without STARTTLS gets nothing where TLS is required, and the mail where it is not", async () => {
  const server = await serve({
    hideSTARTTLS: true,
    disabledCommands: ["STARTTLS"],
    allowInsecureAuth: true,
  });
  const strict = await open(entry(server.port, signedIn));
  expect((await sendBy(strict))?.retryable).toBe(true);
  expect(server.mails).toHaveLength(0);
  const loose = await open(entry(server.port, `${signedIn}\nrequire_tls: false`));
  expect(await sendBy(loose)).toBeUndefined();
  expect(server.mails).toHaveLength(1);
  strict.close();
  loose.close();
});

test("a password is not sent beyond this host without TLS", async () => {
  const receivers = await open(
    entry(2_525, `${signedIn}\nrequire_tls: false`).replace("127.0.0.1:", "mail.example.com:"),
  );
  expect(receivers.warnings.join()).toContain("in plain text");
  const problem = await sendBy(receivers);
  expect([problem?.retryable, problem?.message]).toEqual([
    false,
    expect.stringContaining("require_tls"),
  ]);
  receivers.close();
});

test.each([
  [450, true],
  [550, false],
])("recipients that are all refused with %i are retried: %s", async (responseCode, retryable) => {
  const server = await serve({
    onRcptTo: (_address, _session, callback) =>
      callback(Object.assign(new Error("no such mailbox"), { responseCode })),
  });
  const receivers = await open(entry(server.port, signedIn));
  expect((await sendBy(receivers))?.retryable).toBe(retryable);
  receivers.close();
});

test("who was refused for now gets it at the next try, and who had it does not get it twice", async () => {
  const refusing = new Set(["second@example.com"]);
  const server = await serve({
    onRcptTo: ({ address }, _session, callback) =>
      callback(
        refusing.has(address) ? Object.assign(new Error("grey"), { responseCode: 451 }) : null,
      ),
  });
  const receivers = await open(entry(server.port, signedIn));
  const problem = await sendBy(receivers);
  expect([problem?.retryable, problem?.message]).toEqual([
    true,
    expect.stringContaining("second@example.com"),
  ]);
  refusing.clear();
  expect(await sendBy(receivers)).toBeUndefined();
  expect(server.mails.map(({ to }) => to)).toEqual([["ops@example.com"], ["second@example.com"]]);
  receivers.close();
});

test("a server that refuses the message after its last byte is believed", async () => {
  const server = await serve({
    onData: (stream, _session, callback) => {
      stream.resume();
      stream.on("end", () =>
        callback(Object.assign(new Error("looks like spam"), { responseCode: 554 })),
      );
    },
  });
  const receivers = await open(entry(server.port, signedIn));
  const problem = await sendBy(receivers);
  expect([problem?.retryable, problem?.message]).toEqual([
    false,
    expect.stringContaining("looks like spam"),
  ]);
  receivers.close();
});

test("given up in the middle, it ends the connection and says so", async () => {
  const server = await serve({ onConnect: () => undefined });
  const receivers = await open(entry(server.port, signedIn));
  const stop = new AbortController();
  const sending = sendBy(receivers, twoAlerts, stop.signal);
  setTimeout(() => stop.abort(), 50);
  const problem = await sending;
  expect([problem?.retryable, problem?.message]).toEqual([
    true,
    expect.stringContaining("given up"),
  ]);
  receivers.close();
});

test("a label cannot add a header or a recipient", async () => {
  const server = await serve();
  const more = `${signedIn}\nheaders: { Subject: '{{ .CommonLabels.host }}' }`;
  const receivers = await open(entry(server.port, more));
  const [alert] = twoAlerts.alerts;
  if (alert === undefined) throw new Error("BUG: no alert");
  const evil = { ...alert.labels, host: "x\r\nBcc: evil@example.com\r\n\r\nbody" };
  expect(await sendBy(receivers, notificationOf([{ ...alert, labels: evil }]))).toBeUndefined();
  const head = server.mails[0]?.text.split("\r\n\r\n")[0] ?? "";
  expect(head).toContain("Subject: x Bcc: evil@example.com body");
  expect(head).not.toMatch(/^Bcc:/m);
  expect(server.mails[0]?.to).toEqual(["ops@example.com", "second@example.com"]);
  receivers.close();
});

test("no header, address or name that a label is written into can begin another header or add a recipient", async () => {
  const server = await serve();
  const label = "{{ .CommonLabels.host }}";
  const text = entry(
    server.port,
    `${signedIn}
headers: { Subject: '${label}', Reply-To: '"${label}" <a@example.com>', Cc: '"${label}" <b@example.com>', X-Host: '${label}', Message-Id: '<${label}@example.com>', References: '${label}' }`,
  )
    .replace("from: gpulse <", `from: '"${label}" <`)
    .replace("gpulse@example.com>", "gpulse@example.com>'");
  const receivers = await open(text);
  const [alert] = twoAlerts.alerts;
  if (alert === undefined) throw new Error("BUG: no alert");
  for (const host of [
    "x\r\nBcc: evil@example.com\r\n\r\nbody",
    "x\nBcc: evil@example.com",
    "x\rBcc: evil@example.com",
    "x\u2028Bcc: evil@example.com\u0085Bcc: evil@example.com",
    "x\0\u000bBcc: evil@example.com",
  ]) {
    const labels = { ...alert.labels, host };
    expect(await sendBy(receivers, notificationOf([{ ...alert, labels }]))).toBeUndefined();
  }
  expect(server.mails).toHaveLength(5);
  for (const mail of server.mails) {
    expect(mail.from).toBe("gpulse@example.com");
    expect(mail.to).toEqual(["ops@example.com", "second@example.com"]);
    const head = mail.text.split("\r\n\r\n")[0] ?? "";
    expect(head).toContain("X-Host: x Bcc: evil@example.com");
    expect(head).not.toMatch(/^\s*Bcc:/im);
    expect(head).not.toMatch(/[^\r]\n|\r[^\n]|\0/);
  }
  receivers.close();
});

test("a label within HTML is text, and no link of an annotation is a program", async () => {
  const server = await serve();
  const receivers = await open(entry(server.port, signedIn));
  const [alert] = twoAlerts.alerts;
  if (alert === undefined) throw new Error("BUG: no alert");
  const evil = `<script>alert(1)</script><img src=x onerror=alert(1)>" onclick="alert(1)`;
  const hostile = {
    ...alert,
    labels: { ...alert.labels, host: evil, severity: evil },
    annotations: { summary: evil, description: evil, runbook_url: "javascript:alert(1)", x: evil },
    generatorUrl: `https://a.example/" onmouseover="alert(1)`,
  };
  expect(await sendBy(receivers, notificationOf([hostile]))).toBeUndefined();
  const raw = server.mails[0]?.text ?? "";
  const html = /text\/html[\s\S]*?\r\n\r\n([\s\S]*?)\r\n--/.exec(raw)?.[1] ?? "";
  const shown = html
    .replaceAll("=\r\n", "")
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  expect(shown).toContain("&lt;script&gt;");
  expect(shown).not.toMatch(/<(script|img)\b|href="javascript:/i);
  for (const tag of shown.match(/<[a-z][^>]*>/gi) ?? []) expect(tag).not.toMatch(/"\s*on\w+=/i);
  receivers.close();
});
