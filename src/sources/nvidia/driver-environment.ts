/** What can be seen of an NVIDIA driver without loading its library or waking a GPU: device file, kernel module, container. */
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { systemCode } from "../../base/error.ts";
import type { DriverEnvironment } from "./explain.ts";

/** `devices` and `root` are where /dev and / are; they are arguments so that a test can lay them out. */
export async function probeDriverEnvironment(
  procfs: string,
  devices = "/dev",
  root = "",
): Promise<DriverEnvironment> {
  const exists = async (file: string): Promise<boolean> =>
    access(file).then(
      () => true,
      () => false,
    );
  const control = await access(`${devices}/nvidiactl`, constants.R_OK | constants.W_OK).then(
    (): DriverEnvironment["control"] => "open",
    (thrown: unknown): DriverEnvironment["control"] =>
      systemCode(thrown) === "EACCES" || systemCode(thrown) === "EPERM" ? "denied" : "missing",
  );
  const marks = [
    `${root}/.dockerenv`,
    `${root}/run/.containerenv`,
    `${root}/var/run/secrets/kubernetes.io`,
  ];
  const container = (await Promise.all(marks.map(exists))).some(Boolean);
  return { module: await exists(`${procfs}/driver/nvidia/version`), control, container };
}
