/** A setting is declared once: its flag, environment variable, key of gpulse.yaml and help are derived from the declaration. */
import type { Env } from "../../config/secrets.ts";
import { type Command, Option } from "commander";
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";
import { GpulseError } from "../../base/error.ts";
import { choice } from "./choice.ts";

export interface Setting<Schema extends v.GenericSchema = v.GenericSchema> {
  /** Validates the flag, the variable and the key. */
  readonly schema: Schema;
  /** The key's description in docs/reference/config.md. */
  readonly description: string;
  /** The flag in commander's syntax, and its description in --help without values and default. */
  readonly flag?: readonly [flags: string, help: string];
  readonly variable?: string;
  /** The possible values, if there are only a few. */
  readonly words?: readonly string[];
  /** The default in the user's syntax: validated like any other value, and shown in --help. */
  readonly fallback?: string;
  /** Description of a computed or missing default in --help. */
  readonly fallbackText?: string;
}

/** Settings by key of gpulse.yaml. */
export type SettingTable = Readonly<Record<string, Setting>>;

/** An optional key of gpulse.yaml. */
export const optionalKey = <Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  v.optional(v.pipe(schema, v.description(description)));

/** The keys of a table as entries of a valibot object. */
export const keysOf = <Table extends SettingTable>(table: Table) =>
  Object.fromEntries(
    Object.entries(table).map(([key, { schema, description }]) => [
      key,
      optionalKey(schema, description),
    ]),
  ) as unknown as {
    [Key in keyof Table]: v.OptionalSchema<Table[Key]["schema"], undefined>;
  };

type CamelCase<Key> = Key extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Key;

/** The flags of a table as commander returns them: unvalidated text. */
export type FlagsOf<Table> = {
  readonly [Key in keyof Table as CamelCase<Key & string>]?: string;
};

const camelCase = (key: string): string =>
  key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

export function addSettingFlags(command: Command, table: SettingTable): Command {
  for (const setting of Object.values(table))
    if (setting.flag !== undefined) command.addOption(settingOption(setting));
  return command;
}

/** The commander option of a setting; `fallback` overrides its default. */
export function settingOption(setting: Setting, fallback?: string): Option {
  const [flags, help] = setting.flag ?? ["", ""];
  const { words } = setting;
  const shown = fallback ?? setting.fallbackText ?? setting.fallback;
  if (words !== undefined) return choice(flags, help, words, shown);
  return new Option(flags, shown === undefined ? help : `${help} (default: ${shown})`);
}

/** Collects the values of a repeatable flag. */
export const collect = (
  value: string,
  before: readonly string[] | undefined,
): readonly string[] => [...(before ?? []), value];

/** Validates the text of a flag or a variable; `origin` is its name. */
export function parseSetting<Schema extends v.GenericSchema>(
  schema: Schema,
  origin: string,
  text: string,
): v.InferOutput<Schema> {
  const checked = checkValue(schema, text);
  if (checked.ok) return checked.value;
  throw new GpulseError(
    origin.startsWith("--") ? "USAGE" : "CONFIG_WRONG_VALUE",
    `${origin} ${checked.problems[0]?.sentence ?? "is not understood."}`,
  );
}

/** Validates the URL of a source or sink. The error does not repeat the URL, which may contain a secret. */
export function parseSpec<Schema extends v.GenericSchema>(
  schema: Schema,
  flag: string,
  url: string,
): v.InferOutput<Schema> {
  const checked = checkValue(schema, url);
  if (checked.ok) return checked.value;
  const reason = /\((.*)\)/s.exec(checked.problems[0]?.sentence ?? "")?.[1];
  throw new GpulseError("USAGE", `${flag}: ${reason ?? "pass a URL such as sim:8 or stdout:"}`);
}

/** Undefined only if a setting has no default. */
type SettingValue<Declared extends Setting> =
  | v.InferOutput<Declared["schema"]>
  | (Declared extends { readonly fallback: string } ? never : undefined);

/** Reads a setting of a table: a flag overrides the variable, the variable the file, the file the default. */
export function readSetting<Table extends SettingTable, Key extends keyof Table & string>(
  table: Table,
  key: Key,
  flags: object,
  env: Env,
  file: { readonly [Name in Key]?: v.InferOutput<Table[Key]["schema"]> | undefined } | undefined,
): SettingValue<Table[Key]> {
  const { schema, variable = "", fallback } = table[key] as Setting;
  const flag = (flags as Readonly<Record<string, unknown>>)[camelCase(key)];
  const origins = [
    [`--${key.replaceAll("_", "-")}`, flag],
    [variable, env[variable]],
  ] as const;
  for (const [origin, text] of origins)
    if (typeof text === "string" && text !== "") return parseSetting(schema, origin, text);
  const given = file?.[key];
  if (given !== undefined || fallback === undefined) return given;
  return parseSetting(schema, `the default of ${key}`, fallback);
}
