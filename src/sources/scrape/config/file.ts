/**
 * Reads a whole prometheus.yml. Every mistake is reported in one sentence with its line, every part without effect is listed, and
 * the text is literal: only external labels expand variables, as in Prometheus.
 */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type * as v from "valibot";
import { checkValue } from "../../../config/check.ts";
import type { FileProblem } from "../../../config/file.ts";
import { GpulseError, systemCode } from "../../../base/error.ts";
import { type ConfigDocument, readDocument } from "../../../config/yaml/document.ts";
import type { Variables } from "./global-section.ts";
import { expandGlob } from "../../../config/yaml/glob.ts";
import {
  ConfigDiagnostics,
  type ConfigIssue,
  type ConfigPath,
  formatConfigPath,
} from "../../../config/yaml/diagnostics.ts";
import {
  checkJobNames,
  prometheusSchema,
  readJobs,
  readSections,
  scrapeFileSchema,
  type Sections,
} from "./sections.ts";
import type { PrometheusConfig, ScrapeConfig } from "./types.ts";

export type PrometheusCheckResult =
  | {
      readonly ok: true;
      readonly value: PrometheusConfig;
      /** Problems that promtool rejects but Prometheus starts with: invalid targets, missing files. */
      readonly checkFailures: readonly FileProblem[];
    }
  | { readonly ok: false; readonly problems: readonly FileProblem[] };

const maxBytes = 16 * 1024 * 1024;

export async function checkPrometheusFile(
  path: string,
  env: Variables,
  scrapesNative = false,
): Promise<PrometheusCheckResult> {
  const file = await openFile(path, prometheusSchema);
  if (!file.ok) return file;
  const { document, reading } = file;
  const sections = readSections(file.raw, env, reading, scrapesNative);
  const names = new Set<string>();
  checkJobNames(sections.config.scrapeConfigs, names, reading);
  const problems = located(reading.mistakes, document);
  const checkFailures = located(reading.checkFailures, document);
  const unsupported = reading.unsupported.map(({ sentence }) => sentence);
  if (document.ignored !== undefined) unsupported.push(document.ignored);
  const further: ScrapeConfig[] = [];
  for (const found of sections.scrapeFiles.flatMap(expandGlob)) {
    const more = await readScrapeFile(found, sections, names);
    problems.push(...more.problems);
    checkFailures.push(...more.checkFailures);
    unsupported.push(...more.unsupported);
    further.push(...more.jobs);
  }
  if (problems.length > 0) return { ok: false, problems };
  const { config } = sections;
  return {
    ok: true,
    value: { ...config, scrapeConfigs: [...config.scrapeConfigs, ...further], unsupported },
    checkFailures,
  };
}

/** Returns the checked configuration; throws an error with the first problem and the number of further ones. */
export async function loadPrometheusFile(
  path: string,
  env: Variables,
  scrapesNative = false,
): Promise<PrometheusConfig> {
  const checked = await checkPrometheusFile(path, env, scrapesNative);
  if (checked.ok) {
    const warnings = checked.checkFailures.map(({ sentence }) => sentence);
    return { ...checked.value, unsupported: [...checked.value.unsupported, ...warnings] };
  }
  const [first, ...more] = checked.problems;
  throw new GpulseError(
    first?.code ?? "CONFIG_WRONG_VALUE",
    `${first?.sentence ?? "not understood."}${more.length === 0 ? "" : ` (${more.length} more)`}`,
  );
}

async function readScrapeFile(
  path: string,
  { defaults }: Sections,
  names: Set<string>,
): Promise<{
  jobs: ScrapeConfig[];
  problems: readonly FileProblem[];
  checkFailures: readonly FileProblem[];
  unsupported: string[];
}> {
  const file = await openFile(path, scrapeFileSchema);
  if (!file.ok) return { jobs: [], problems: file.problems, checkFailures: [], unsupported: [] };
  const { document, reading } = file;
  const jobs = readJobs(file.raw.scrape_configs, defaults, reading);
  checkJobNames(jobs, names, reading);
  return {
    jobs,
    problems: located(reading.mistakes, document),
    checkFailures: located(reading.checkFailures, document),
    unsupported: reading.unsupported.map(({ sentence }) => `${path}: ${sentence}`),
  };
}

type OpenResult<Schema extends v.GenericSchema> =
  | { readonly ok: false; readonly problems: readonly FileProblem[] }
  | {
      readonly ok: true;
      readonly raw: v.InferOutput<Schema>;
      readonly document: ConfigDocument;
      readonly reading: ConfigDiagnostics;
    };

async function openFile<Schema extends v.GenericSchema>(
  path: string,
  schema: Schema,
): Promise<OpenResult<Schema>> {
  let document: ConfigDocument;
  try {
    document = await readDocument(readText(path), path);
  } catch (thrown) {
    if (!(thrown instanceof GpulseError) || thrown.code !== "CONFIG_SYNTAX") throw thrown;
    return { ok: false, problems: [{ code: "CONFIG_SYNTAX", sentence: thrown.message }] };
  }
  const checked = checkValue(schema, document.value);
  if (checked.ok)
    return {
      ok: true,
      raw: checked.value,
      document,
      reading: new ConfigDiagnostics(dirname(resolve(path)), true),
    };
  return {
    ok: false,
    problems: checked.problems.map(({ kind, path: at, sentence }) => ({
      code: kind === "unknown-key" ? "CONFIG_UNKNOWN_KEY" : "CONFIG_WRONG_VALUE",
      sentence: `${document.at(at)}: ${plainSentence(document.value, at, sentence)}`,
    })),
  };
}

const secretKeys = /^(password|credentials|bearer_token|key|secrets)$/;

/** The sentence with the path as written in YAML, and without the value if it may be a secret. */
export function plainSentence(value: unknown, path: ConfigPath, sentence: string): string {
  const parent = path.slice(0, -1);
  // The schema treats a list as a mapping with the keys 0, 1, 2.
  if (sentence.startsWith("unknown key") && Array.isArray(valueAt(value, parent)))
    return `${parent.length === 0 ? "the file" : formatConfigPath(parent)} must be a mapping of keys.`;
  const named = sentence.replace(`"${path.join(".")}"`, formatConfigPath(path));
  return path.some((part) => secretKeys.test(String(part)))
    ? named.replace(/, not .*\.$/s, ".")
    : named;
}

function valueAt(value: unknown, path: ConfigPath): unknown {
  return path.reduce<unknown>(
    (at, part) => (at as Readonly<Record<string | number, unknown>> | undefined)?.[part],
    value,
  );
}

function located(found: readonly ConfigIssue[], document: ConfigDocument): FileProblem[] {
  return found.map(({ path, sentence }) => ({
    code: "CONFIG_WRONG_VALUE",
    sentence: `${document.at(path)}: ${sentence}`,
  }));
}

function readText(path: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (thrown) {
    const code = systemCode(thrown);
    const why = code === "ENOENT" ? "does not exist" : `cannot be read (${code ?? "error"})`;
    throw new GpulseError("CONFIG_UNREADABLE", `The configuration file ${path} ${why}.`, {
      cause: thrown,
    });
  }
  if (bytes.length > maxBytes)
    throw new GpulseError(
      "CONFIG_UNREADABLE",
      `The configuration file ${path} is larger than 16 MiB.`,
    );
  return bytes.toString("utf8");
}
