/** Opens the held-idle policy if one is configured. */
import { randomBytes } from "node:crypto";
import path from "node:path";
import type { Settings } from "../../../cli/command/settings.ts";
import { GpulseError } from "../../../base/error.ts";
import type { HubJobs } from "../jobs.ts";
import { readKey } from "../key-file.ts";
import type { HeldIdle, HeldIdleOptions } from "./held-idle.ts";

interface HeldIdleContext extends Pick<HeldIdleOptions, "put" | "audit" | "env" | "log"> {
  readonly externalUrl: string;
}

/** Loads the modules only if there is a policy. @throws GpulseError if it is invalid. */
export async function openHeldIdle(
  { jobs: { heldIdleFile }, dataDir }: Settings,
  jobs: HubJobs | undefined,
  { externalUrl, ...context }: HeldIdleContext,
): Promise<HeldIdle | undefined> {
  if (heldIdleFile === undefined) return undefined;
  if (jobs === undefined)
    throw new GpulseError(
      "USAGE",
      "--held-idle needs the job ledger: leave out --jobs-retention 0.",
    );
  const [{ HeldIdle: Opened }, { KeepLinks }, { loadPolicy }, { runCommand }] = await Promise.all([
    import("./held-idle.ts"),
    import("./keep-link.ts"),
    import("./policy.ts"),
    import("../../events/command.ts"),
  ]);
  jobs.bookPromptly();
  const policy = await loadPolicy(heldIdleFile, context.env);
  const key = readKey(path.join(dataDir, "jobs", "keep.key"), randomBytes);
  const idle = new Opened({
    ...context,
    policy,
    dataDir,
    openJobs: () => jobs.ledger.openJobs(),
    links: new KeepLinks(key, externalUrl),
    run: runCommand,
    nowMs: Date.now,
  });
  idle.start();
  return idle;
}
