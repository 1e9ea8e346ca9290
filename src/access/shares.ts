/**
 * Share links, which show a view to anyone who has the link until it expires; stored in `access/shares.state` of the data
 * folder. The secret of a link is shown once, stored as SHA-256, and is only in the URL fragment, which browsers send to no
 * server.
 */
import path from "node:path";
import * as v from "valibot";
import { GpulseError } from "../base/error.ts";
import { Secret } from "../net/http/secret.ts";
import type { Log } from "../base/log.ts";
import { StateMap } from "../base/state/state-map.ts";
import { digestOf } from "./token.ts";
import { tokenStateOf } from "./tokens.ts";

const shareSchema = v.object({
  id: v.string(),
  name: v.string(),
  /** Path the link opens, such as `/gpu?uuid=…`. */
  page: v.string(),
  digest: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  createdMs: v.number(),
  createdBy: v.string(),
  expiresMs: v.number(),
  revokedMs: v.optional(v.number()),
});
export type Share = Readonly<v.InferOutput<typeof shareSchema>>;

export const readShare = (value: unknown): Share | undefined => read(shareSchema, value);

const useSchema = v.object({ count: v.number(), lastMs: v.number() });
export type ShareUse = Readonly<v.InferOutput<typeof useSchema>>;

export interface NewShare {
  readonly name: string;
  readonly page: string;
  readonly createdBy: string;
  readonly expiresMs: number;
}

export const maxShareMs = 90 * 86_400_000;
export const defaultShareMs = 7 * 86_400_000;
export const shareName = /^[^\p{Cc}]{1,100}$/u;
const maxShares = 1_000;
const forgetAfterMs = 90 * 86_400_000;
const pattern = /^gpulse_share_[\w-]{43}$/;

export class Shares {
  readonly #shares: StateMap<Share>;
  readonly #used: StateMap<ShareUse>;

  constructor({ dataDir, log }: { readonly dataDir: string; readonly log: Log }) {
    const folder = path.join(dataDir, "access");
    const kept = { log, shared: true, maxEntries: maxShares };
    this.#shares = new StateMap(path.join(folder, "shares.state"), {
      ...kept,
      sync: true,
      strict: true,
      parse: readShare,
    });
    this.#used = new StateMap(path.join(folder, "share-use.state"), {
      ...kept,
      parse: (value) => read(useSchema, value),
    });
  }

  list(): Share[] {
    return [...this.#shares.values()].sort((a, b) => a.createdMs - b.createdMs);
  }

  /** While true, every link is refused: a lost record may be a revocation. */
  get isDamaged(): boolean {
    return this.#shares.isDamaged;
  }

  get(id: string): Share | undefined {
    return this.#shares.get(id);
  }

  useOf(id: string): ShareUse | undefined {
    return this.#used.get(id);
  }

  add(
    wanted: NewShare,
    nowMs: number,
    random: (bytes: number) => Buffer,
  ): { readonly share: Share; readonly secret: Secret } {
    if (!shareName.test(wanted.name))
      throw new GpulseError("SHARE", "A share's name has 1 to 100 characters on one line.");
    if (!(wanted.expiresMs > nowMs && wanted.expiresMs <= nowMs + maxShareMs))
      throw new GpulseError("SHARE", "A share ends within 90 days: choose an end, such as 7d.");
    this.refresh();
    this.#forgetOld(nowMs);
    if (this.#shares.size >= maxShares)
      throw new GpulseError(
        "SHARE",
        `There are ${maxShares} shares already: revoke some, they are forgotten ninety days after their end.`,
      );
    const secret = `gpulse_share_${random(32).toString("base64url")}`;
    const share: Share = {
      id: random(6).toString("hex"),
      ...wanted,
      digest: digestOf(secret),
      createdMs: nowMs,
    };
    this.#shares.put(share.id, share);
    return { share, secret: new Secret(secret) };
  }

  /** Finds the share by id, or the newest live one by name. */
  revoke(nameOrId: string, nowMs: number): Share {
    this.refresh();
    const found = this.list().filter(({ id, name }) => id === nameOrId || name === nameOrId);
    const share = found.findLast((one) => tokenStateOf(one, nowMs) === "live");
    if (share === undefined)
      throw new GpulseError(
        "SHARE",
        found.length > 0
          ? `The share ${nameOrId.slice(0, 100)} has ended already.`
          : `There is no share ${nameOrId.slice(0, 100)}: gpulse share list shows them.`,
      );
    const revoked = { ...share, revokedMs: nowMs };
    this.#shares.put(share.id, revoked);
    return revoked;
  }

  /** Returns the share of this secret; undefined if there is none or it has ended. */
  find(secret: string, nowMs: number): Share | undefined {
    if (this.isDamaged || !pattern.test(secret)) return undefined;
    const digest = digestOf(secret);
    return this.list().find(
      (share) => share.digest === digest && tokenStateOf(share, nowMs) === "live",
    );
  }

  stillGood(id: string, nowMs: number): boolean {
    const share = this.#shares.get(id);
    return !this.isDamaged && share !== undefined && tokenStateOf(share, nowMs) === "live";
  }

  noteUse(id: string, nowMs: number): void {
    this.#used.put(id, { count: (this.#used.get(id)?.count ?? 0) + 1, lastMs: nowMs });
  }

  refresh(): boolean {
    this.#used.refresh();
    return this.#shares.refresh();
  }

  close(): void {
    this.#shares.close();
    this.#used.close();
  }

  #forgetOld(nowMs: number): void {
    for (const { id, revokedMs, expiresMs } of this.list()) {
      if (nowMs - (revokedMs ?? expiresMs) < forgetAfterMs) continue;
      this.#shares.delete(id);
      this.#used.delete(id);
    }
  }
}

function read<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
): v.InferOutput<Schema> | undefined {
  const parsed = v.safeParse(schema, value);
  return parsed.success ? parsed.output : undefined;
}
