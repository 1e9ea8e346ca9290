import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import { Mask } from "./mask.ts";
import { FileRecorder } from "./recorder.ts";

const folder = mkdtempSync(join(tmpdir(), "gpulse-capture-"));
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  [
    "uuid GPU-11111111-2222-3333-4444-555555555555 here",
    "uuid GPU-00000000-0000-4000-8000-000000000001 here",
  ],
  ["<serial>1650000000000</serial>", "<serial>000000000001</serial>"],
  ["<process_name>/opt/ada/secret.py</process_name>", "<process_name>process-1</process_name>"],
  ["link/ether 52:54:00:12:34:56", "link/ether 02:00:00:00:00:01"],
  ["box7: ada was here", "name-1: name-2 was here"],
  ["temp 44 C, 00000000:00:06.0", "temp 44 C, 00000000:00:06.0"],
])("%s", (text, masked) => expect(new Mask(["ada", "box7"]).text(text)).toBe(masked));

test("the same secret has the same stand-in, another has another", () => {
  const mask = new Mask([]);
  const [one, two] = [
    "aaaaaaaa-2222-3333-4444-555555555555",
    "bbbbbbbb-2222-3333-4444-555555555555",
  ];
  expect(mask.text(one)).toBe(mask.text(one.toUpperCase()));
  expect(mask.text(one)).not.toBe(mask.text(two));
});

test("a file that is an identifier is masked whole, and keeps its line break", () => {
  expect(new Mask([]).file("/sys/class/drm/card0/device/unique_id", "0a1b2c3d4e5f6a7b\n")).toBe(
    "000000000001\n",
  );
  expect(new Mask([]).file("/sys/class/drm/card0/device/vendor", "0x1002\n")).toBe("0x1002\n");
});

test("records text, bytes, refusals and links, once each, and nothing of a process", async () => {
  const procfs = join(folder, "proc");
  mkdirSync(join(procfs, "42"), { recursive: true });
  writeFileSync(join(procfs, "42", "environ"), "SECRET=1");
  writeFileSync(join(folder, "plain"), "44000\n");
  writeFileSync(join(folder, "binary"), Buffer.from([0, 1, 255]));
  symlinkSync("../driver/amdgpu", join(folder, "driver"));
  const recorder = new FileRecorder(hostFileAccess, procfs);
  const { bytes, link } = recorder.fileAccess;
  await bytes(join(folder, "plain"), 4_096);
  await bytes(join(folder, "binary"), 4_096);
  await bytes(join(procfs, "42", "environ"), 4_096);
  await link(join(folder, "driver"));
  await expect(bytes(folder, 4_096)).rejects.toThrow("EISDIR");
  await expect(bytes(join(folder, "nowhere"), 4_096)).rejects.toThrow("ENOENT");
  expect(recorder.recording()).toEqual({
    files: [
      { path: folder, error: "EISDIR" },
      { path: join(folder, "binary"), base64: "AAH/" },
      { path: join(folder, "plain"), text: "44000\n" },
    ],
    links: [{ path: join(folder, "driver"), target: "../driver/amdgpu" }],
  });
});
