// Tests that `--json` prints one document on standard output and nothing else, for every command that writes files or moves
// data.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";

import { ensureBuild, runGpulse } from "../../engines/program.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-json-"));
const at = (name: string): string => path.join(folder, name);

beforeAll(ensureBuild, 300_000);

/** Each command uses the results of the earlier ones. */
const commands = [
  [
    [
      "run",
      "--source",
      "sim:1",
      "--baseline",
      "0",
      "--out",
      at("a.gpulserun"),
      "--",
      "echo",
      "own",
    ],
    { file: at("a.gpulserun"), exitCode: 0, durationSeconds: expect.any(Number) as number },
    "own\n",
  ],
  [
    [
      "stress",
      "--source",
      "sim:?model=RX7800XT",
      "--for",
      "5s",
      "--repeats",
      "1",
      "--folder",
      at("runs"),
    ],
    { runs: [expect.objectContaining({ label: "RX7800XT", complete: true })] },
    expect.stringContaining("simulated"),
  ],
  [
    ["runs", "verify", at("a.gpulserun"), "/dev/null"],
    {
      files: [expect.objectContaining({ valid: true }), expect.objectContaining({ valid: false })],
    },
    "",
    1,
  ],
  [
    ["runs", "import", at("a.gpulserun"), "--folder", at("imported")],
    { imported: [{ file: expect.any(String) as string, id: expect.any(String) as string }] },
    "",
  ],
  [
    ["pipe", "--from", "sim:2?speed=max&duration=1m", "--to", `parquet:${at("lake")}`],
    { complete: true, frames: expect.any(Number) as number, deadLetters: 0 },
    "",
  ],
  [
    ["replay", at("a.gpulserun"), "--speed", "max", "--to", `parquet:${at("again")}`],
    { complete: true, rounds: 1, skippedFrames: 0 },
    "",
  ],
  [["analyze", "daily", "--input", at("lake")], { analyses: expect.any(Array) as unknown[] }, ""],
  [
    ["lake", "verify", at("lake")],
    { problems: [], rows: expect.any(Number) as number, files: expect.any(Number) as number },
    "",
  ],
  [
    ["lake", "history", at("lake")],
    { commits: expect.arrayContaining([expect.objectContaining({ operation: "append" })]) as [] },
    "",
  ],
  [["lake", "compact", at("lake")], { merged: expect.any(Number) as number }, ""],
  [["snapshot", "save", at("s.json"), "--source", "sim:2"], { gpus: 2, simulated: true }, ""],
] as const;

test(
  "commands that make files print one JSON document with --json",
  { timeout: 120_000 },
  async () => {
    for (const [args, document, stderr, exit = 0] of commands) {
      const [command, ...rest] = args;
      const isGroup = ["runs", "snapshot", "lake"].includes(command);
      const words = isGroup
        ? [command, rest[0] ?? "", "--json", ...rest.slice(1)]
        : [command, "--json", ...rest];
      const answer = await runGpulse(words);
      expect(answer.code, `${words.join(" ")}: ${answer.stderr}`).toBe(exit);
      expect(JSON.parse(answer.stdout), words.join(" ")).toMatchObject(document);
      expect(answer.stderr, words.join(" ")).toEqual(stderr);
    }
  },
);

test("frames and a summary do not share standard output", async () => {
  const { code, stdout, stderr } = await runGpulse(["pipe", "--from", "sim:1", "--json"]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain("Send the frames elsewhere with --to.");
});
