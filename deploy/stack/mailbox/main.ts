// A mail server for the stack that delivers nothing: accepts mail like a real one (STARTTLS, authentication) on loopback, stores
// the last messages, and serves them as JSON on /messages.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { SMTPServer } from "smtp-server";

import { decodedSubject, textOf } from "./message.ts";

const KEPT = 500;
const LARGEST_BYTES = 1_000_000;

interface Message {
  readonly at: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly secure: boolean;
  readonly text: string;
}

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") throw new Error(`${name} is not set`);
  return value;
}

const [user, password] = [setting("SMTP_USER"), setting("EMAIL_PASS")];
const messages: Message[] = [];
let received = 0;

const smtp = new SMTPServer({
  cert: readFileSync(setting("MAIL_CERT_FILE")),
  key: readFileSync(setting("MAIL_KEY_FILE")),
  size: LARGEST_BYTES,
  onAuth: (auth, _session, callback) => {
    if (auth.username === user && auth.password === password) callback(null, { user });
    else callback(new Error("wrong user or password"));
  },
  onData: (stream, session, callback) => {
    const parts: Buffer[] = [];
    stream.on("data", (part: Buffer) => parts.push(part));
    stream.on("end", () => {
      const source = Buffer.concat(parts).toString("utf8");
      const { mailFrom, rcptTo } = session.envelope;
      const message = {
        at: new Date().toISOString(),
        from: mailFrom === false ? "" : mailFrom.address,
        to: rcptTo.map(({ address }) => address),
        subject: decodedSubject(source),
        secure: session.secure,
        text: textOf(source),
      };
      messages.push(message);
      received++;
      if (messages.length > KEPT) messages.shift();
      process.stdout.write(`${message.to.join(", ")}: ${message.subject}\n`);
      callback(null);
    });
  },
});
smtp.on("error", (error) => process.stderr.write(`${error.message}\n`));

const web = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? "/", "http://mailbox");
  const answer =
    pathname === "/healthz"
      ? { ok: true }
      : pathname === "/messages"
        ? { received, messages }
        : undefined;
  response
    .writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" })
    .end(JSON.stringify(answer ?? { error: "there is /messages and /healthz" }));
});

smtp.listen(Number(setting("SMTP_PORT")), "127.0.0.1", () => {
  web.listen(Number(setting("PORT")), "127.0.0.1", () =>
    process.stdout.write("takes mail, and delivers none\n"),
  );
});
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(0));
