/** Loads the Kafka client on first use, and builds its base options. */
import { isIP } from "node:net";
import { within } from "../../base/retry.ts";
import type * as Client from "@platformatic/kafka";
import type { KafkaTarget, SaslLogin } from "./options.ts";
import { framedSnappy, zstdDecompress } from "./compression.ts";

export type KafkaClient = typeof Client;

let loaded: Promise<KafkaClient> | undefined;

/** 5 MB resident and 60 ms: an agent without Kafka does not pay for it. */
export function loadClient(): Promise<KafkaClient> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<KafkaClient> {
  const client = await import("@platformatic/kafka");
  const { snappy } = client.compressionsAlgorithms;
  Object.assign(snappy, { decompressSync: framedSnappy(snappy.decompressSync) });
  // Node before 22.15 has no zstd, and topics written by others may be compressed with it.
  if (!client.compressionsAlgorithms.zstd.available)
    Object.assign(client.compressionsAlgorithms.zstd, { decompressSync: await zstdDecompress() });
  missBrokersQuietly(client);
  return client;
}

/**
 * A group or a partition may still name a broker that the cluster has lost and no longer lists. The client (1.35) would then read
 * the address of undefined, in a callback where nobody can catch the error, and end the process; this patch turns that into a
 * retryable error.
 */
function missBrokersQuietly({ ConnectionPool, NetworkError }: KafkaClient): void {
  type Answer = (error: Error | null, connection: Client.Connection) => void;
  const { prototype } = ConnectionPool;
  type Get = (this: Client.ConnectionPool, broker: Client.Broker, answer: Answer) => void;
  const { get } = prototype as unknown as { readonly get: Get };
  Object.assign(prototype, {
    get(this: Client.ConnectionPool, broker: Client.Broker | undefined, answer: Answer): void {
      if (broker !== undefined) return get.call(this, broker, answer);
      const missing = new NetworkError("the broker is not there any more");
      (answer as (error: Error) => void)(missing);
    },
  });
}

export interface KafkaTimeouts {
  readonly connectMs: number;
  readonly requestMs: number;
}

const usual: KafkaTimeouts = { connectMs: 5_000, requestMs: 30_000 };

/** gpulse retries by itself: the client's own retry count is fixed and hides the cause. */
export function baseOptions(
  { brokers, clientId, tls, sasl }: KafkaTarget,
  { connectMs, requestMs }: KafkaTimeouts = usual,
): Client.BaseOptions {
  return {
    clientId,
    bootstrapBrokers: [...brokers],
    connectTimeout: connectMs,
    requestTimeout: requestMs,
    timeout: Math.min(requestMs, 10_000),
    retries: 0,
    retryDelay: 200,
    autocreateTopics: false,
    // SNI must not contain an IP address.
    ...(tls !== undefined && { tls, tlsServerName: brokers.every((broker) => !isIp(broker)) }),
    ...(sasl !== undefined && { sasl: saslOptions(sasl) }),
  };
}

function saslOptions(sasl: SaslLogin): Client.SASLOptions {
  if (sasl.mechanism === "oauthbearer")
    return { mechanism: "OAUTHBEARER", token: sasl.token, authBytesValidator: checkTokenAnswer };
  const { mechanism, username, password } = sasl;
  return { mechanism: mechanisms[mechanism], username, password: password.reveal() };
}

/**
 * A broker that refuses a token responds without an error code, with `{"status":"invalid_token"}`, and then closes the connection.
 */
function checkTokenAnswer(
  answer: Buffer,
  callback: (error: Error | null, answer: Buffer) => void,
): void {
  const status = /"status"\s*:\s*"([\w-]{1,40})"/.exec(answer.toString("utf8"))?.[1];
  callback(status === undefined ? null : new Error(`the broker answers ${status}`), answer);
}

interface ClosableClient {
  close(force: boolean): Promise<void>;
}

/** Closes a client whose brokers may be unreachable: waits at most 2 s and never fails. */
export async function closeQuietly(client: ClosableClient): Promise<void> {
  await within(
    client.close(true).catch(() => undefined),
    2_000,
  );
}

const isIp = (broker: string): boolean =>
  isIP(broker.replace(/:\d+$/, "").replace(/^\[|\]$/g, "")) !== 0;

const mechanisms = {
  plain: "PLAIN",
  "scram-sha-256": "SCRAM-SHA-256",
  "scram-sha-512": "SCRAM-SHA-512",
} as const;
