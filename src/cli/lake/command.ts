/** `gpulse lake`: shows the commits of a lake, verifies its files, and compacts them. */
import type { Command } from "commander";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { CompactFlags, LakeHistoryFlags, VerifyFlags } from "./run.ts";

const load = () => import("./run.ts");
const address = [
  "<lake>",
  "folder, s3://BUCKET/PREFIX or webhdfs://HOST:PORT/PATH of the lake",
] as const;

export function declareLake(program: Command, io: CommandIo, finish: Finish): void {
  const lake = program
    .command("lake")
    .summary("verify and compact a lake of Parquet files, and list its commits")
    .description(
      "Works on the lake itself, while writers run or not. Keys of S3 come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
    )
    .addHelpText(
      "after",
      `
Examples:
  gpulse lake verify gpulse-data/lake
  gpulse lake history s3://metrics/lake --limit 5
  gpulse lake compact 'webhdfs://namenode:9870/lake?user=gpulse'`,
    );
  lake
    .command("verify")
    .summary("compare a lake with its manifest")
    .description(
      "Reads every file and checks that rows, bytes and Kafka offsets are those that were committed, that no row is there twice and that no commit is unfinished. Changes nothing.",
    )
    .argument(...address)
    .option("--quick", "read footers only: finds no damaged pages and no duplicate rows")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Exit code: 0 no problem; 1 problems were found; 2 the lake cannot be read.

Examples:
  gpulse lake verify gpulse-data/lake
  gpulse lake verify s3://metrics/lake --quick --json`,
    )
    .action((place: string, flags: VerifyFlags) =>
      finish(async () => (await load()).runVerify(place, flags, io)),
    );
  lake
    .command("history")
    .summary("list the commits of a lake, newest first")
    .description(
      "Shows when each commit was made, its rows and files, and the Kafka offsets in it. A lake has at least its newest 1,000 commits.",
    )
    .argument(...address)
    .option("--limit <count>", "number of commits (default: 20)")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Examples:
  gpulse lake history gpulse-data/lake
  gpulse lake history s3://metrics/lake --limit 100 --json`,
    )
    .action((place: string, flags: LakeHistoryFlags) =>
      finish(async () => (await load()).runHistory(place, flags, io)),
    );
  lake
    .command("compact")
    .summary("merge small files of each day into large ones")
    .description(
      "Each merge is one commit: readers have the small files or the large one, never both. Also finishes commits of writers that were killed. Writers may run meanwhile.",
    )
    .argument(...address)
    .option("--rows <count>", "rows of a file; files with half of it stay (default: 122880)")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Examples:
  gpulse lake compact gpulse-data/lake
  gpulse lake compact s3://metrics/lake --rows 500000`,
    )
    .action((place: string, flags: CompactFlags) =>
      finish(async () => (await load()).runCompact(place, flags, io)),
    );
}
