/** Runs `gpulse config check`. Prints names and lines, never a secret's value. */
import type { CommandIo } from "../../command/io.ts";
import { configSchema } from "../../command/schema.ts";
import { checkFile } from "../../config/file.ts";

export interface ConfigFlags {
  readonly json?: boolean;
}

export async function runConfigCheck(
  file: string,
  flags: ConfigFlags,
  io: CommandIo,
): Promise<number> {
  const checked = await checkFile(file, configSchema, io.env);
  const problems = checked.ok ? [] : checked.problems;
  if (flags.json === true) {
    io.stdout.write(`${JSON.stringify({ file, valid: checked.ok, problems }, null, 2)}\n`);
  } else if (checked.ok) {
    io.stdout.write(`${file} is valid.\n`);
  } else {
    for (const { sentence } of problems) io.stderr.write(`${sentence}\n`);
  }
  return checked.ok ? 0 : 2;
}
