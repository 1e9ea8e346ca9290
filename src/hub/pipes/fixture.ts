/** A program that behaves as a pipe does, told by its first source how: for tests of what keeps pipes running. */
import { writeFileSync } from "node:fs";
import path from "node:path";

const source = `
import { createServer } from "node:http";
const [kind, ...args] = process.argv.slice(2);
const first = kind === "replay" ? args.at(-1) : (args.find((one) => one.startsWith("--from=")) ?? "").slice(7);
const page = [
  'gpulse_pipe_frames_total{source="sim"} 41', 'gpulse_pipe_frames_total{source="kafka"} 1',
  'gpulse_pipe_lag_seconds{source="sim"} 0.25', 'gpulse_pipe_lag_records{source="kafka",log="t",partition="0"} 7',
  'gpulse_pipe_dead_letters_total{source="kafka",outcome="kept"} 2', "gpulse_other 5", "",
].join("\\n");
const say = (line) => process.stderr.write(line + "\\n");
if (first === "bad:") {
  say("gpulse: It cannot be: " + (process.env.PIPE_PASSWORD ?? ""));
  process.exit(1);
} else if (first.startsWith("end:")) process.exit(0);
else {
  if (first !== "deaf:") process.on("SIGTERM", () => process.exit(1));
  else process.on("SIGTERM", () => undefined);
  const server = createServer((_request, response) => response.end(page)).listen(0, "127.0.0.1", () => {
    say("10:00:00 info  metrics of this pipe url=http://127.0.0.1:" + server.address().port + "/metrics");
    if (kind === "replay") say("1,234 frames  10/s  at 2026-01-01T00:00:00.000Z  2.5 s behind");
    if (first === "warns:") say("10:00:01 warn  the broker is away sink=kafka");
    if (first === "args:") say("10:00:01 warn  " + JSON.stringify(args));
  });
}
`;

/** The command line that starts it. */
export function pipeProgram(folder: string): readonly string[] {
  const file = path.join(folder, "pipe.mjs");
  writeFileSync(file, source);
  return [process.execPath, file];
}
