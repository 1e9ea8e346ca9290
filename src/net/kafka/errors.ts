/** Classifies errors of the Kafka client: retryable, or permanent with advice for the user. */
import { GpulseError, formatError, systemCode } from "../../base/error.ts";
import type { KafkaTarget } from "./options.ts";
import { KafkaTokenError } from "./token.ts";

/** Kafka error names anywhere in the client's nested errors. */
export function protocolNames(thrown: unknown): readonly string[] {
  const names: string[] = [];
  const look = (one: unknown, depth: number): void => {
    if (typeof one !== "object" || one === null || depth > 8) return;
    if ("apiId" in one && typeof one.apiId === "string") names.push(one.apiId);
    if ("errors" in one && Array.isArray(one.errors))
      for (const inner of one.errors) look(inner, depth + 1);
    if ("cause" in one) look(one.cause, depth + 1);
  };
  look(thrown, 0);
  return names;
}

/** The innermost message, which is the cause; the outer ones name the attempted operation. */
export function formatKafkaError(thrown: unknown): string {
  let one = thrown;
  for (let depth = 0; depth < 8; depth++) {
    const inner =
      typeof one === "object" && one !== null
        ? "errors" in one && Array.isArray(one.errors) && one.errors.length > 0
          ? (one.errors.at(-1) as unknown)
          : "cause" in one && one.cause instanceof Error
            ? one.cause
            : undefined
        : undefined;
    if (inner === undefined) break;
    one = inner;
  }
  return [...new Set([...protocolNames(one), formatError(one) || (systemCode(one) ?? "")])]
    .join(": ")
    .replace(/\.$/, "");
}

const denied = new Set([
  "TOPIC_AUTHORIZATION_FAILED",
  "GROUP_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
  "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
]);
const wrongLogin = new Set(["SASL_AUTHENTICATION_FAILED", "UNSUPPORTED_SASL_MECHANISM"]);
const wrongGroup = new Set([
  "INVALID_GROUP_ID",
  "INCONSISTENT_GROUP_PROTOCOL",
  "FENCED_INSTANCE_ID",
]);
const tooLarge = new Set(["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"]);
const unknownTopic = new Set(["UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"]);
const otherProducer = new Set([
  "OUT_OF_ORDER_SEQUENCE_NUMBER",
  "UNKNOWN_PRODUCER_ID",
  "INVALID_PRODUCER_EPOCH",
  "INVALID_PRODUCER_ID_MAPPING",
  "PRODUCER_FENCED",
]);

const some = (thrown: unknown, names: ReadonlySet<string>): boolean =>
  protocolNames(thrown).some((name) => names.has(name));

export const isTooLarge = (thrown: unknown): boolean => some(thrown, tooLarge);
/** The broker no longer knows this producer id and would not deduplicate a resend. */
export const isUnknownProducer = (thrown: unknown): boolean => some(thrown, otherProducer);
export const isUnknownTopic = (thrown: unknown): boolean =>
  some(thrown, unknownTopic) || formatError(thrown).startsWith("Unknown topic ");

/** The error to show if retrying cannot help; undefined for a retryable error. */
export function toPermanentError(thrown: unknown, target: KafkaTarget): GpulseError | undefined {
  if (thrown instanceof GpulseError) return thrown;
  if (lacksToken(thrown)) return undefined;
  const reason = formatKafkaError(thrown);
  const refuse = (why: string): GpulseError =>
    new GpulseError("KAFKA_REFUSED", `${target.shown}: ${why}`, { cause: thrown });
  if (some(thrown, wrongLogin) || hasCode(thrown, "PLT_KFK_AUTHENTICATION"))
    return refuse(
      `the login was refused (${reason}): check sasl=, ${target.sasl?.mechanism === "oauthbearer" ? "the token and its expiry, scope and audience" : "username= and password="}.`,
    );
  if (some(thrown, denied))
    return refuse(
      `this user may not do that (${reason}): ask for the rights to read or write the topic, and to use the group.`,
    );
  if (some(thrown, wrongGroup))
    return refuse(`the group cannot be joined (${reason}): choose another with group=.`);
  if (isTls(thrown))
    return refuse(
      `TLS failed (${reason}): check ca_file=, cert_file= and key_file=, and that the port speaks TLS.`,
    );
  return undefined;
}

/** The error if no broker responds in time. */
export function toUnreachableError(thrown: unknown, target: KafkaTarget): GpulseError {
  if (lacksToken(thrown))
    return new GpulseError(
      "KAFKA_REFUSED",
      `${target.shown}: there is no token for the login (${formatKafkaError(thrown)}): check token_file=, or token_url=, oauth_client_id= and oauth_client_secret=.`,
      { cause: thrown },
    );
  return (
    toPermanentError(thrown, target) ??
    new GpulseError(
      "KAFKA_UNREACHABLE",
      `${target.shown}: no broker answers (${formatKafkaError(thrown)}). Check that Kafka runs, that the address and port are those of its listener${target.tls === undefined ? ", and whether it wants tls=true" : ""}.`,
      { cause: thrown },
    )
  );
}

function lacksToken(thrown: unknown, depth = 0): boolean {
  if (thrown instanceof KafkaTokenError) return true;
  if (typeof thrown !== "object" || thrown === null || depth > 8) return false;
  const inner: readonly unknown[] =
    "errors" in thrown && Array.isArray(thrown.errors) ? thrown.errors : [];
  const all = [...inner, "cause" in thrown ? thrown.cause : undefined];
  return all.some((one) => lacksToken(one, depth + 1));
}

function hasCode(thrown: unknown, code: string): boolean {
  if (typeof thrown !== "object" || thrown === null) return false;
  if ("code" in thrown && thrown.code === code) return true;
  if ("errors" in thrown && Array.isArray(thrown.errors))
    return thrown.errors.some((inner) => hasCode(inner, code));
  return "cause" in thrown && hasCode(thrown.cause, code);
}

/** Node's certificate error codes; a broken connection is not one of them. */
function isTls(thrown: unknown): boolean {
  return (
    /^(?:ERR_TLS_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_SSL_|ERR_OSSL_)/.test(
      innerCode(thrown),
    ) || /wrong version number|self-signed certificate/.test(formatKafkaError(thrown))
  );
}

function innerCode(thrown: unknown, depth = 0): string {
  if (typeof thrown !== "object" || thrown === null || depth > 8) return "";
  const own = systemCode(thrown) ?? "";
  if (own !== "" && !own.startsWith("PLT_")) return own;
  const inner: readonly unknown[] =
    "errors" in thrown && Array.isArray(thrown.errors) ? thrown.errors : [];
  for (const one of [...inner, "cause" in thrown ? thrown.cause : undefined]) {
    const found = innerCode(one, depth + 1);
    if (found !== "") return found;
  }
  return "";
}
