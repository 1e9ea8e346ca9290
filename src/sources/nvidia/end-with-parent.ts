/** Ends a process that calls the driver when the program that started it ends, even while a call hangs. */
import type { KoffiFunc } from "koffi";

/** prctl's option for a signal when the parent ends, and the signal SIGKILL, as Linux numbers. */
const setParentDeathSignal = 1;
const kill = 9;

type Prctl = (option: number, a: number, b: number, c: number, d: number) => number;

/**
 * The terminal and systemd signal every process of a group, so signals are ignored: the program controls when this process ends.
 * If the program ends, its channel closes; if a driver call hangs, the kernel kills this process.
 */
export function endWithParent(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => undefined);
  process.on("disconnect", () => process.exit(0));
  if (process.platform === "linux") void endByKernel();
}

async function endByKernel(): Promise<void> {
  try {
    const { default: koffi } = await import("koffi");
    const words = ["int", "ulong", "ulong", "ulong", "ulong"];
    const prctl = koffi.load(null).func("prctl", "int", words) as KoffiFunc<Prctl>;
    prctl(setParentDeathSignal, kill, 0, 0, 0);
  } catch {
    // Without koffi no call is made that could hang, and loading the library reports its absence.
  }
}
