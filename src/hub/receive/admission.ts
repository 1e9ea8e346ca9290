/**
 * How much may be under way at once: bytes of request bodies, packed and unpacked, and requests being worked on. One
 * sender gets no more than its share, so that a flood from one address leaves room for the others.
 */
import { hungUp, tooBusy, yourShare } from "./failure.ts";

export interface AdmissionLimits {
  readonly bytes: number;
  /** Requests whose body is here: one whose body trickles in holds bytes, and no place in this line. */
  readonly requests: number;
  /** The part of both that one address may have. */
  readonly share: number;
}

const defaultLimits: AdmissionLimits = { bytes: 256 * 2 ** 20, requests: 256, share: 0.5 };

interface Held {
  bytes: number;
  requests: number;
}

export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #all: Held = { bytes: 0, requests: 0 };
  readonly #bySender = new Map<string, Held>();

  constructor(limits: Partial<AdmissionLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
  }

  get bytes(): number {
    return this.#all.bytes;
  }

  get requests(): number {
    return this.#all.requests;
  }

  hold(sender: string): Hold {
    return new Hold((bytes, requests) => this.#move(sender, bytes, requests));
  }

  #move(sender: string, bytes: number, requests: number): void {
    const { share, ...most } = this.#limits;
    const all = this.#all;
    const held = this.#bySender.get(sender) ?? { bytes: 0, requests: 0 };
    if (bytes > 0 || requests > 0) {
      if (
        held.bytes + bytes > most.bytes * share ||
        held.requests + requests > most.requests * share
      )
        throw yourShare();
      if (all.bytes + bytes > most.bytes || all.requests + requests > most.requests)
        throw tooBusy();
    }
    all.bytes += bytes;
    all.requests += requests;
    held.bytes += bytes;
    held.requests += requests;
    if (held.bytes === 0 && held.requests === 0) this.#bySender.delete(sender);
    else this.#bySender.set(sender, held);
  }
}

/** What one request has of it; all of it is given back at the end, however the request ended. */
export class Hold {
  readonly #move: (bytes: number, requests: number) => void;
  #bytes = 0;
  #requests = 0;
  #released = false;

  constructor(move: (bytes: number, requests: number) => void) {
    this.#move = move;
  }

  /** @throws ReceiveFailure when there is no room, or nobody waits for it any more, with nothing taken. */
  take(bytes: number): void {
    // What is taken after the end would never be given back.
    if (this.#released) throw hungUp();
    this.#move(bytes, 0);
    this.#bytes += bytes;
  }

  /** The body is here: the request waits for its turn from now on. */
  begin(): void {
    if (this.#released) throw hungUp();
    this.#move(0, 1);
    this.#requests++;
  }

  release(): void {
    this.#released = true;
    this.#move(-this.#bytes, -this.#requests);
    this.#bytes = 0;
    this.#requests = 0;
  }
}
