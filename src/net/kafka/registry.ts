/**
 * A client of a schema registry (Confluent's API, which Karapace, Apicurio and Redpanda implement too): returns the id of a schema,
 * and the schema of an id. Ids never change their meaning, so each is requested once. Never prints a password.
 *
 *   POST /subjects/SUBJECT/versions {"schema":"…"}   → {"id":7}   registers, or finds the registered schema
 *   POST /subjects/SUBJECT          {"schema":"…"}   → {"id":7}   finds
 *   GET  /schemas/ids/7                              → {"schema":"…","schemaType":"AVRO"}
 */
import path from "node:path";
import * as v from "valibot";
import { GpulseError, formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { backoffMs, pause } from "../../base/retry.ts";
import { durationMs, flag, text } from "../../config/fields.ts";
import { type Env, fillSecrets } from "../../config/secrets.ts";
import { HttpClient } from "../http/client.ts";
import { HttpRequestError, request, type HttpResponse } from "../http/request.ts";
import type { ClusterOptions } from "./options.ts";
import { Secret } from "../http/secret.ts";

/** Options that the source and the sink share. */
export const registryOptions = {
  registry: v.optional(
    v.pipe(
      text("an address"),
      v.description("Of the schema registry, for messages in Avro: http://HOST:8081."),
    ),
  ),
  registry_username: v.optional(v.pipe(text(), v.description("User name for the registry."))),
  registry_password: v.optional(
    v.pipe(text(), v.description("Best as ${VARIABLE} or file:PATH; never printed.")),
  ),
  registry_token: v.optional(
    v.pipe(
      text(),
      v.description("A bearer token instead; best as ${VARIABLE} or file:PATH; never printed."),
    ),
  ),
  registry_ca_file: v.optional(
    v.pipe(
      text("a file"),
      v.description("Certificates to trust of the registry, PEM; the default is ca_file."),
    ),
  ),
  registry_timeout: v.optional(
    v.pipe(durationMs(100, 600_000), v.description("How long one request to the registry takes.")),
    "10s",
  ),
};

/** Options that only the sink has. */
export const subjectOptions = {
  subject: v.optional(
    v.pipe(text("a name"), v.description("Of the schema in the registry; TOPIC-value.")),
  ),
  register: v.optional(
    v.pipe(
      flag(),
      v.description("Register the schema; false where only an administrator may do so."),
    ),
    true,
  ),
};

const schema = v.strictObject(registryOptions);
export type RegistryOptions = v.InferOutput<typeof schema>;

export interface SubjectLookup {
  readonly subject: string;
  readonly schema: string;
  readonly register: boolean;
  readonly withinMs: number;
}

/** A failure that a retry may solve. */
class RegistryUnavailableError extends Error {}
/** This message cannot be read; other messages can. */
export class UnreadableSchemaError extends Error {}

const mostBytes = 1_000_000;
const maxSchemas = 1_000;
/** An unknown id may be registered a moment later; for this long its messages become dead letters without a request each. */
const unknownForMs = 10_000;
const remindEveryMs = 60_000;

interface Parts {
  readonly url: URL;
  readonly client: HttpClient;
  readonly timeoutMs: number;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly random: () => number;
}

export class SchemaRegistry {
  readonly #parts: Parts;
  readonly #schemas = new Map<number, string | UnreadableSchemaError>();
  readonly #unknown = new Map<number, number>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** @throws GpulseError if the registry does not respond in time or refuses the schema */
  async idOf({ subject, schema: given, register, withinMs }: SubjectLookup): Promise<number> {
    const place = `subjects/${encodeURIComponent(subject)}${register ? "/versions" : ""}`;
    const deadlineMs = this.#parts.nowMs() + withinMs;
    for (let attempt = 0; ; attempt++) {
      try {
        const answer = await this.#ask(place, { schema: given });
        if (answer.status === 404 && !register)
          throw this.#refuse(
            `has no such schema for the subject ${subject}${messageOf(answer)}. Register it, or let this user do it with register=true; the schema is docs/reference/kafka-message.avsc.`,
          );
        if (answer.status === 409)
          throw this.#refuse(
            `does not take the schema for the subject ${subject}: it is not compatible with an earlier one${messageOf(answer)}. Name another with subject=, or change the subject's compatibility.`,
          );
        if (answer.status !== 200)
          throw this.#refuse(`returned ${answer.status} for ${subject}${messageOf(answer)}`);
        return this.#parse(idAnswer, answer).id;
      } catch (thrown) {
        if (thrown instanceof GpulseError) throw thrown;
        const pauseMs = backoffMs(attempt, this.#parts.random);
        if (this.#parts.nowMs() + pauseMs >= deadlineMs) throw this.#unreachable(thrown);
        await pause(pauseMs);
      }
    }
  }

  /**
   * Waits for a registry that does not respond, until the signal aborts.
   * @throws UnreadableSchemaError if there is no such schema, or it is not an Avro schema
   */
  async schemaOf(id: number, signal: AbortSignal): Promise<string> {
    const { log, nowMs, random } = this.#parts;
    const known = this.#schemas.get(id);
    if (known instanceof Error) throw known;
    if (known !== undefined) return known;
    if ((this.#unknown.get(id) ?? 0) > nowMs()) throw this.#missing(id);
    let loggedMs = Number.NEGATIVE_INFINITY;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#fetch(id, signal);
      } catch (thrown) {
        if (!(thrown instanceof RegistryUnavailableError) || signal.aborted) throw thrown;
        if (nowMs() - loggedMs >= remindEveryMs) {
          loggedMs = nowMs();
          const { shown } = this;
          log.warn("waiting for the schema registry", { of: shown, reason: formatError(thrown) });
        }
        await pause(backoffMs(attempt, random), signal);
      }
    }
  }

  get shown(): string {
    return `the schema registry ${this.#parts.url.href}`;
  }

  close(): void {
    this.#parts.client.close();
  }

  async #fetch(id: number, signal: AbortSignal): Promise<string> {
    const answer = await this.#ask(`schemas/ids/${id}`, undefined, signal);
    if (this.#schemas.size >= maxSchemas) this.#schemas.clear();
    if (answer.status === 404) {
      if (this.#unknown.size >= maxSchemas) this.#unknown.clear();
      this.#unknown.set(id, this.#parts.nowMs() + unknownForMs);
      throw this.#missing(id);
    }
    if (answer.status !== 200)
      throw this.#refuse(`returned ${answer.status} for schema ${id}${messageOf(answer)}`);
    const { schema: found, schemaType = "AVRO", references } = this.#parse(schemaAnswer, answer);
    const unreadable =
      schemaType !== "AVRO"
        ? new UnreadableSchemaError(`schema ${id} is ${schemaType}, and only Avro is read`)
        : (references?.length ?? 0) > 0
          ? new UnreadableSchemaError(`schema ${id} has references, which are not supported`)
          : undefined;
    this.#schemas.set(id, unreadable ?? found);
    if (unreadable !== undefined) throw unreadable;
    return found;
  }

  async #ask(place: string, body: unknown, signal?: AbortSignal): Promise<HttpResponse> {
    const { url, client, timeoutMs } = this.#parts;
    const { headers, agent } = await client.options().catch((thrown: unknown) => {
      throw this.#refuse(`cannot be queried: ${formatError(thrown)}`);
    });
    const type = "application/vnd.schemaregistry.v1+json";
    const answer = await request(new URL(place, url).href, {
      headers: { ...headers, accept: `${type}, application/json`, "content-type": type },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
      agent,
      timeoutMs,
      maxBytes: mostBytes,
    }).catch((thrown: unknown) => {
      if (thrown instanceof HttpRequestError)
        throw new RegistryUnavailableError(formatError(thrown));
      throw thrown;
    });
    const { status } = answer;
    if (status === 401 || status === 403)
      throw this.#refuse(
        `refuses the login (${status}): check registry_username= and registry_password=, or registry_token=, and what that user may do`,
      );
    if (status === 429 || status >= 500)
      throw new RegistryUnavailableError(`it returned ${status}${messageOf(answer)}`);
    return answer;
  }

  #parse<Schema extends v.GenericSchema>(
    expected: Schema,
    answer: HttpResponse,
  ): v.InferOutput<Schema> {
    const { success, output } = v.safeParse(expected, bodyOf(answer));
    if (success) return output;
    throw this.#refuse("does not respond like a schema registry: check the address and its path");
  }

  #missing(id: number): UnreadableSchemaError {
    return new UnreadableSchemaError(`${this.shown} has no schema ${id}`);
  }

  #refuse(why: string): GpulseError {
    return new GpulseError("SCHEMA_REGISTRY", `${this.shown} ${why.replace(/\.$/, "")}.`);
  }

  #unreachable(thrown: unknown): GpulseError {
    return new GpulseError(
      "SCHEMA_REGISTRY",
      `${this.shown} does not respond: ${formatError(thrown).replace(/\.$/, "")}. Check registry=, registry_ca_file= and that it runs.`,
      { cause: thrown },
    );
  }
}

