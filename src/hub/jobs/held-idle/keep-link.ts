/**
 * Links with which a job's owner keeps its idle GPUs, without an account on the hub: `/keep?job=ID&expires=MS&signature=…`. The
 * signature is the HMAC-SHA256 of job and expiry with a key that never leaves the data folder, so a link is valid for one job
 * and for a week.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

const lifeMs = 7 * 86_400_000;

export class KeepLinks {
  readonly #key: Buffer;
  readonly #baseUrl: string;

  constructor(key: Buffer, baseUrl: string) {
    this.#key = key;
    this.#baseUrl = baseUrl;
  }

  /** Constant within an hour, so that a repeated alert does not change. */
  linkTo(job: string, nowMs: number): string {
    const expires = String(Math.floor(nowMs / 3_600_000) * 3_600_000 + lifeMs);
    const query = new URLSearchParams({ job, expires, signature: this.#sign(job, expires) });
    return `${this.#baseUrl}/keep?${query.toString()}`;
  }

  isValid(job: string, expires: string, signature: string, nowMs: number): boolean {
    const given = Buffer.from(signature);
    const right = Buffer.from(this.#sign(job, expires));
    return (
      given.length === right.length && timingSafeEqual(given, right) && nowMs < Number(expires)
    );
  }

  #sign(job: string, expires: string): string {
    return createHmac("sha256", this.#key)
      .update(JSON.stringify([job, expires]))
      .digest("base64url");
  }
}
