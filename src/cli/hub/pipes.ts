/** The hub's pipes with what only the command line knows: the program to run them with, and how it reads their URLs. */
import type { CommandIo } from "../../command/io.ts";
import type { Settings } from "../../command/settings.ts";
import { Pipes } from "../../hub/pipes/pipes.ts";
import type { WantedPipe } from "../../hub/pipes/spec.ts";
import type { Log } from "../../log/log.ts";

export function openHubPipes(settings: Settings, io: CommandIo, log: Log): Pipes {
  return new Pipes({
    dataDir: settings.dataDir,
    hostName: settings.hostName,
    program: [process.execPath, process.argv[1] ?? ""],
    env: io.env,
    log,
    nowMs: Date.now,
    check,
  });
}

async function check({ kind, from, to, options }: WantedPipe): Promise<void> {
  const { parseSource } = await import("../../sources/open.ts");
  const { parseSink } = await import("../../sinks/open.ts");
  if (kind === "pipe") for (const url of from) if (url !== "auto") parseSource(url);
  if (kind === "replay") {
    const { sourceOf, speedOf } = await import("../replay/options.ts");
    speedOf(options.speed);
    parseSource(sourceOf(from[0] ?? "", {}));
  }
  for (const url of to) parseSink(url);
}
