/** The position of a frame in a log that can be read again, and dead letters for input that cannot be decoded. */

/** A position in a log of numbered records, such as a Kafka partition. */
export interface Origin {
  /** The log's name: a topic, without the address of its server. */
  readonly log: string;
  /** Distinguishes logs that used the same name, such as a topic that was deleted and created again. */
  readonly logId?: string | undefined;
  readonly partition: number;
  readonly offset: number;
  /**
   * The first record that this position covers: all records from here to `offset` have been read, including those without a frame.
   * Equal to `offset` if absent.
   */
  readonly since?: number | undefined;
}

/** Input that can never become a frame. Stored with the reason, so that the stream continues and no data is lost. */
export interface DeadLetter {
  readonly content: Uint8Array;
  /** One sentence. */
  readonly reason: string;
  readonly source: string;
  readonly origin?: Origin | undefined;
}
