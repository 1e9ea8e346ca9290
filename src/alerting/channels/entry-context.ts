/** The context of an entry while it is read: the global section, the environment, and the collector of its errors. */
import { Secret } from "../../net/http/secret.ts";
import type { HttpClientConfig, TlsConfig } from "../../net/http/auth-config.ts";
import type { ConfigDocument } from "../../config/yaml/document.ts";
import { type HttpRaw, readHttp } from "../../sources/scrape/config/http-section.ts";
import type { ConfigPath, ConfigDiagnostics } from "../../config/yaml/diagnostics.ts";
import type { EntryContext } from "./channel.ts";
import { type Environment, expandAddress, expandSecret } from "./environment.ts";
import type { Global } from "./global.ts";
import type { SecretRedactor } from "./secret-redactor.ts";
import { SecretText } from "./secret-text.ts";

export interface EntrySource {
  readonly global: Global;
  readonly reading: ConfigDiagnostics;
  readonly path: ConfigPath;
  readonly env: Environment;
  readonly hidden: SecretRedactor;
  readonly document: ConfigDocument;
  /** Collects the keys of the entry that were expanded as addresses. */
  readonly addresses: Set<string>;
}

export function createEntryContext(around: EntrySource): EntryContext {
  const { global, reading, path, env, hidden, document, addresses } = around;
  const expand = (at: ConfigPath, text: string, from = expandSecret): string => {
    const expanded = from(text, env);
    if (!expanded.ok) reading.wrong(at, expanded.why);
    return expanded.ok ? expanded.text : "";
  };
  /** A secret taken from the global section is the global section's object, so its location is found by identity. */
  const placeOf = (key: string, value: Secret | undefined): ConfigPath => {
    const [globalKey] =
      value === undefined ? [] : (Object.entries(global).find(([, one]) => one === value) ?? []);
    return globalKey === undefined ? [...path, key] : ["global", globalKey];
  };
  const secret = (
    key: string,
    what: string,
    value: Secret | undefined,
    file: string | undefined,
    from = expandSecret,
  ): SecretText | undefined => {
    const written = value?.reveal() ?? "";
    const filePath = reading.optionalFile(file);
    if (filePath !== undefined) return new SecretText({ file: filePath }, what, hidden);
    if (written === "") return undefined;
    const text = expand(placeOf(key, value), written, from);
    hidden.add(text);
    return text === "" ? undefined : new SecretText(new Secret(text), what, hidden);
  };
  return {
    global,
    wrong: (key, sentence) => reading.wrong([...path, key], sentence),
    warn: (key, sentence) => reading.remark([...path, key], sentence),
    env,
    typed: (key) => document.typed([...path, key]),
    address: (key, value, globalKey) => {
      addresses.add(key);
      const inherited = globalKey === undefined ? undefined : global[globalKey];
      const at: ConfigPath =
        value === undefined && inherited !== undefined && globalKey !== undefined
          ? ["global", globalKey]
          : [...path, key];
      const before = reading.mistakes.length;
      const text = expand(at, value ?? inherited ?? "", expandAddress);
      const isExpanded = reading.mistakes.length === before;
      return {
        text,
        wrong: (sentence) => {
          if (isExpanded) reading.wrong(at, sentence);
        },
      };
    },
    secret: (key, what, value, file) => secret(key, what, value, file),
    neededSecret: (key, what, own, fallback = { value: undefined, file: undefined }) => {
      const isGiven = isWritten(own.value) || isWritten(own.file);
      const { value, file } = isGiven ? own : fallback;
      if (!isWritten(value) && !isWritten(file))
        reading.wrong([...path, key], `give ${key} or ${key}_file.`);
      return secret(key, what, value, file);
    },
    url: (key, text) => {
      if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text))
        reading.wrong([...path, key], "give a URL that begins with http:// or https://.");
      return text;
    },
    secretUrl: (key, what, value, file) => {
      const written = value?.reveal() ?? "";
      const expanded = expandAddress(written, env);
      if (written !== "" && expanded.ok) {
        hidden.addUrl(expanded.text);
        const at = placeOf(key, value);
        if (!/^https?:\/\/[^/]/i.test(expanded.text) || !URL.canParse(expanded.text))
          reading.wrong(at, "give a URL that begins with http:// or https://.");
        else if (expanded.text.includes("{{"))
          reading.remark(at, "an address is not a template: it is used as it is.");
      }
      return secret(key, what, value, file, expandAddress);
    },
    http: (given) => {
      const raw = given ?? global.http_config ?? plainHttp;
      const base: ConfigPath = given === undefined ? ["global"] : path;
      const expanded = expandedHttp(raw, (key, text) => {
        const filled = expand([...base, ...key], text);
        hidden.add(filled);
        return filled;
      });
      hidden.addUrl(expanded.proxy_url ?? "");
      for (const text of Object.values(expanded.proxy_connect_header).flat()) hidden.add(text);
      return readHttp(expanded, reading, [...base, "http_config"]);
    },
    tls: (key, given) => tlsOf(key, given, reading, path),
  };
}