/** Undefined if no registry is configured. */
export function openRegistry(
  options: RegistryOptions & Pick<ClusterOptions, "ca_file">,
  env: Env,
  rest: Pick<Parts, "log" | "nowMs" | "random">,
): SchemaRegistry | undefined {
  const { registry, registry_username: username } = options;
  if (registry === undefined) {
    if (
      [username, options.registry_password, options.registry_token].some((one) => one !== undefined)
    )
      throw refuseOptions("a login to a schema registry needs registry=, its address");
    return undefined;
  }
  if (!URL.canParse(registry) || !/^https?:$/.test(new URL(registry).protocol))
    throw refuseOptions("registry= must be an address such as http://HOST:8081");
  const url = new URL(registry);
  if (url.username !== "" || url.password !== "")
    throw refuseOptions(
      "registry= has a user in it: use registry_username= and registry_password=",
    );
  // Requests are resolved below the path of an address such as …/apis/ccompat/v7.
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  const given = { password: options.registry_password, token: options.registry_token };
  const { value } = fillSecrets(given, { env, folder: process.cwd() });
  const { password, token } = value as typeof given;
  if ((username === undefined) !== (password === undefined))
    throw refuseOptions("registry_username= and registry_password= belong together");
  if (username !== undefined && token !== undefined)
    throw refuseOptions("either registry_token= or registry_username= and registry_password=");
  const caFile = options.registry_ca_file ?? options.ca_file;
  const client = new HttpClient({
    ...(username !== undefined &&
      password !== undefined && { basicAuth: { username, password: new Secret(password) } }),
    ...(token !== undefined && {
      authorization: { type: "Bearer", credentials: new Secret(token) },
    }),
    tls: {
      insecureSkipVerify: false,
      ...(caFile !== undefined && { caFile: path.resolve(caFile) }),
    },
    followRedirects: false,
    headers: [],
  });
  return new SchemaRegistry({ url, client, timeoutMs: options.registry_timeout, ...rest });
}

const refuseOptions = (why: string): GpulseError =>
  new GpulseError("SOURCE_OPTIONS", `kafka: ${why}.`);

const idAnswer = v.object({ id: v.pipe(v.number(), v.integer(), v.minValue(0)) });
const schemaAnswer = v.object({
  schema: v.string(),
  schemaType: v.optional(v.string()),
  references: v.nullish(v.array(v.unknown())),
});

/** Undefined if the body is not JSON. */
function bodyOf({ body }: HttpResponse): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** The registry's error message, `{"error_code":40403,"message":"Schema not found"}`, on one line. */
function messageOf(answer: HttpResponse): string {
  const { success, output } = v.safeParse(v.object({ message: v.string() }), bodyOf(answer));
  return success ? ` (${output.message.replace(/\s+/g, " ").slice(0, 300)})` : "";
}
