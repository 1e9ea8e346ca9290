/** One SMTP session: connect, TLS, authenticate, deliver one message, quit. Ends at once if aborted. */
import type { ConnectionOptions } from "node:tls";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import { NotifyError } from "../../route/notification.ts";

export interface SmtpLogin {
  readonly username: string;
  readonly identity: string;
  readonly secret: string;
  readonly cramMd5: boolean;
}

export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  readonly hello: string;
  readonly implicitTls: boolean;
  readonly requireTls: boolean;
  readonly tls: ConnectionOptions;
  readonly login: SmtpLogin | undefined;
}

export interface MailEnvelope {
  readonly from: string;
  readonly to: readonly string[];
}

export interface SmtpResult {
  readonly accepted: readonly string[];
  /** Recipients rejected temporarily (`later`) and permanently (`never`). */
  readonly later: readonly string[];
  readonly never: readonly string[];
}

const connectTimeoutMs = 10_000;
const idleTimeoutMs = 20_000;
/** A wrong password is retried at this interval, since it may be fixed in its file; more attempts would lock the account. */
const signInAgainMs = 300_000;

/** @throws NotifyError */
export async function sendOver(
  server: SmtpServer,
  envelope: MailEnvelope,
  message: Buffer,
  signal: AbortSignal,
): Promise<SmtpResult> {
  const connection = new SMTPConnection({
    host: server.host,
    port: server.port,
    name: server.hello,
    secure: server.implicitTls,
    requireTLS: server.requireTls && !server.implicitTls,
    // As in Alertmanager: if TLS is not required, STARTTLS is not used either.
    ignoreTLS: !server.requireTls,
    tls: server.tls,
    ...(typeof server.tls.servername === "string" ? { servername: server.tls.servername } : {}),
    connectionTimeout: connectTimeoutMs,
    greetingTimeout: connectTimeoutMs,
    socketTimeout: idleTimeoutMs,
    dnsTimeout: connectTimeoutMs,
    maxResponseSize: 64 * 1024,
    ...identityAuth(server.login),
  });
  let giveUp = (): void => undefined;
  try {
    return await new Promise<SmtpResult>((resolve, reject) => {
      giveUp = () => reject(new Error("given up"));
      signal.addEventListener("abort", giveUp, { once: true });
      if (signal.aborted) giveUp();
      connection.on("error", reject);
      connection.on("end", () => reject(new Error("the mail server ended the connection")));
      session(connection, server, envelope, message).then(resolve, reject);
    });
  } catch (thrown) {
    throw smtpError(thrown, server);
  } finally {
    signal.removeEventListener("abort", giveUp);
    // An error may still occur while the connection closes; nothing waits for it.
    connection.on("error", () => undefined);
    connection.close();
  }
}

async function session(
  connection: SMTPConnection,
  { login }: SmtpServer,
  { from, to }: MailEnvelope,
  message: Buffer,
): Promise<SmtpResult> {
  await new Promise<void>((resolve, reject) => {
    connection.connect((error) => (error === undefined ? resolve() : reject(error)));
  });
  if (login !== undefined) {
    const { username, secret, cramMd5, identity } = login;
    const method = cramMd5 ? "CRAM-MD5" : identity !== "" ? "PLAIN" : false;
    await new Promise<void>((resolve, reject) => {
      connection.login({ user: username, pass: secret, method }, (error) =>
        error === null ? resolve() : reject(error),
      );
    });
  }
  return new Promise((resolve, reject) => {
    connection.send({ from, to: [...to] }, message, (error, info) => {
      if (error !== null || info === undefined) {
        reject(error ?? new Error("BUG: a message was neither accepted nor rejected"));
        return;
      }
      const errors = info.rejectedErrors ?? [];
      const isLater = (address: string): boolean =>
        errors.some(
          ({ recipient, responseCode }) =>
            recipient === address && responseCode !== undefined && responseCode < 500,
        );
      const { accepted, rejected } = info;
      connection.quit();
      resolve({
        accepted,
        later: rejected.filter(isLater),
        never: rejected.filter((address) => !isLater(address)),
      });
    });
  });
}

/** AUTH PLAIN with an authorization identity, which the library leaves empty. */
function identityAuth(login: SmtpLogin | undefined) {
  if (login === undefined || login.identity === "") return {};
  const { identity, username, secret } = login;
  const text = Buffer.from(`${identity}\0${username}\0${secret}`).toString("base64");
  return {
    customAuth: {
      PLAIN: async (context: {
        sendCommand(command: string): Promise<{ readonly status: number; readonly text: string }>;
        resolve(): void;
        reject(error: Error): void;
      }) => {
        const { status, text: message } = await context.sendCommand(`AUTH PLAIN ${text}`);
        if (status === 235) context.resolve();
        else
          context.reject(
            Object.assign(new Error(`${status} ${message}`), {
              code: "EAUTH",
              responseCode: status,
            }),
          );
      },
    },
  };
}

/** Maps an SMTP error: 4yz is retryable, 5yz is not, and a failed connection is retryable. */
function smtpError(thrown: unknown, { host, port }: SmtpServer): NotifyError {
  if (thrown instanceof NotifyError) return thrown;
  const error = thrown as {
    readonly message?: string;
    readonly code?: string;
    readonly responseCode?: number;
  };
  const where = `the mail server ${host}:${port}`;
  const message = error.message ?? String(thrown);
  const status = error.responseCode ?? 0;
  if (error.code === "EAUTH")
    return new NotifyError(`${where} rejected the user name and password: ${message}`, {
      retryable: true,
      retryAfterMs: status >= 400 && status < 500 ? 60_000 : signInAgainMs,
    });
  if (error.code === "ETLS")
    return new NotifyError(`${where} failed to negotiate TLS: ${message}`, {
      retryable: true,
      retryAfterMs: 60_000,
    });
  if (status >= 500)
    return new NotifyError(`${where} refused the message: ${message}`, { retryable: false });
  return new NotifyError(`${where}: ${message}`, { retryable: true });
}