export const isWritten = (value: unknown): boolean =>
  value instanceof Secret ? value.reveal() !== "" : value !== undefined && value !== "";

interface WebhookOptions {
  readonly webhook_url?: Secret | undefined;
  readonly webhook_url_file?: string | undefined;
  readonly http_config?: HttpRaw | undefined;
}

/** The options of a channel whose only address is `webhook_url` or `webhook_url_file`; undefined if neither is valid. */
export function prepareWebhook<Options extends WebhookOptions>(
  options: Options,
  what: string,
  setting: EntryContext,
): (Options & { readonly url: SecretText; readonly http: HttpClientConfig }) | undefined {
  const { webhook_url: value, webhook_url_file: file } = options;
  const url = setting.secretUrl("webhook_url", what, value, file);
  if (url !== undefined) return { ...options, url, http: setting.http(options.http_config) };
  if (value === undefined) setting.wrong("webhook_url", "give webhook_url or webhook_url_file.");
  return undefined;
}

/** Rejects a value and its `_file` together, in an entry as in the global section. */
export function refusePairs(
  section: Readonly<Record<string, unknown>>,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): void {
  for (const [key, value] of Object.entries(section))
    if (isWritten(value) && isWritten(section[`${key}_file`]))
      reading.wrong([...path, key], `give ${key} or ${key}_file, not both.`);
}

/** True if the configuration sets an Authorization header for its requests. */
export const hasAuthorization = (http: HttpRaw | undefined): boolean =>
  http?.authorization !== undefined ||
  isWritten(http?.bearer_token) ||
  isWritten(http?.bearer_token_file);

const plainHttp: HttpRaw = {
  follow_redirects: true,
  http_headers: {},
  proxy_from_environment: false,
  proxy_connect_header: {},
};

function tlsOf(
  key: string,
  given: HttpRaw["tls_config"],
  reading: ConfigDiagnostics,
  path: ConfigPath,
): TlsConfig {
  if (given === undefined) return { insecureSkipVerify: false };
  const before = reading.mistakes.length;
  const { tls } = readHttp({ ...plainHttp, tls_config: given }, reading, path);
  // These errors name tls_config whatever the key is here, so they are moved to it.
  const found = reading.mistakes.splice(before);
  for (const { sentence } of found)
    reading.wrong([...path, key], sentence.slice(sentence.indexOf(": ") + 2));
  return tls;
}

/** Expands environment variables in the secrets of an HTTP configuration. */
function expandedHttp(raw: HttpRaw, expand: (key: ConfigPath, text: string) => string): HttpRaw {
  const filled = <Part extends object>(
    part: Part | undefined,
    here: ConfigPath,
    keys: readonly (keyof Part & string)[],
  ) => {
    if (part === undefined) return undefined;
    const changed = keys.flatMap((key) => {
      const text = part[key];
      return typeof text === "string" && text !== "" ? [[key, expand([...here, key], text)]] : [];
    });
    return { ...part, ...(Object.fromEntries(changed) as Partial<Part>) };
  };
  const here = ["http_config"];
  const basic = filled(raw.basic_auth, [...here, "basic_auth"], ["password"]);
  const authorization = filled(raw.authorization, [...here, "authorization"], ["credentials"]);
  const oauth2 = filled(raw.oauth2, [...here, "oauth2"], ["client_secret", "proxy_url"]);
  const tls = filled(raw.tls_config, [...here, "tls_config"], ["key"]);
  const headers = Object.entries(raw.http_headers).map(([name, header]) => [
    name,
    {
      ...header,
      secrets: header.secrets.map((text) => expand([...here, "http_headers", name], text)),
    },
  ]);
  return {
    ...filled(raw, here, ["bearer_token", "proxy_url"]),
    ...(basic === undefined ? {} : { basic_auth: basic }),
    ...(authorization === undefined ? {} : { authorization }),
    ...(oauth2 === undefined ? {} : { oauth2 }),
    ...(tls === undefined ? {} : { tls_config: tls }),
    http_headers: Object.fromEntries(headers) as HttpRaw["http_headers"],
  } as HttpRaw;
}
