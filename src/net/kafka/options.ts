/** The address of a Kafka cluster and topic (`kafka://broker1:9092,broker2/topic?…`) and its connection options. */
import { readFileSync } from "node:fs";
import path from "node:path";
import * as v from "valibot";
import { flag, text } from "../../config/fields.ts";
import { fillSecrets } from "../../config/secrets.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import { Secret } from "../http/secret.ts";
import { type ReadToken, tokenReader } from "./token.ts";

const saslMechanisms = ["plain", "scram-sha-256", "scram-sha-512", "oauthbearer"] as const;
export type SaslMechanism = (typeof saslMechanisms)[number];

/** Options that the source and the sink share. */
export const clusterOptions = {
  address: v.pipe(
    text("an address such as //broker:9092/topic"),
    v.description("Brokers and topic: //BROKER:9092/TOPIC, several brokers separated by commas."),
  ),
  tls: v.optional(
    v.pipe(flag(), v.description("Use TLS; default if ca_file, cert_file or key_file is given.")),
  ),
  ca_file: v.optional(v.pipe(text("a file"), v.description("CA certificates to trust, PEM."))),
  cert_file: v.optional(v.pipe(text("a file"), v.description("Client certificate, PEM."))),
  key_file: v.optional(
    v.pipe(text("a file"), v.description("Key of the client certificate, PEM.")),
  ),
  sasl: v.optional(
    v.pipe(
      v.picklist(saslMechanisms, `one of ${saslMechanisms.join(", ")}`),
      v.description("SASL mechanism; scram-sha-512 if only a username is given."),
    ),
  ),
  username: v.optional(v.pipe(text(), v.description("User name."))),
  password: v.optional(
    v.pipe(text(), v.description("Best as ${VARIABLE} or file:PATH; never printed.")),
  ),
  token_file: v.optional(
    v.pipe(
      text("a file"),
      v.description("oauthbearer: the file with the token, read again for every login."),
    ),
  ),
  token_url: v.optional(
    v.pipe(
      text("an address"),
      v.description("oauthbearer: URL of the token endpoint for client credentials."),
    ),
  ),
  oauth_client_id: v.optional(
    v.pipe(text(), v.description("oauthbearer: client id for token_url.")),
  ),
  oauth_client_secret: v.optional(
    v.pipe(text(), v.description("Best as ${VARIABLE} or file:PATH; never printed.")),
  ),
  scope: v.optional(v.pipe(text(), v.description("oauthbearer: scopes to request."))),
  "client-id": v.optional(
    v.pipe(text("a name"), v.description("Client id in the broker's logs and quotas.")),
    "gpulse",
  ),
};

const schema = v.strictObject(clusterOptions);
export type ClusterOptions = v.InferOutput<typeof schema>;

export type SaslLogin =
  | {
      readonly mechanism: Exclude<SaslMechanism, "oauthbearer">;
      readonly username: string;
      readonly password: Secret;
    }
  | { readonly mechanism: "oauthbearer"; readonly token: ReadToken };

export interface KafkaTarget {
  /** Each as `HOST:PORT`. */
  readonly brokers: readonly string[];
  readonly topic: string;
  /** For messages and names; contains no secret. */
  readonly shown: string;
  readonly clientId: string;
  readonly tls?: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer };
  readonly sasl?: SaslLogin;
}

const defaultPort = 9_092;
/** Valid topic names in Kafka; the dead-letter topic's longer name must be valid too. */
const topicName = /^(?!\.{1,2}$)[a-zA-Z0-9._-]{1,237}$/;

export const deadLetterTopic = (topic: string): string => `${topic}.dead-letter`;

export function targetOf(
  options: ClusterOptions,
  env: Readonly<Record<string, string | undefined>>,
): KafkaTarget {
  const { brokers, topic } = splitAddress(options.address);
  const tls = tlsOf(options);
  const sasl = saslOf(options, env);
  return {
    brokers,
    topic,
    shown: `kafka://${brokers.join(",")}/${topic}`,
    clientId: options["client-id"],
    ...(tls !== undefined && { tls }),
    ...(sasl !== undefined && { sasl }),
  };
}

