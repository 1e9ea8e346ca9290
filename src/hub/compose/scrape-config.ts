/** The hub's scrape configuration from a prometheus.yml and from gpulse.yaml together, and its text without secrets. */
import type { Env } from "../../config/secrets.ts";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Settings } from "../../cli/command/settings.ts";
import { GpulseError } from "../../base/error.ts";
import type { PrometheusConfig } from "../../sources/scrape/config/types.ts";

export interface ScrapeFiles {
  readonly config: PrometheusConfig;
  /** YAML, with secrets as `<secret>`. */
  readonly yaml: string;
}

type ScrapeSettings = Pick<Settings, "prometheusConfig" | "configFile" | "features">;

/** Returns undefined if neither file configures scraping. @throws GpulseError if a file is invalid. */
export async function loadScrapeFiles(
  settings: ScrapeSettings,
  env: Env,
): Promise<ScrapeFiles | undefined> {
  const scrapesNative = settings.features.includes("native-histograms");
  const [prometheus, own] = [
    await fromPrometheusFile(settings.prometheusConfig, env, scrapesNative),
    await fromOwnFile(settings.configFile, env, scrapesNative),
  ];
  if (prometheus === undefined || own === undefined) return prometheus ?? own;
  const jobs = [...prometheus.config.scrapeConfigs, ...own.config.scrapeConfigs];
  const twice = jobs.find(
    ({ jobName }, at) => jobs.findIndex((job) => job.jobName === jobName) < at,
  );
  if (twice !== undefined)
    throw new GpulseError(
      "CONFIG_WRONG_VALUE",
      `The job "${twice.jobName}" is defined in ${settings.prometheusConfig ?? ""} and in ${settings.configFile ?? ""}: give it another name in one of them.`,
    );
  return {
    config: {
      ...prometheus.config,
      scrapeConfigs: jobs,
      remoteWrite: [...prometheus.config.remoteWrite, ...own.config.remoteWrite],
      unsupported: [...prometheus.config.unsupported, ...own.config.unsupported],
    },
    yaml: `${prometheus.yaml}---\n${own.yaml}`,
  };
}

async function fromPrometheusFile(
  file: string | undefined,
  env: Env,
  scrapesNative: boolean,
): Promise<ScrapeFiles | undefined> {
  if (file === undefined) return undefined;
  const { loadPrometheusFile } = await import("../../sources/scrape/config/file.ts");
  const config = await loadPrometheusFile(file, env, scrapesNative);
  return { config, yaml: await redactYaml(await readFile(file, "utf8")) };
}

const ownNames = ["global", "scrape_configs", "remote_write"] as const;

async function fromOwnFile(
  file: string | undefined,
  env: Env,
  scrapesNative: boolean,
): Promise<ScrapeFiles | undefined> {
  if (file === undefined) return undefined;
  const [{ loadFile }, { configSchema }] = [
    await import("../../config/file.ts"),
    await import("../../cli/command/schema.ts"),
  ];
  const raw = await loadFile(file, configSchema, env);
  if (ownNames.every((name) => raw[name] === undefined)) return undefined;
  const [{ readOwnSections }, { readDocument }] = [
    await import("../../sources/scrape/config/own-sections.ts"),
    await import("../../config/yaml/document.ts"),
  ];
  const text = await readFile(file, "utf8");
  const { at } = await readDocument(text, file);
  const config = readOwnSections(raw, path.dirname(path.resolve(file)), at, scrapesNative);
  return { config, yaml: await redactYaml(text, ownNames) };
}

const secretKey =
  /^(password|credentials|bearer_token|key|secret|secrets|client_secret|secret_key|token)$/;

/** Returns a file's content without potential secrets: comments, values of secret keys, passwords in URLs. */
async function redactYaml(text: string, only?: readonly string[]): Promise<string> {
  const { parseAllDocuments, stringify } = await import("./yaml.ts");
  // Only the first document is used.
  const [document] = parseAllDocuments(text, { schema: "failsafe", merge: true });
  const value = hidden(document?.toJS({ maxAliasCount: 1_000 }));
  if (only === undefined || typeof value !== "object" || value === null) return stringify(value);
  return stringify(Object.fromEntries(Object.entries(value).filter(([key]) => only.includes(key))));
}

function hidden(value: unknown): unknown {
  if (typeof value === "string") return value.replace(/(:\/\/[^/@\s:]*:)[^/@\s]+@/g, "$1xxxxx@");
  if (Array.isArray(value)) return value.map(hidden);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      secretKey.test(key) && item !== ""
        ? masked(item)
        : key === "headers"
          ? maskedValues(item)
          : hidden(item),
    ]),
  );
}

/** Redacts the headers of a remote write: any of them may be an API key. */
const maskedValues = (item: unknown): unknown =>
  typeof item === "object" && item !== null
    ? Object.fromEntries(Object.keys(item).map((name) => [name, "<secret>"]))
    : masked(item);

const masked = (item: unknown): unknown =>
  Array.isArray(item) ? item.map(() => "<secret>") : "<secret>";
