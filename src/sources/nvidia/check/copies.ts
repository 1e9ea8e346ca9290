/** Copy bandwidths: within device memory, and between the device and pinned host memory. */
import type { CopyPath, CopyResult } from "./protocol.ts";
import { type CheckSession, median, repeatsFor, runSlices } from "./session.ts";

/** Many times the largest L2, so that memory is measured and not the cache. */
const deviceBytes = 2 ** 31;
const hostBytes = 2 ** 28;
/** Maximum share of the free memory to allocate for the copies. */
const shareOfFree = 1 / 8;

export async function measureCopy(
  session: CheckSession,
  path: CopyPath,
  seconds: number,
): Promise<CopyResult> {
  const { device } = session;
  const most = path === "device_copy" ? deviceBytes : hostBytes;
  const room = device.memory().freeBytes * shareOfFree;
  const bytes = Math.max(4_096, Math.floor(Math.min(most, room) / 4_096) * 4_096);
  const first = device.allocate(bytes);
  const second = path === "device_copy" ? device.allocate(bytes) : device.allocateHost(bytes);
  const copy = (): void => {
    if (path === "device_copy")
      device.call("cuMemcpyDtoDAsync_v2", second.address, first.address, bytes, 0);
    else if (path === "host_to_device")
      device.call("cuMemcpyHtoDAsync_v2", first.address, second.address, bytes, 0);
    else device.call("cuMemcpyDtoHAsync_v2", second.address, first.address, bytes, 0);
  };
  device.time(copy);
  const repeats = repeatsFor(device.time(copy), 4_096);
  const times = await runSlices(session, { test: path, seconds }, () =>
    device.time(() => {
      for (let turn = 0; turn < repeats; turn++) copy();
    }),
  );
  first.free();
  second.free();
  const moved = repeats * bytes * (path === "device_copy" ? 2 : 1);
  // The median ignores a slice that an interrupt or page scrubbing delayed.
  return {
    test: path,
    bytesPerSecond: moved / median(times),
    seconds: times.reduce((sum, time) => sum + time, 0),
  };
}
