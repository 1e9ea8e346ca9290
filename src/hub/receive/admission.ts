/**
 * Limits ingestion in progress: bytes of request bodies, compressed and decompressed, and queued requests. Both are divided by
 * fair share, so that a flood from one client leaves room for the others.
 */
import type { ClientKey } from "../../base/fair/client-key.ts";
import { FairShare } from "../../base/fair/fair-share.ts";
import { FairSlots, NoSlotError } from "../../base/fair/fair-slots.ts";
import { clientDisconnected, tooBusy, clientShareExceeded } from "./failure.ts";

export interface AdmissionLimits {
  readonly bytes: number;
  /** Requests with a complete body; one whose body is still arriving only holds bytes. */
  readonly requests: number;
  /** Number of decoder threads: a single client may have one large body in each. */
  readonly workers: number;
}

const defaultLimits: AdmissionLimits = { bytes: 256 * 2 ** 20, requests: 4_096, workers: 0 };

/** Large bodies waiting to be decompressed and decoded. */
const maxWaitingLarge = 256;
const largeWaitMs = 20_000;

export class IngestAdmission {
  readonly #bytes: FairShare;
  readonly #requests: FairShare;
  readonly #large: FairSlots;

  constructor(limits: Partial<AdmissionLimits> = {}) {
    const { bytes, requests, workers } = { ...defaultLimits, ...limits };
    // One client may have half of the slots; with at most one worker, clients take turns with one body each.
    this.#large = new FairSlots({ slots: Math.max(1, 2 * workers), maxWaiting: maxWaitingLarge });
    this.#bytes = new FairShare(bytes);
    this.#requests = new FairShare(requests);
  }

  get bytes(): number {
    return this.#bytes.used;
  }

  get requests(): number {
    return this.#requests.used;
  }

  /** @param connection requests of one connection are stored in the order of arrival */
  hold(client: ClientKey, connection: object = client): AdmissionHold {
    return new AdmissionHold(client, connection, this.#bytes, this.#requests, this.#large);
  }
}

/** @throws ReceiveError, without a reservation: 429 if the client itself exceeds its share, 503 if others hold it all. */
function take(share: FairShare, client: ClientKey, amount: number): void {
  if (!share.allows(client, amount))
    throw share.heldByPrincipal(client.principal) === 0 ? tooBusy() : clientShareExceeded();
  share.take(client, amount);
}

/** The reservations of one request; released when the request ends for any reason. */
export class AdmissionHold {
  readonly client: ClientKey;
  readonly connection: object;
  readonly #byteShare: FairShare;
  readonly #requestShare: FairShare;
  readonly #largeSlots: FairSlots;
  #leaveLarge: (() => void) | undefined;
  #bytes = 0;
  #requests = 0;
  #released = false;

  constructor(
    client: ClientKey,
    connection: object,
    byteShare: FairShare,
    requestShare: FairShare,
    largeSlots: FairSlots,
  ) {
    this.#largeSlots = largeSlots;
    this.client = client;
    this.connection = connection;
    this.#byteShare = byteShare;
    this.#requestShare = requestShare;
  }

  /** @throws ReceiveError, without a reservation, if the limit is reached or the client has disconnected. */
  take(bytes: number): void {
    // A reservation made after the release would never be returned.
    if (this.#released) throw clientDisconnected();
    if (bytes === 0) return;
    take(this.#byteShare, this.client, bytes);
    this.#bytes += bytes;
  }

  /** True after the client has disconnected or the response was sent. */
  get isReleased(): boolean {
    return this.#released;
  }

  /** True if no other request with a complete body is in progress. */
  get isAlone(): boolean {
    return this.#requestShare.used <= 1;
  }

  /** Call when the body is complete: from now on the request counts as queued. */
  begin(): void {
    if (this.#released) throw clientDisconnected();
    take(this.#requestShare, this.client, 1);
    this.#requests++;
  }

  /**
   * Waits until this request may decompress and decode a large body; returns at once if it may already.
   * @throws ReceiveError if too many requests wait.
   */
  async enterLarge(): Promise<void> {
    if (this.#leaveLarge !== undefined) return;
    const leave = await this.#largeSlots
      .enter({ client: this.client, waitMs: largeWaitMs })
      .catch((thrown: unknown) => {
        if (!(thrown instanceof NoSlotError)) throw thrown;
        throw thrown.reason === "share" ? clientShareExceeded() : tooBusy();
      });
    if (this.#released) {
      leave();
      throw clientDisconnected();
    }
    this.#leaveLarge = leave;
  }

  /** Call when the large body is decoded: the next one may begin. */
  leaveLarge(): void {
    this.#leaveLarge?.();
    this.#leaveLarge = undefined;
  }

  release(): void {
    this.#released = true;
    this.leaveLarge();
    if (this.#bytes > 0) this.#byteShare.give(this.client, this.#bytes);
    if (this.#requests > 0) this.#requestShare.give(this.client, this.#requests);
    this.#bytes = 0;
    this.#requests = 0;
  }
}
