/**
 * The program's side of a check: starts the process that loads the GPU, follows its events, and kills it if a driver call does
 * not return in time. It always resolves with a result.
 */
import { fork } from "node:child_process";
import { within } from "../../../base/retry.ts";
import type { CheckEnd, CheckEvent, CheckRequest, CheckSettings } from "./protocol.ts";

/** Time for Node to start on a machine under load. */
const startMs = 30_000;
/** A process that has sent its result is about to exit. */
const endPatienceMs = 500;
/** A killed process may stay in the kernel while the driver hangs; the program waits no longer than this. */
const killPatienceMs = 2_000;
/** A process that receives a stop request frees its memory first. */
const stopPatienceMs = 5_000;

export interface CheckProcessOptions {
  readonly workerFile: string;
  readonly settings: CheckSettings;
  readonly onEvent: (event: CheckEvent) => void;
  /** Aborted when the user stops the command. */
  readonly signal: AbortSignal;
}

export async function runCheckProcess(options: CheckProcessOptions): Promise<CheckEnd> {
  const { workerFile, settings, onEvent, signal } = options;
  const child = fork(workerFile, [JSON.stringify(settings)], {
    env: {
      ...process.env,
      // Drop flags of this process, such as a debugger's port.
      NODE_OPTIONS: "",
      // Do not touch the other GPUs, and write no compiled kernels to disk.
      CUDA_VISIBLE_DEVICES: settings.uuid,
      CUDA_CACHE_DISABLE: "1",
    },
    execArgv: [],
    serialization: "advanced",
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const killNow = (): void => void child.kill("SIGKILL");
  process.once("exit", killNow);
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  let [call, timer]: [string, NodeJS.Timeout | undefined] = ["the start of the process", undefined];
  let stop = (): void => undefined;
  try {
    return await new Promise<CheckEnd>((resolve) => {
      const arm = (deadlineMs: number): void => {
        clearTimeout(timer);
        timer = setTimeout(() => resolve(hung(call, deadlineMs)), deadlineMs);
      };
      arm(startMs);
      child.on("message", (event: CheckEvent) => {
        if (event.kind === "end") return resolve(event.end);
        if (event.kind === "call") call = event.name;
        arm(event.kind === "call" ? event.deadlineMs : settings.deadlineMs);
        onEvent(event);
      });
      child.once("error", (error) =>
        resolve({
          state: "unavailable",
          says: `The process that loads the GPU: ${error.message}.`,
        }),
      );
      child.once("exit", (code, by) =>
        resolve({
          state: "failed",
          says: `The driver ended the process that loads the GPU ${by === null ? `with code ${code}` : `by ${by}`} in ${call}.`,
          fix: "Look for Xid lines in dmesg, and update the NVIDIA driver.",
        }),
      );
      stop = () => {
        const request: CheckRequest = { kind: "stop" };
        child.send(request, () => undefined);
        setTimeout(
          () => resolve({ state: "stopped", says: "Stopped: you stopped it." }),
          Math.min(stopPatienceMs, settings.deadlineMs),
        ).unref();
      };
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted) stop();
    });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    child.removeAllListeners("message");
    if (child.exitCode === null) await within(ended, endPatienceMs);
    if (child.exitCode === null) {
      killNow();
      await within(ended, killPatienceMs);
    }
    process.off("exit", killNow);
    child.unref();
    child.channel?.unref();
  }
}

const hung = (call: string, deadlineMs: number): CheckEnd => ({
  state: "failed",
  says: `${call} did not return within ${deadlineMs / 1_000} s: the GPU or its driver hangs. The process was killed.`,
  fix: "Look for Xid lines in dmesg; reset the GPU (sudo nvidia-smi --gpu-reset) or reboot.",
});
