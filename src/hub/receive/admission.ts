/**
 * How much may be under way at once: bytes of request bodies, packed and unpacked, and requests being worked on. One
 * sender gets no more than its share, so that a flood from one address leaves room for the others; and all of them together
 * no more than a while before rules, pages and questions have their turn.
 */
import { hungUp, tooBusy, yourShare } from "./failure.ts";

export interface AdmissionLimits {
  readonly bytes: number;
  /** Requests whose body is here: one whose body trickles in holds bytes, and no place in this line. */
  readonly requests: number;
  /** The part of both that one address may have. */
  readonly share: number;
  /** How long requests may follow one another before the event loop comes to anything else. */
  readonly turnMs: number;
  /** So many of them may come after one another however long they take: a machine may be slow. */
  readonly turnRequests: number;
}

const defaultLimits: AdmissionLimits = {
  bytes: 256 * 2 ** 20,
  requests: 256,
  share: 0.5,
  turnMs: 1_000,
  turnRequests: 200,
};

interface Held {
  bytes: number;
  requests: number;
}

export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #all: Held = { bytes: 0, requests: 0 };
  readonly #bySender = new Map<string, Held>();
  /** This turn of the event loop, which reads from every connection that has something to say before it goes on. */
  #turn: { readonly beganMs: number; requests: number } | undefined;

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
    return new Hold((bytes, requests) => {
      if (requests > 0) this.#count();
      this.#move(sender, bytes, requests);
    });
  }

  /** @throws ReceiveFailure where requests have had the loop for too long. */
  #count(): void {
    if (this.#turn === undefined) {
      this.#turn = { beganMs: performance.now(), requests: 0 };
      // Comes when the loop has read from all of them.
      setImmediate(() => (this.#turn = undefined));
    }
    const { turnMs, turnRequests } = this.#limits;
    const isMany = ++this.#turn.requests > turnRequests;
    if (isMany && performance.now() - this.#turn.beganMs > turnMs) throw tooBusy();
  }

  #move(sender: string, bytes: number, requests: number): void {
    const { share, bytes: mostBytes, requests: mostRequests } = this.#limits;
    const all = this.#all;
    const held = this.#bySender.get(sender) ?? { bytes: 0, requests: 0 };
    if (bytes > 0 || requests > 0) {
      if (held.bytes + bytes > mostBytes * share || held.requests + requests > mostRequests * share)
        throw yourShare();
      if (all.bytes + bytes > mostBytes || all.requests + requests > mostRequests) throw tooBusy();
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
