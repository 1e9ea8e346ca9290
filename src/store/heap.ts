/**
 * The memory of JavaScript's own heap, as far as the store has a say in it. The head stands on shared memory, which the
 * collector does not count: left alone it sees no reason to free a head that was sealed.
 */
import v8 from "node:v8";
import vm from "node:vm";

/**
 * The young generation stays as small as it begins (1 MiB, otherwise up to 32): samples never become objects, so that a larger
 * one is filled with what could have been used again. For the start of a process; measured at a million samples a second it
 * saves 20 MiB and costs no processor time.
 */
export function keepYoungSmall(): void {
  v8.setFlagsFromString("--semi-space-growth-factor=1");
}

/** A full collection now: 10 ms, and 12 with 400,000 series. */
export function collectGarbage(): void {
  v8.setFlagsFromString("--expose-gc");
  const collect = vm.runInNewContext("globalThis.gc") as (() => void) | undefined;
  collect?.();
}
