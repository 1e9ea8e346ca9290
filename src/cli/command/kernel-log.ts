/** The flag, variable and key that make an agent forward kernel log lines about GPUs. */
import type { Env } from "../../config/secrets.ts";
import type { Command } from "commander";
import * as v from "valibot";
import { GpulseError } from "../../base/error.ts";
import { type KernelLogTarget, parseKernelLog } from "../../sinks/kernel-log/define.ts";

export interface KernelLogFlags {
  readonly kernelLog?: string;
}

export function addKernelLogFlag(command: Command): Command {
  return command.option(
    "--kernel-log <url>",
    "send kernel log lines about GPUs (Xid, amdgpu …) to this URL, such as loki+http://loki:3100 (default: GPULSE_KERNEL_LOG)",
  );
}

type KernelLogInput = string | Readonly<Record<string, unknown>>;

/** Key of `agent:`. */
export const kernelLogKey = v.optional(
  v.pipe(
    v.union([v.string(), v.record(v.string(), v.unknown())], "an address such as loki+http://…"),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      try {
        parseKernelLog(dataset.value);
      } catch (thrown) {
        if (!(thrown instanceof GpulseError)) throw thrown;
        addIssue({ message: `a valid target (${thrown.message})` });
      }
    }),
    v.metadata({ takes: "kernel log target" }),
    v.description(
      "Where to send kernel log lines about GPUs, such as `loki+http://loki:3100`: see [kernel log](../guides/kernel-log.md).",
    ),
  ),
);

/** Secrets of the file are resolved already; a flag or variable contains references to them. */
export function kernelLogSettings(
  { kernelLog }: KernelLogFlags,
  file: KernelLogInput | undefined,
  env: Env,
): KernelLogTarget | undefined {
  const variable = env["GPULSE_KERNEL_LOG"];
  const given = kernelLog ?? (variable === "" ? undefined : variable);
  if (given === "") return undefined;
  if (given === undefined) return file === undefined ? undefined : parseKernelLog(file);
  return parseKernelLog(given, env);
}