function splitAddress(address: string): { brokers: string[]; topic: string } {
  const match = /^\/\/([^/]+)\/([^/]+)$/.exec(address);
  const refuse = (why: string): GpulseError =>
    new GpulseError(
      "SOURCE_OPTIONS",
      `"kafka:${address.replace(/\/\/[^/]*@/, "//…@")}" ${why}: write kafka://BROKER:9092/TOPIC, several brokers with commas.`,
    );
  const [, list = "", topic = ""] = match ?? [];
  if (match === null) throw refuse("has no broker and topic");
  if (list.includes("@"))
    throw refuse("has a user in its address, where username= and password= belong");
  if (!topicName.test(topic)) throw refuse(`has an invalid topic name`);
  const brokers = list.split(",").map((broker) => brokerOf(broker.trim()));
  if (brokers.includes(undefined)) throw refuse("has an invalid broker address");
  return { brokers: brokers.filter((broker) => broker !== undefined), topic };
}

function brokerOf(given: string): string | undefined {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:\s[\]]+)(?::(\d{1,5}))?$/.exec(given);
  const port = Number(match?.[2] ?? defaultPort);
  return match === null || port < 1 || port > 65_535 ? undefined : `${match[1]}:${port}`;
}

function tlsOf(options: ClusterOptions): KafkaTarget["tls"] {
  const { tls, ca_file: ca, cert_file: cert, key_file: key } = options;
  const asked = tls ?? (ca !== undefined || cert !== undefined || key !== undefined);
  if (!asked) return undefined;
  if ((cert === undefined) !== (key === undefined))
    throw new GpulseError(
      "TLS_FILES",
      "A certificate needs its key: pass both cert_file= and key_file=.",
    );
  return {
    ...(ca !== undefined && { ca: readPem(ca) }),
    ...(cert !== undefined && { cert: readPem(cert) }),
    ...(key !== undefined && { key: readPem(key) }),
  };
}

function readPem(file: string): Buffer {
  try {
    return readFileSync(path.resolve(file));
  } catch (thrown) {
    throw new GpulseError("TLS_FILES", `${file} cannot be read: ${formatError(thrown)}.`, {
      cause: thrown,
    });
  }
}

function saslOf(
  options: ClusterOptions,
  env: Readonly<Record<string, string | undefined>>,
): KafkaTarget["sasl"] {
  const { sasl, username, password, oauth_client_secret } = options;
  const { token_file: tokenFile, token_url: tokenUrl, oauth_client_id: clientId } = options;
  if ([sasl, username, password, tokenFile, tokenUrl].every((one) => one === undefined))
    return undefined;
  const { value } = fillSecrets({ password, oauth_client_secret }, { env, folder: process.cwd() });
  const filled = value as { readonly password?: string; readonly oauth_client_secret?: string };
  if (sasl === "oauthbearer" || (sasl === undefined && username === undefined)) {
    if (username !== undefined || password !== undefined)
      throw new GpulseError(
        "SOURCE_OPTIONS",
        "sasl=oauthbearer takes no username= or password=: give token_file=, or token_url= with oauth_client_id= and oauth_client_secret=.",
      );
    const clientSecret = filled.oauth_client_secret;
    const { scope, ca_file: caFile } = options;
    const token = tokenReader({ tokenFile, tokenUrl, clientId, clientSecret, scope, caFile });
    return { mechanism: "oauthbearer", token };
  }
  if (username === undefined || filled.password === undefined)
    throw new GpulseError(
      "SOURCE_OPTIONS",
      "Logging in to Kafka needs both username= and password= (best as password=${VARIABLE} or password=file:PATH).",
    );
  return {
    mechanism: sasl ?? "scram-sha-512",
    username,
    password: new Secret(filled.password),
  };
}
