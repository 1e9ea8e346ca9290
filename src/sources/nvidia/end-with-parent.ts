/** Ends a process that calls the driver together with the program that started it, even while a call hangs. */
import type { KoffiFunc } from "koffi";

/** prctl's request for a signal when the parent ends, in Linux's own numbers. */
const setParentDeathSignal = 1;
const kill = 9;

type Prctl = (option: number, a: number, b: number, c: number, d: number) => number;

/**
 * The terminal and systemd signal every process of a group: the program decides when this one ends. It sees the program's end
 * by the closed channel, or, where a call of the driver hangs, is ended by the kernel.
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
    // Without koffi no call is made that could hang, and opening the library reports it.
  }
}
