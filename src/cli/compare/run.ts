/** Runs `gpulse compare`. */
import { writeFile } from "node:fs/promises";
import { compare, type Comparison } from "../../runs/compare/compare.ts";
import type { ClientFlags } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import { subjectsOf } from "../../hub/compare/run-series.ts";
import { loadRunFiles } from "./files.ts";
import { fetchComparison } from "./live.ts";
import { formatComparison } from "./show.ts";

export interface CompareFlags extends ClientFlags {
  readonly group?: readonly string[];
  readonly gpu?: readonly string[];
  readonly host?: readonly string[];
  readonly since?: string;
  readonly from?: string;
  readonly to?: string;
  readonly workQuery?: string;
  readonly unit?: string;
  readonly url?: string;
  readonly html?: string;
  readonly markdown?: string | true;
  readonly json?: string | true;
  readonly csv?: string | true;
  readonly strict?: boolean;
  readonly allRepeats?: boolean;
}

export async function runCompare(
  files: readonly string[],
  flags: CompareFlags,
  io: CommandIo,
): Promise<number> {
  const live = (flags.gpu?.length ?? 0) + (flags.host?.length ?? 0) > 0;
  const recorded = files.length > 0 || flags.group !== undefined;
  if (live === recorded)
    throw new GpulseError(
      "USAGE",
      live
        ? "Pass either run files, or --gpu and --host, not both."
        : "Nothing to compare. Pass run files, or GPUs of a hub with --gpu UUID --gpu UUID.",
    );
  const comparison = live
    ? await fetchComparison(flags, io)
    : compare(subjectsOf(await loadRunFiles(files, flags.group ?? [])), {
        keepsWarmUp: flags.allRepeats === true,
      });
  await writeReports(comparison, flags, io);
  const doubtful = comparison.caveats.some(({ level }) => level !== "note");
  return flags.strict === true && doubtful ? 1 : 0;
}

async function writeReports(
  comparison: Comparison,
  flags: CompareFlags,
  io: CommandIo,
): Promise<void> {
  const { html, markdown, json, csv } = flags;
  if ([markdown, json, csv].filter((one) => one === true).length > 1)
    throw new GpulseError(
      "USAGE",
      "Only one of --markdown, --json and --csv can be printed. Pass a file to the others.",
    );
  const put = async (where: string | true | undefined, make: () => Promise<string>) => {
    if (where === undefined) return;
    if (where === true) io.stdout.write(await make());
    else await write(where, await make(), io);
  };
  await put(html, async () =>
    (await import("../../runs/compare/report/html.ts")).htmlOf(comparison, {
      madeMs: Date.now(),
      version: io.version,
    }),
  );
  await put(markdown, async () =>
    (await import("../../runs/compare/report/markdown.ts")).markdownOf(comparison),
  );
  await put(json, async () => `${JSON.stringify(comparison, null, 2)}\n`);
  await put(csv, async () => (await import("../../runs/compare/report/csv.ts")).csvOf(comparison));
  if (markdown !== true && json !== true && csv !== true)
    io.stdout.write(formatComparison(comparison));
}

async function write(file: string, text: string, io: CommandIo): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (thrown) {
    throw new GpulseError(
      "USAGE",
      `Cannot write ${file} (${formatError(thrown)}). Choose another path.`,
      {
        cause: thrown,
      },
    );
  }
  io.stderr.write(`wrote ${file}\n`);
}
