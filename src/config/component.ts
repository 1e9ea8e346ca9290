/**
 * Parses sources and sinks, and later channels, from a URL (`sim:8?seed=7`) or a mapping (`sim: { gpus: 8 }`). The scheme selects
 * the definition; its schema parses the rest.
 */
import type * as v from "valibot";
import type { ErrorCode } from "../base/codes.ts";
import { GpulseError } from "../base/error.ts";
import { checkValue, keysAt } from "./check.ts";
import { didYouMean } from "./closest.ts";

export interface Example {
  readonly url: string;
  readonly description: string;
}

export interface ComponentDefinition<Schema extends v.GenericSchema = v.GenericSchema> {
  /** The scheme of its URL: `sim` in `sim:8?seed=7`. */
  readonly name: string;
  readonly summary: string;
  /** Options with defaults; the URL's query and gpulse.yaml use the same keys. */
  readonly options: Schema;
  /** The option that the text right after the colon fills: `gpus` in `sim:8`. */
  readonly mainOption?: string;
  readonly examples: readonly Example[];
}

export interface Component<Definition extends ComponentDefinition> {
  readonly definition: Definition;
  readonly options: unknown;
}

export interface ComponentKind<Definition extends ComponentDefinition> {
  /** The word for users: `source`. */
  readonly noun: string;
  readonly unknown: ErrorCode;
  readonly list: readonly Definition[];
}

export function parseComponent<Definition extends ComponentDefinition>(
  kind: ComponentKind<Definition>,
  given: string | Readonly<Record<string, unknown>>,
): Component<Definition> {
  const { scheme, options, shown } =
    typeof given === "string" ? splitUrl(kind, given) : splitMapping(kind, given);
  const names = kind.list.map(({ name }) => name);
  const definition = kind.list.find(({ name }) => name === scheme);
  if (definition === undefined) {
    const near = didYouMean(scheme, names);
    const hint = near === "" ? ` Known: ${names.join(", ")}.` : near;
    throw new GpulseError(
      kind.unknown,
      `There is no ${kind.noun} "${scheme}" (in ${shown}).${hint}`,
    );
  }
  return { definition, options: readOptions(kind.noun, definition, options, shown) };
}

/** `name:main?key=value&key=value`; everything after the colon but before the query is the main option. */
function splitUrl<Definition extends ComponentDefinition>(
  kind: ComponentKind<Definition>,
  url: string,
) {
  const match = /^([a-z][a-z0-9+.-]*):([^?]*)(?:\?(.*))?$/s.exec(url);
  const seen = withoutSecrets(url);
  if (match === null) {
    const bare = kind.list.some(({ name }) => name === url) ? ` Write "${url}:" with a colon.` : "";
    throw new GpulseError(
      "SOURCE_OPTIONS",
      `"${seen}" is not a ${kind.noun}: write NAME:… such as "${kind.list[0]?.examples[0]?.url ?? "sim:8"}".${bare}`,
    );
  }
  const [, scheme = "", main = "", query = ""] = match;
  const options: Record<string, unknown> = Object.fromEntries(new URLSearchParams(query));
  const mainOption = kind.list.find(({ name }) => name === scheme)?.mainOption;
  if (main !== "") {
    if (mainOption === undefined && kind.list.some(({ name }) => name === scheme)) {
      throw new GpulseError(
        "SOURCE_OPTIONS",
        `${kind.noun} "${scheme}:" takes nothing after the colon, but got "${withoutSecrets(main)}".`,
      );
    }
    if (mainOption !== undefined) options[mainOption] = decode(main, `${kind.noun} "${seen}"`);
  }
  return { scheme, options, shown: `"${seen}"` };
}

/** The URL as shown in messages, without passwords and tokens. */
function withoutSecrets(url: string): string {
  return (
    url
      .replace(/\/\/[^/?@]*@/, "//…@")
      // The name excludes `?` and `&`: otherwise the match would be retried from each of them.
      .replace(/([?&][^=&?]*(?:password|token|secret|headers)=)[^&]*/g, "$1…")
  );
}

function decode(text: string, shown: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new GpulseError(
      "SOURCE_OPTIONS",
      `${shown}: the text after the colon has a broken %-escape.`,
    );
  }
}

function splitMapping<Definition extends ComponentDefinition>(
  kind: ComponentKind<Definition>,
  mapping: Readonly<Record<string, unknown>>,
) {
  const [scheme = "", ...others] = Object.keys(mapping);
  if (scheme === "" || others.length > 0) {
    throw new GpulseError(
      "CONFIG_WRONG_VALUE",
      `Each ${kind.noun} is one key, its name, such as "${kind.list[0]?.name ?? "sim"}: {…}".`,
    );
  }
  return { scheme, options: mapping[scheme] ?? {}, shown: `"${scheme}"` };
}

/** Deprecated spellings, accepted if the component has the new key and not the old one. */
const newKeys: Readonly<Record<string, string>> = {
  ca: "ca_file",
  cert: "cert_file",
  key: "key_file",
};

function renameOldKeys({ options: schema }: ComponentDefinition, options: unknown): unknown {
  if (typeof options !== "object" || options === null) return options;
  const known = keysAt(schema, []);
  return Object.fromEntries(
    Object.entries(options).map(([key, value]) => {
      const renamed = newKeys[key];
      const isOld = renamed !== undefined && known.includes(renamed) && !known.includes(key);
      // If both spellings are given, the old one stays and is refused as an unknown key.
      return [isOld && !Object.hasOwn(options, renamed) ? renamed : key, value];
    }),
  );
}

function readOptions(
  noun: string,
  definition: ComponentDefinition,
  options: unknown,
  shown: string,
): unknown {
  const checked = checkValue(definition.options, renameOldKeys(definition, options));
  if (checked.ok) return checked.value;
  const [problem] = checked.problems;
  const known = keysAt(definition.options, []);
  const takes = known.length === 0 ? "It takes no options." : `It takes: ${known.join(", ")}.`;
  throw new GpulseError(
    "SOURCE_OPTIONS",
    `${noun} ${shown}: ${problem?.sentence ?? "not understood."} ${problem?.kind === "unknown-key" ? "" : takes}`.trim(),
  );
}
