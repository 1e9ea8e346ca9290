/** The gpulse command. */
import { printCrashesBriefly } from "./command/crash.ts";
import { parseToExit } from "./command/parse.ts";
import { processIo } from "./command/process-io.ts";
import { systemCode } from "../base/error.ts";
import { limitYoungGeneration } from "../base/heap.ts";
import { buildProgram } from "./program.ts";

// Before a command is loaded: the young generation does not shrink again.
limitYoungGeneration();
// A reader that closes the pipe early, such as head, is not an error; other work continues.
process.stdout.on("error", (error) => {
  if (systemCode(error) !== "EPIPE") throw error;
});
printCrashesBriefly();
const args = process.argv.slice(2);
const { program, exitCode } = buildProgram(processIo(), args[0]);
void parseToExit(program, args).then((parsed) => exit(parsed === 0 ? exitCode() : parsed));

function exit(code: number): void {
  // Standard output may be a pipe with data still buffered; exiting now would truncate it.
  process.exitCode = code;
  if (process.stdout.writableLength === 0) process.exit(code);
  process.stdout.once("drain", () => process.exit(code));
}
