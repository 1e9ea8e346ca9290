/** The agent's own executable, bundled separately so that a node loads no hub code. */
import { compileWhenBusy } from "../base/compilers.ts";
import { printCrashesBriefly } from "../cli/command/crash.ts";
import { runToExit } from "../cli/command/exit.ts";
import { createProgram, parseToExit } from "../cli/command/parse.ts";
import { processIo, version } from "../cli/command/process-io.ts";
import { declareAgent } from "./command.ts";
import { runAgent } from "./run.ts";

compileWhenBusy();
printCrashesBriefly();
const io = processIo();
const say = (text: string): void => void process.stderr.write(text);
let code = 0;
const program = createProgram(version);
declareAgent(program, async (flags) => {
  code = await runToExit(() => runAgent(flags, io), say);
});
void parseToExit(program, process.argv.slice(2)).then((parsed) =>
  process.exit(parsed === 0 ? code : parsed),
);
