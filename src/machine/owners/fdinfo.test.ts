import { expect, test } from "vitest";
import { writeTree } from "../../../test/captures/tree.ts";
import { fuzz, fuzzTimeoutMs } from "../../../test/fuzz/mutate.ts";
import { hostFileAccess } from "../sysfs/file-access.ts";
import { traceFileAccess } from "../../../test/fixtures/machine/traced-files.ts";
import { DrmScan } from "./fdinfo-scan.ts";
import { parseFdinfo } from "./fdinfo.ts";

const amdgpu = (client: number, gfxNs = 4_200): string =>
  [
    "pos:\t0",
    "flags:\t02100002",
    "drm-driver:\tamdgpu",
    `drm-client-id:\t${client}`,
    "drm-pdev:\t0000:0C:00.0",
    "drm-memory-vram:\t2048 KiB",
    "drm-memory-gtt: \t512 KiB",
    "drm-total-vram:\t4 MiB",
    `drm-engine-gfx:\t${gfxNs} ns`,
    "drm-engine-capacity-gfx:\t2",
  ].join("\n");

const xe = [
  "drm-driver:\txe",
  "drm-client-id:\t15",
  "drm-pdev:\t0000:08:00.0",
  "drm-total-vram0:\t24 KiB",
  "drm-resident-vram0:\t16 KiB",
  "drm-cycles-rcs:\t28257900",
  "drm-total-cycles-rcs:\t7655183225",
  "drm-cycles-ccs:\t5",
].join("\n");

test("an amdgpu file reports its engines in ns and its memory in bytes", () => {
  const client = parseFdinfo(amdgpu(42));
  expect(client).toMatchObject({ driver: "amdgpu", pciBusId: "0000:0c:00.0", clientId: "42" });
  expect(Object.fromEntries(client?.busyNs ?? [])).toEqual({ gfx: 4_200 });
  expect(Object.fromEntries(client?.capacity ?? [])).toEqual({ gfx: 2 });
  expect(Object.fromEntries(client?.memoryBytes ?? [])).toEqual({ vram: 2_097_152, gtt: 524_288 });
});

test("an xe file reports cycles where both counts are there, and memory that is resident before memory that could be", () => {
  const client = parseFdinfo(xe);
  expect(Object.fromEntries(client?.cycles ?? [])).toEqual({
    rcs: { busy: 28_257_900, total: 7_655_183_225 },
  });
  expect(Object.fromEntries(client?.memoryBytes ?? [])).toEqual({ vram0: 16_384 });
});

test.each([["pos:\t0\nflags:\t02\n"], ["drm-driver:\tamdgpu\n"], ["drm-client-id:\tmany\n"], [""]])(
  "%j is no graphics file",
  (text) => expect(parseFdinfo(text)).toBeUndefined(),
);

test("a file open twice, and in a second process, is counted once", async () => {
  const procfs = writeTree({
    "20/comm": "train",
    "20/fd/3": "-> /dev/dri/renderD128",
    "20/fd/4": "-> /dev/dri/renderD128",
    "20/fd/5": "-> /dev/null",
    "20/fdinfo/3": amdgpu(7),
    "20/fdinfo/4": amdgpu(7),
    "31/comm": "child",
    "31/fd/9": "-> /dev/dri/renderD128",
    "31/fdinfo/9": amdgpu(7),
    "self/comm": "not a number",
  });
  const { processes, denied } = await new DrmScan(procfs, hostFileAccess).scan(0);
  expect(processes.map(({ pid, name, clients }) => [pid, name, clients.length])).toEqual([
    [20, "train", 1],
  ]);
  expect(denied).toBe(0);
});

test("a process without a graphics file is left alone for half a minute", async () => {
  const procfs = writeTree({ "8/comm": "sh", "8/fd/0": "-> /dev/null" });
  const fileAccess = traceFileAccess();
  const scan = new DrmScan(procfs, fileAccess);
  await scan.scan(0);
  fileAccess.touched.length = 0;
  await scan.scan(5_000);
  expect(fileAccess.touched).toEqual([procfs]);
  await scan.scan(30_000);
  expect(fileAccess.touched).toContain(`${procfs}/8/fd/0`);
});

test("processes that may not be looked into are counted, not passed over in silence", async () => {
  const procfs = writeTree({ "8/comm": "sh", "9/comm": "other" });
  const refused = Object.assign(new Error("EACCES"), { code: "EACCES" });
  const fileAccess = {
    ...hostFileAccess,
    list: (path: string) =>
      path.endsWith("/9/fd") ? Promise.reject(refused) : hostFileAccess.list(path),
  };
  expect(await new DrmScan(procfs, fileAccess).scan(0)).toEqual({ processes: [], denied: 1 });
});

test(
  "whatever the text, a file is read or is no graphics file",
  async () => {
    const parse = (bytes: Buffer): unknown => parseFdinfo(bytes.toString());
    await fuzz({ seed: 0xfd1, samples: [amdgpu(42), xe], parse });
  },
  fuzzTimeoutMs,
);
