/**
 * Reads and validates the receivers of an alertmanager.yml: either all of them can be opened, or the file is rejected with every
 * error. Errors never quote a value, since it may be a secret.
 */
import path from "node:path";
import * as v from "valibot";
import type { RoutingConfig } from "../route/config.ts";
import { checkValue } from "../../config/check.ts";
import { GpulseError } from "../../base/error.ts";
import { readDocument } from "../../config/yaml/document.ts";
import { Secret } from "../../net/http/secret.ts";
import {
  ConfigDiagnostics,
  type ConfigPath,
  formatConfigPath,
} from "../../config/yaml/diagnostics.ts";
import type { Channel, Opener } from "./channel.ts";
import { type Environment, looksLikeVariable } from "./environment.ts";
import { type Global, globalSchema } from "./global.ts";
import { SecretRedactor } from "./secret-redactor.ts";
import { channels } from "./list.ts";
import { isWritten, refusePairs, createEntryContext } from "./entry-context.ts";

export interface ReceiverEntry {
  readonly channel: Channel;
  /** The index of the entry among the receiver's entries of that channel. */
  readonly index: number;
  readonly sendResolved: boolean;
  /** `alertmanager.yml:7:5: receivers[0].email_configs[1]`, for messages about the entry. */
  readonly where: string;
  readonly open: Opener;
}

export interface ReceiversConfig {
  readonly receivers: ReadonlyMap<string, readonly ReceiverEntry[]>;
  readonly templates: readonly string[];
  readonly file: string;
  /** Settings that load without effect, one sentence each. */
  readonly warnings: readonly string[];
  readonly hidden: SecretRedactor;
}

/** The parts of the routing configuration that channels need. */
export type RoutingFile = Pick<RoutingConfig, "source" | "templates"> &
  Partial<Pick<RoutingConfig, "route">>;

export interface ReadReceiversOptions {
  /** The file's path: for messages, and as the base of relative paths. */
  readonly file: string;
  readonly env: Environment;
}

const entriesOf = (schema: v.GenericSchema) => v.optional(v.array(schema), []);

const receiverSchema = v.strictObject({
  name: v.string("text"),
  ...Object.fromEntries(
    channels.map(({ name, options }) => [`${name}_configs`, entriesOf(options)]),
  ),
});

const fileSchema = v.looseObject({
  global: v.optional(globalSchema, {}),
  receivers: v.optional(v.array(receiverSchema), []),
});

/** @throws GpulseError ALERT_CONFIG with every error, one per line. */
export async function readReceivers(
  routing: RoutingFile,
  { file, env }: ReadReceiversOptions,
): Promise<ReceiversConfig> {
  const document = await readDocument(routing.source, file);
  const checked = checkValue(fileSchema, document.value);
  if (!checked.ok)
    refuse(
      checked.problems.map(
        (problem) => `${document.at(problem.path)}: ${withoutValue(problem.sentence)}`,
      ),
    );
  const { global, receivers } = checked.value;
  const hidden = new SecretRedactor();
  const reading = new ConfigDiagnostics(path.dirname(path.resolve(file)));
  checkGlobal(global, reading);
  const found = new Map<string, readonly ReceiverEntry[]>();
  receivers.forEach((receiver, at) => {
    const here = ["receivers", at];
    const given = receiver as Readonly<Record<string, unknown>>;
    const entries = channels.flatMap((channel) => {
      const key = `${channel.name}_configs`;
      return (given[key] as readonly Readonly<Record<string, unknown>>[]).flatMap(
        (entry, index) => {
          const where: ConfigPath = [...here, key, index];
          const addresses = new Set<string>();
          const setting = createEntryContext({
            global,
            reading,
            path: where,
            env,
            hidden,
            document,
            addresses,
          });
          const mistakes = reading.mistakes.length;
          refusePairs(entry, reading, where);
          const open = channel.prepare(entry, setting);
          warnOfVariables(entry, addresses, reading, where);
          if (open === undefined && reading.mistakes.length === mistakes)
            reading.wrong(where, "something that it needs is empty.");
          if (open === undefined) return [];
          const sendResolved = entry["send_resolved"] === true;
          return [
            {
              channel,
              index,
              sendResolved,
              where: `${document.at(where)}: ${formatConfigPath(where)}`,
              open,
            },
          ];
        },
      );
    });
    found.set(receiver.name, entries);
  });
  if (reading.mistakes.length > 0)
    refuse(reading.mistakes.map((mistake) => `${document.at(mistake.path)}: ${mistake.sentence}`));
  const warnings = reading.unsupported.map((one) => `${document.at(one.path)}: ${one.sentence}`);
  if (document.ignored !== undefined) warnings.push(document.ignored);
  return {
    receivers: found,
    templates: routing.templates,
    file,
    warnings: [...new Set(warnings)],
    hidden,
  };
}

function refuse(sentences: readonly string[]): never {
  throw new GpulseError("ALERT_CONFIG", [...new Set(sentences)].join("\n"));
}

const withoutValue = (sentence: string): string => sentence.replace(/, not .*\.$/s, ".");

/** Errors in the global section count even if no receiver uses the setting. Variables are expanded later. */
function checkGlobal(global: Global, reading: ConfigDiagnostics): void {
  refusePairs(global, reading, ["global"]);
  for (const [key, given] of Object.entries(global)) {
    const text = given instanceof Secret ? given.reveal() : given;
    if (typeof text !== "string" || text.includes("$")) continue;
    if (key.endsWith("_url") && !/^https?:\/\/[^/]/i.test(text))
      reading.wrong(["global", key], "give a URL that begins with http:// or https://.");
    if (key === "smtp_smarthost" && text !== "" && !/:[^:\]]+$/.test(text))
      reading.wrong(["global", key], "write the mail server as host:port.");
  }
  const { slack_api_url: url, slack_app_url: appUrl } = global;
  const hasUrl = isWritten(url) || isWritten(global.slack_api_url_file);
  const hasToken = isWritten(global.slack_app_token) || isWritten(global.slack_app_token_file);
  // With the app's own URL both are allowed: receivers then choose by their own authorization.
  if (hasUrl && hasToken && url?.reveal() !== appUrl)
    reading.wrong(["global", "slack_api_url"], "give slack_api_url or slack_app_token, not both.");
}

/** Text that is neither a secret nor an address is not expanded; a value that looks like a variable gets a warning. */
function warnOfVariables(
  entry: Readonly<Record<string, unknown>>,
  addresses: ReadonlySet<string>,
  reading: ConfigDiagnostics,
  where: ConfigPath,
): void {
  for (const [key, value] of Object.entries(entry))
    if (typeof value === "string" && looksLikeVariable(value) && !addresses.has(key))
      reading.remark(
        [...where, key],
        "used as it is written: only secrets and addresses come from the environment.",
      );
}
