/** A real mail server on loopback for tests, with STARTTLS or TLS from the first byte, and AUTH; keeps what it was handed. */
import type { AddressInfo } from "node:net";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

export interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly user: string | undefined;
  readonly secure: boolean;
  readonly text: string;
}

export interface MailServer {
  readonly port: number;
  readonly mails: Mail[];
  close(): Promise<void>;
}

export interface MailServerOptions extends SMTPServerOptions {
  readonly port?: number;
  readonly user?: string;
  readonly password?: string;
}

export async function startMailServer(options: MailServerOptions): Promise<MailServer> {
  const mails: Mail[] = [];
  const { port = 0, user, password, ...rest } = options;
  const server = new SMTPServer({
    authOptional: user === undefined,
    onAuth: (auth, _session, callback) => {
      const right =
        auth.method === "CRAM-MD5"
          ? auth.validatePassword(password ?? "")
          : auth.username === user && auth.password === password;
      if (right) callback(null, { user: auth.username ?? "" });
      else callback(new Error("Invalid username or password"));
    },
    onData: (stream, session, callback) => {
      const parts: Buffer[] = [];
      stream.on("data", (part: Buffer) => parts.push(part));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          user: session.user as string | undefined,
          secure: session.secure,
          text: Buffer.concat(parts).toString("utf8"),
        });
        callback(null);
      });
    },
    ...rest,
  });
  // A client that ends a connection in the middle is what some tests are about.
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
