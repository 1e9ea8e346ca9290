/** Where a frame stands in a log that can be read again, and what becomes of a piece of input nobody can use. */

/** One place in a log of numbered records, such as a Kafka partition. */
export interface Origin {
  /** The log's name: a topic, without the address of its server. */
  readonly log: string;
  /** Distinguishes logs that had the same name one after the other, such as a topic that was deleted and created again. */
  readonly logId?: string | undefined;
  readonly partition: number;
  readonly offset: number;
  /** Every record from here to `offset` was read: those without a frame have none. `offset` where absent. */
  readonly since?: number | undefined;
}

/** Input that can never become a frame, stored with the reason so that the stream continues and nothing is lost. */
export interface DeadLetter {
  readonly content: Uint8Array;
  /** One sentence. */
  readonly reason: string;
  readonly source: string;
  readonly origin?: Origin | undefined;
}
