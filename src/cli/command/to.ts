/** The flag and key for further sinks, by their URLs. */
import type { Command } from "commander";
import * as v from "valibot";
import { GpulseError } from "../../base/error.ts";
import { collect, parseSpec } from "./setting.ts";
import { parseSink } from "../../sinks/open.ts";

export type SinkSpec = string | Readonly<Record<string, unknown>>;

export interface ToFlags {
  readonly to?: readonly string[];
}

export function addToFlag(command: Command): Command {
  return command.option(
    "--to <url>",
    "also send everything to this sink, such as remote-write+http://host:9090/api/v1/write; repeatable",
    collect,
  );
}

/** `stdout:`, or `stdout: { format: json }`; parsed by the sink's own schema. */
function sinkSpec() {
  return v.pipe(
    v.union([v.string(), v.record(v.string(), v.unknown())], "a sink such as stdout:"),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      try {
        parseSink(dataset.value);
      } catch (thrown) {
        if (!(thrown instanceof GpulseError)) throw thrown;
        addIssue({ message: `a valid sink (${thrown.message})` });
      }
    }),
    v.metadata({ takes: "sink" }),
  );
}

export const toKey = v.optional(
  v.pipe(
    v.array(sinkSpec(), "a list of sinks"),
    v.description("Further sinks: a list such as `remote-write+http://…`."),
  ),
);

export function toSettings(
  { to }: ToFlags,
  file: readonly SinkSpec[] | undefined,
): readonly SinkSpec[] {
  return to?.map((url) => parseSpec(sinkSpec(), "--to", url)) ?? file ?? [];
}
