/**
 * The process that loads one GPU for `gpulse check`. Every driver call is made here, so a call that crashes or never returns ends
 * only this process. It sends events and exits by itself, after freeing what it allocated.
 */
import { formatError } from "../../../base/error.ts";
import { endWithParent } from "../end-with-parent.ts";
import { LibraryLoadError } from "../native.ts";
import { code, codeName } from "../nvml/codes.ts";
import { loadNvml } from "../nvml/library.ts";
import { readInventory } from "../reader/inventory.ts";
import { measureCopy } from "./copies.ts";
import { CudaError, loadCuda } from "./cuda.ts";
import { CudaDevice } from "./device.ts";
import { explainCudaError } from "./explain.ts";
import { GpuGuard, GpuLostError } from "./guard.ts";
import { testMemory } from "./memory.ts";
import { measureProducts } from "./products.ts";
import type {
  CheckEnd,
  CheckEvent,
  CheckRequest,
  CheckSettings,
  CheckTest,
  Measurement,
} from "./protocol.ts";
import { fp32Load, measureRate, tensorLoadsOf } from "./rates.ts";
import { runSelfTest } from "./self-test.ts";
import { type CheckSession, StoppedError } from "./session.ts";

/** Each test's share of the time, in twentieths. */
const shares: Readonly<Record<CheckTest, number>> = {
  device_copy: 2,
  host_to_device: 1.5,
  device_to_host: 1.5,
  fp32: 3,
  tensor: 5,
  products: 3,
  memory: 4,
};
/** The oldest compute capability the kernels support. */
const oldestCapability = 60;
/** Deadline factor for opening the driver on a machine with many GPUs and for compiling, which take longer than other calls. */
const slowFactor = 6;

const settings = JSON.parse(process.argv.at(-1) ?? "") as CheckSettings;
let stopReason: string | undefined;

endWithParent();
process.on("message", ({ kind }: CheckRequest) => {
  if (kind === "stop") stopReason = "you stopped it";
});
void runToEnd();

async function runToEnd(): Promise<void> {
  const end = await run().catch((thrown: unknown): CheckEnd => ({
    state: "unavailable",
    says: `BUG: ${String(thrown)}`,
  }));
  process.send?.({ kind: "end", end }, () => process.exit(0));
}

function emit(event: CheckEvent): void {
  process.send?.(event);
}

function announce(name: string, isSlow: boolean): void {
  emit({ kind: "call", name, deadlineMs: settings.deadlineMs * (isSlow ? slowFactor : 1) });
}

async function run(): Promise<CheckEnd> {
  let guard: GpuGuard | undefined;
  let device: CudaDevice | undefined;
  try {
    announce("nvmlInit_v2", true);
    const { nvml } = await loadNvml(settings.nvmlLibraries);
    const got = nvml.nvmlInit_v2();
    if (got !== code.success)
      return { state: "unavailable", says: `NVML does not start: ${codeName(got)}.` };
    const listed = readInventory(nvml).found.find((one) => one.device.uuid === settings.uuid);
    if (listed === undefined)
      return { state: "unavailable", says: `NVML does not list ${settings.uuid}.` };
    guard = new GpuGuard(nvml, listed.handle);
    if (guard.isSplit())
      return {
        state: "unsupported",
        says: "The GPU is in MIG mode: its instances share memory and links, so none can be measured alone.",
      };
    const user = guard.findUser();
    if (user !== undefined) return { state: "busy", says: `The GPU is in use by ${user}.` };
    const library = await loadCuda(settings.cudaLibraries);
    device = CudaDevice.open(library, settings.uuid, announce);
    if (device === undefined)
      return { state: "unavailable", says: `The CUDA driver does not list ${settings.uuid}.` };
    const other = guard.began(process.pid);
    if (other !== undefined) throw new StoppedError(`${other} started to use the GPU`);
    return await load(device, guard);
  } catch (thrown) {
    return endFor(thrown, device !== undefined);
  } finally {
    if (guard !== undefined) emit({ kind: "conditions", conditions: guard.conditions });
    device?.close();
  }
}

async function load(device: CudaDevice, guard: GpuGuard): Promise<CheckEnd> {
  const facts = { ...device.describe(), ...guard.link() };
  if (facts.computeCapability < oldestCapability)
    return {
      state: "unsupported",
      says: `Compute capability ${facts.computeCapability / 10} is older than ${oldestCapability / 10}, the oldest that can be checked.`,
    };
  const session: CheckSession = { device, guard, facts, emit, stopped: () => stopReason };
  emit({ kind: "device", device: facts });
  if (settings.selfTest !== undefined) {
    const result = await runSelfTest(session, settings.selfTest, Math.random);
    emit({ kind: "self-test", result });
    return { state: "done" };
  }
  const total = settings.tests.reduce((sum, test) => sum + shares[test], 0);
  for (const test of settings.tests) {
    const measured = await measure(session, test, (settings.seconds * shares[test]) / total);
    if (typeof measured === "string") emit({ kind: "skipped", test, reason: measured });
    else emit({ kind: "measurement", measurement: measured });
  }
  // The link speed rises under traffic: read it now, when it is what the copies had.
  emit({ kind: "device", device: { ...facts, ...guard.link() } });
  return { state: "done" };
}

/** Returns the measurement, or the reason this GPU has none. */
async function measure(
  session: CheckSession,
  test: CheckTest,
  seconds: number,
): Promise<Measurement | string> {
  switch (test) {
    case "device_copy":
    case "host_to_device":
    case "device_to_host":
      return measureCopy(session, test, seconds);
    case "fp32":
      return measureRate(session, fp32Load, seconds);
    case "tensor":
      return measureTensor(session, seconds);
    case "products":
      return measureProducts(session, seconds);
    case "memory":
      return testMemory(session, seconds);
  }
}

async function measureTensor(
  session: CheckSession,
  seconds: number,
): Promise<Measurement | string> {
  const [best, ...others] = tensorLoadsOf(session.facts);
  if (best === undefined)
    return "no bf16 tensor instruction before compute capability 8.0 (Ampere)";
  try {
    return await measureRate(session, best, seconds);
  } catch (thrown) {
    // A driver older than the instruction fails to compile it.
    const [fallback] = others;
    const isCompile = thrown instanceof CudaError && thrown.call === "cuModuleLoadDataEx";
    if (!isCompile || fallback === undefined) throw thrown;
    return measureRate(session, fallback, seconds);
  }
}

function endFor(thrown: unknown, isOpen: boolean): CheckEnd {
  if (thrown instanceof StoppedError)
    return { state: "stopped", says: `Stopped: ${thrown.message}.` };
  if (thrown instanceof GpuLostError)
    return {
      state: "failed",
      says: `The GPU was lost during the check: ${thrown.message}.`,
      fix: "Look for Xid lines in dmesg; reset the GPU (sudo nvidia-smi --gpu-reset) or reboot.",
    };
  if (thrown instanceof CudaError) return explainCudaError(thrown, isOpen);
  if (thrown instanceof LibraryLoadError)
    return {
      state: "unavailable",
      says: `The driver's library does not load: ${thrown.message}.`,
      fix: "Install the NVIDIA driver's compute library (Debian, Ubuntu: libnvidia-compute-NNN); in a container NVIDIA_DRIVER_CAPABILITIES must hold compute and utility.",
    };
  return { state: "unavailable", says: formatError(thrown) };
}
