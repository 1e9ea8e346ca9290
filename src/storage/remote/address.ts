/** The address of a remote store, parsed from its URL. Secrets are removed from the URL here and are never printed. */
import { GpulseError } from "../../base/error.ts";
import { type HttpClientConfig, plainHttpClient } from "../../net/http/auth-config.ts";

export const engineNames = ["prometheus", "victoria-metrics", "mimir", "thanos", "gpulse"] as const;
export type EngineName = (typeof engineNames)[number];

export interface StoreAddress {
  /** Without credentials, options and trailing slash. */
  readonly base: string;
  /** The URL for writes, if configured. */
  readonly writeUrl: string | undefined;
  /** The kind of engine, if configured. */
  readonly engine: EngineName | undefined;
  /** Headers for the credentials and the tenant in the URL. */
  readonly headers: Readonly<Record<string, string>>;
  /** Credentials and TLS settings from the configuration file. */
  readonly http: HttpClientConfig;
}

export interface StoreExtras {
  readonly engine?: EngineName | undefined;
  readonly write?: string | undefined;
  readonly tenant?: string | undefined;
  readonly http?: HttpClientConfig | undefined;
}

const example = "http://victoria-metrics:8428";

/**
 * Parses `http://user:password@host:8428/path?engine=mimir&write=…&tenant=…`. Separate settings override those in the
 * URL.
 */
export function parseStoreAddress(given: string, extras: StoreExtras = {}): StoreAddress {
  const url = readUrl(given, "--store");
  const options = Object.fromEntries(url.searchParams);
  const unknown = Object.keys(options).find(
    (name) => !["engine", "write", "tenant"].includes(name),
  );
  if (unknown !== undefined)
    throw wrong(`"${unknown}" is not an option of a store: use engine, write and tenant.`);
  const engine = extras.engine ?? readEngine(options["engine"]);
  const write = extras.write ?? options["write"];
  const tenant = extras.tenant ?? options["tenant"];
  const tenantHeader = engine === "thanos" ? "thanos-tenant" : "x-scope-orgid";
  return {
    base: baseOf(url),
    writeUrl: write === undefined ? undefined : writeOf(write, url),
    engine,
    headers: {
      ...basic(url),
      ...(tenant === undefined ? {} : { [tenantHeader]: tenant }),
    },
    http: extras.http ?? plainHttpClient,
  };
}

function readUrl(given: string, where: string): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw wrong(`${where} must be the URL of an engine, such as ${example}.`);
  return url;
}

/** A write URL on another host gets the same credentials, because it belongs to the same engine. */
function writeOf(given: string, base: URL): string {
  const url = given.startsWith("/") ? new URL(given, base.origin) : readUrl(given, "write");
  if (url.username !== "" || url.password !== "")
    throw wrong("The write URL of a store takes no separate credentials: put them into its URL.");
  return url.href;
}

function readEngine(given: string | undefined): EngineName | undefined {
  if (given === undefined) return undefined;
  const engine = engineNames.find((name) => name === given);
  if (engine !== undefined) return engine;
  throw wrong(`The engine of a store is one of ${engineNames.join(", ")}, not "${given}".`);
}

function basic({ username, password }: URL): Record<string, string> {
  if (username === "" && password === "") return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

const baseOf = ({ origin, pathname }: URL): string => `${origin}${pathname.replace(/\/+$/, "")}`;

const wrong = (sentence: string): GpulseError => new GpulseError("STORE_ADDRESS", sentence);
