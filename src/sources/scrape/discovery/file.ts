/**
 * Targets listed in JSON and YAML files. A change is noticed at once if the system reports it, otherwise at the refresh interval.
 * A file that cannot be read or parsed retains its last good groups; a deleted file loses them.
 */
import { type FSWatcher, watch } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { formatError, systemCode } from "../../../base/error.ts";
import type { Log } from "../../../base/log.ts";
import type { FileDiscovery, ScrapeConfig } from "../config/types.ts";
import { populateTarget } from "../targets/populate.ts";
import { type DiscoveredGroup, type Discovery, readGroups } from "./group.ts";

const maxBytes = 64 * 1024 * 1024;
/** Debounce: writing a file causes many events. */
const settleMs = 50;

interface ParsedFile {
  readonly text: string;
  readonly groups: readonly DiscoveredGroup[];
}

export function fileDiscovery(config: FileDiscovery, log: Log): Discovery {
  let closed = false;
  let busy = false;
  let again = false;
  let timer: NodeJS.Timeout | undefined;
  let soon: NodeJS.Timeout | undefined;
  let known = new Map<string, ParsedFile>();
  const watchers = new Map<string, FSWatcher>();

  const refresh = async (
    emit: (groups: readonly DiscoveredGroup[]) => void,
    first: boolean,
  ): Promise<void> => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    const next = new Map<string, ParsedFile>();
    for (const file of await filesOf(config.files)) {
      const read = await readOne(file, known.get(file), log);
      if (read !== undefined) next.set(file, read);
    }
    const changed =
      next.size !== known.size || [...next].some(([file, read]) => known.get(file) !== read);
    known = next;
    busy = false;
    if (closed) return;
    if (changed || first) emit([...next.values()].flatMap(({ groups }) => groups));
    clearTimeout(timer);
    timer = setTimeout(() => void refresh(emit, false), config.refreshIntervalMs);
    if (again) {
      again = false;
      void refresh(emit, false);
    }
  };

  /** Watches folders instead of files, because a watch on a file would miss editors that save by renaming. */
  const watchFolders = (emit: (groups: readonly DiscoveredGroup[]) => void): void => {
    for (const folder of new Set(config.files.map((pattern) => path.dirname(pattern)))) {
      try {
        const watcher = watch(folder, { persistent: false }, () => {
          clearTimeout(soon);
          soon = setTimeout(() => void refresh(emit, false), settleMs);
        });
        watcher.on("error", () => watcher.close());
        watchers.set(folder, watcher);
      } catch (thrown) {
        log.debug("a folder cannot be watched; it is read at the refresh interval", {
          folder,
          error: formatError(thrown),
        });
      }
    }
  };

  return {
    start(emit) {
      watchFolders(emit);
      void refresh(emit, true);
    },
    close() {
      closed = true;
      clearTimeout(timer);
      clearTimeout(soon);
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}

async function readOne(
  file: string,
  before: ParsedFile | undefined,
  log: Log,
): Promise<ParsedFile | undefined> {
  try {
    if ((await stat(file)).size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
    const text = await readFile(file, "utf8");
    return text === before?.text ? before : { text, groups: await groupsOf(file, text) };
  } catch (thrown) {
    if (systemCode(thrown) === "ENOENT") return undefined;
    log.warn("target file invalid, keeping its last targets", {
      file,
      error: formatError(thrown),
    });
    return before;
  }
}

async function groupsOf(file: string, text: string): Promise<readonly DiscoveredGroup[]> {
  return readGroups(await parse(file, text), (index) => `${file}:${index}`, {
    __meta_filepath: file,
  });
}

/** Like promtool, checks the target files of all jobs: their format, and that each target can be scraped. */
export async function checkTargetFiles(configs: readonly ScrapeConfig[]): Promise<string[]> {
  const problems: string[] = [];
  for (const config of configs)
    for (const file of await filesOf(config.discovery.file.flatMap(({ files }) => files))) {
      try {
        const groups = await groupsOf(file, await readFile(file, "utf8"));
        for (const [index, group] of groups.entries())
          for (const labels of group.targets) {
            const made = populateTarget(labels, group.labels, config);
            if (made.is === "broken")
              problems.push(
                `${file}: group ${index}: ${JSON.stringify(labels["__address__"])} cannot be scraped by job ${JSON.stringify(config.jobName)}: ${made.why}.`,
              );
          }
      } catch (thrown) {
        // The file may be created later.
        if (systemCode(thrown) !== "ENOENT") problems.push(`${file}: ${formatError(thrown)}.`);
      }
    }
  return problems;
}

async function parse(file: string, text: string): Promise<unknown> {
  if (path.extname(file).toLowerCase() === ".json") return JSON.parse(text);
  const { parseDocument } = await import("../../../config/yaml.ts");
  const document = parseDocument(text, { prettyErrors: false, uniqueKeys: true });
  const [error] = document.errors;
  if (error !== undefined) throw new Error(`it is not valid YAML: ${error.message}`);
  return document.toJS({ maxAliasCount: 50 });
}

/** The files of all patterns, each once; only the last part of a pattern may have wildcards. */
async function filesOf(patterns: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const pattern of patterns) {
    const last = path.basename(pattern);
    if (!/[*?[]/.test(last)) {
      found.add(pattern);
      continue;
    }
    const matches = globPattern(last);
    const names = await readdir(path.dirname(pattern)).catch(() => []);
    for (const name of names.filter((one) => matches.test(one)).sort())
      found.add(path.join(path.dirname(pattern), name));
  }
  return [...found];
}

/** Converts a shell pattern with `*`, `?` and `[a-z]` to a regular expression. */
export function globPattern(glob: string): RegExp {
  const source = glob.replace(/\[(\^?)([^\]]+)\]|[*?]|[\\^$.|+(){}[\]]/g, (part, not, set) => {
    if (part === "*") return "[^/]*";
    if (part === "?") return "[^/]";
    if (set === undefined) return `\\${part}`;
    return `[${not === "^" ? "^" : ""}${String(set).replace(/[\\\]]/g, "\\$&")}]`;
  });
  return new RegExp(`^${source}$`, "s");
}
