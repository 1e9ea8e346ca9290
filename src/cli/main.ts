/** The gpulse command. */
import { parseToExit } from "../command/parse.ts";
import { processIo } from "../command/process-io.ts";
import { systemCode } from "../errors/error.ts";
import { keepYoungSmall } from "../store/heap.ts";
import { buildProgram } from "./program.ts";

// Before a command is loaded: what has grown once stays large.
keepYoungSmall();
// A reader that has seen enough, such as head, is no trouble; what else is to be done goes on.
process.stdout.on("error", (error) => {
  if (systemCode(error) !== "EPIPE") throw error;
});
// What nobody caught is said by its stack alone: Node would print all that hangs on it, and that may be a request with its
// credentials. Whoever has a terminal to put right first, as top does, ends by itself.
for (const event of ["uncaughtException", "unhandledRejection"] as const)
  process.on(event, (thrown: unknown) => {
    if (process.listenerCount(event) > 1) return;
    const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    process.stderr.write(`gpulse: BUG: ${text}\n`);
    process.exit(1);
  });
const { program, exitCode } = buildProgram(processIo());
const parsed = await parseToExit(program, process.argv.slice(2));
const code = parsed === 0 ? exitCode() : parsed;
// Standard output may be a pipe that still has to take what was written; exiting now would cut it off.
process.exitCode = code;
if (process.stdout.writableLength > 0)
  await new Promise<void>((resolve) => process.stdout.once("drain", resolve));
process.exit(code);
