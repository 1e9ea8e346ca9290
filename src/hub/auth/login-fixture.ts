/** A hub with users in a test: made from a folder of its own, with cheap hashes and a clock that the test sets. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { FastifyInstance } from "fastify";
import { AuditLog } from "../../access/audit.ts";
import { type AccessState, closeAccess, openAccess } from "../../access/open.ts";
import { type Role, Users } from "../../access/users.ts";
import { BasicUsers } from "../../net/http/basic-users.ts";
import { silentLog } from "../../base/log.ts";
import { LatestFrames } from "../../sinks/latest/latest.ts";
import { buildHub, type HubOptions } from "../hub.ts";
import type { HubAccess } from "./authenticator.ts";
import { RefusalCounts } from "./own-frame.ts";

export const password = "correct horse battery";
const cost = { ln: 4, r: 8, p: 1 };

export class LoginFixture {
  readonly dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-people-"));
  nowMs = Date.now();
  readonly logged: string[] = [];
  readonly ends: (() => Promise<void>)[] = [];
  state: AccessState = this.#open();

  async close(): Promise<void> {
    for (const end of this.ends.splice(0)) await end();
    closeAccess(this.state);
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** As after a restart. */
  reopen(): void {
    closeAccess(this.state);
    this.state = this.#open();
  }

  addUser(name: string, role: Role) {
    return this.state.accounts.add({ name, role, password }, this.nowMs);
  }

  /** The same files as another process has them. */
  otherUsers(): Users {
    const users = new Users({ dataDir: this.dataDir, log: silentLog, random: randomBytes, cost });
    this.ends.push(async () => users.close());
    return users;
  }

  options(changes: Partial<HubAccess> = {}): HubOptions {
    const write = (message: string, fields?: object) =>
      void this.logged.push(JSON.stringify({ message, ...fields }));
    return {
      latest: new LatestFrames(),
      host: "0.0.0.0",
      port: 0,
      hostName: "lab",
      webDir: this.dataDir,
      log: { ...silentLog, warn: write, info: write },
      nowMs: () => this.nowMs,
      version: "1.2.3",
      metricsPage: () => ({ body: "# metrics\n", contentType: "text/plain" }),
      stats: () => ({ devices: [] }),
      ready: () => ({ ready: true, problems: [] }),
      access: {
        ...this.state,
        users: () => new BasicUsers(new Map()),
        openReads: false,
        openWithoutTokens: false,
        secure: true,
        random: randomBytes,
        refused: new RefusalCounts(),
        ...changes,
      },
      audit: new AuditLog({ dataDir: this.dataDir, log: silentLog, nowMs: () => this.nowMs }),
    };
  }

  async hub(changes: Partial<HubAccess> = {}): Promise<FastifyInstance> {
    const app = await buildHub(this.options(changes));
    app.post("/-/quit", async () => ({ quit: true }));
    app.get("/api/pipes", async () => ({ pipes: [] }));
    this.ends.push(() => app.close());
    return app;
  }

  #open(): AccessState {
    return openAccess({ dataDir: this.dataDir, log: silentLog, random: randomBytes, cost });
  }
}

/** What a browser says of a request that our own page makes. */
export const sameOriginHeaders = { "sec-fetch-site": "same-origin" };
export const form = {
  "content-type": "application/x-www-form-urlencoded",
  accept: "text/html",
};
export const basic = (user: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString("base64")}`,
});

/** Name and value of the first cookie that an answer sets; empty where it sets none. */
export function cookieIn({
  "set-cookie": given,
}: Readonly<Record<string, number | string | string[] | undefined>>): string {
  const first = Array.isArray(given) ? given.at(-1) : given;
  return typeof first === "string" ? (first.split(";", 1)[0] ?? "") : "";
}

export async function logIn(app: FastifyInstance, name: string, secret = password, next = "") {
  const answer = await app.inject({
    method: "POST",
    url: "/api/login",
    headers: form,
    payload: new URLSearchParams({ name, password: secret, next }).toString(),
  });
  return { answer, cookie: cookieIn(answer.headers) };
}

export const statusOf = async (app: FastifyInstance, cookie: string, url = "/metrics") =>
  (await app.inject({ url, headers: { cookie } })).statusCode;

export const change = (
  app: FastifyInstance,
  cookie: string,
  headers: Record<string, string> = sameOriginHeaders,
) => app.inject({ method: "POST", url: "/-/quit", headers: { cookie, ...headers } });
