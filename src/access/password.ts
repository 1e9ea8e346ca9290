/**
 * Password hashes: scrypt, which costs memory as well as time, so that a stolen file is slow to crack on any hardware. The
 * parameters are stored with the hash, so that they can be raised later. A password itself is in no file, log or response.
 *
 *   scrypt$ln=17,r=8,p=1$SALT$HASH     16 and 32 bytes in base64url; N is 2^ln
 */
import { scrypt, timingSafeEqual } from "node:crypto";
import { GpulseError } from "../base/error.ts";

export interface ScryptCost {
  /** Binary logarithm of N. */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

/** 128 MiB and about 0.3 s per check: the first of OWASP's recommended scrypt parameters. */
export const defaultScryptCost: ScryptCost = { ln: 17, r: 8, p: 1 };
/** Concurrent hashes; each uses 128 MiB while it runs. */
const atOnce = 2;
const maxWaiting = 32;

const minPasswordLength = 10;
export const maxPasswordLength = 1_024;
const saltBytes = 16;
const hashBytes = 32;
const pattern = /^scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w-]{22})\$([\w-]{43})$/;

/** Throws if `password` is not acceptable for the user `name`. */
export function checkNewPassword(name: string, password: string): void {
  const length = Array.from(password).length;
  const why =
    length < minPasswordLength
      ? `must have at least ${minPasswordLength} characters, and this one has ${length}`
      : password.length > maxPasswordLength
        ? `must have at most ${maxPasswordLength} characters`
        : password.toLowerCase().includes(name.toLowerCase()) && length < name.length + 4
          ? "must be more than the user's name"
          : new Set(password).size < 4
            ? "must have at least 4 different characters"
            : undefined;
  if (why !== undefined) throw new GpulseError("PASSWORD", `A password ${why}.`);
}

export const isPasswordHash = (text: string): boolean => partsOf(text) !== undefined;

/** Limits concurrent hashing, so that memory is bounded: further calls queue, and calls beyond the queue are rejected. */
export class Passwords {
  readonly #random: (bytes: number) => Buffer;
  readonly #cost: ScryptCost;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(random: (bytes: number) => Buffer, cost: ScryptCost = defaultScryptCost) {
    this.#random = random;
    this.#cost = cost;
  }

  /** True if the queue is full. */
  get isBusy(): boolean {
    return this.#waiting.length >= maxWaiting;
  }

  async hash(password: string): Promise<string> {
    const { ln, r, p } = this.#cost;
    const salt = this.#random(saltBytes);
    const hash = await this.#inTurn(() => derive(password, salt, this.#cost));
    return `scrypt$ln=${ln},r=${r},p=${p}$${salt.toString("base64url")}$${hash.toString("base64url")}`;
  }

  /** Without a `stored` hash it takes the same time and returns false, so that response times do not reveal which names exist. */
  async matches(password: string, stored: string | undefined): Promise<boolean> {
    const parts = stored === undefined ? undefined : partsOf(stored);
    const { cost, salt, hash } = parts ?? {
      cost: this.#cost,
      salt: Buffer.alloc(saltBytes),
      hash: Buffer.alloc(hashBytes),
    };
    const found = await this.#inTurn(() => derive(password, salt, cost));
    return timingSafeEqual(found, hash) && parts !== undefined;
  }

  /** True if the hash was made with a lower cost than new ones. */
  isWeak(stored: string): boolean {
    const cost = partsOf(stored)?.cost;
    return cost === undefined || work(cost) < work(this.#cost);
  }

  async #inTurn<Value>(run: () => Promise<Value>): Promise<Value> {
    if (this.#running >= atOnce) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running++;
    try {
      return await run();
    } finally {
      // Hands the slot directly to the next caller in the queue.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}

const work = ({ ln, r, p }: ScryptCost): number => 2 ** ln * r * p;

function partsOf(stored: string): { cost: ScryptCost; salt: Buffer; hash: Buffer } | undefined {
  const [, ln, r, p, salt = "", hash = ""] = pattern.exec(stored) ?? [];
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) };
  // Bounds the parameters: a tampered file must not make the hub allocate gigabytes.
  const isSane = cost.ln >= 1 && cost.ln <= 20 && cost.r >= 1 && cost.r <= 16 && cost.p >= 1;
  if (!isSane || cost.p > 8) return undefined;
  return { cost, salt: Buffer.from(salt, "base64url"), hash: Buffer.from(hash, "base64url") };
}

/** Normalizes to NFKC: the same letters typed on another keyboard are the same password. */
function derive(password: string, salt: Buffer, { ln, r, p }: ScryptCost): Promise<Buffer> {
  const N = 2 ** ln;
  const text = password.slice(0, maxPasswordLength).normalize("NFKC");
  return new Promise((resolve, reject) =>
    scrypt(text, salt, hashBytes, { N, r, p, maxmem: 256 * N * r }, (problem, key) =>
      problem === null ? resolve(key) : reject(problem),
    ),
  );
}
