import { expect, test } from "vitest";
import { writeTree } from "../../test/captures/tree.ts";
import { readMemoryControllers } from "./edac.ts";
import { hostFileAccess } from "./sysfs/file-access.ts";

const mc = "devices/system/edac/mc";

test("counts errors by memory controller, in their order", async () => {
  const root = writeTree({
    [`${mc}/mc10/ce_count`]: "0",
    [`${mc}/mc10/ue_count`]: "0",
    [`${mc}/mc0/ce_count`]: "17",
    [`${mc}/mc0/ue_count`]: "1",
    [`${mc}/mc0/dimm0/dimm_ce_count`]: "17",
    [`${mc}/power/control`]: "auto",
  });
  const read = await readMemoryControllers(root, hostFileAccess);
  expect(read).toEqual({
    ok: true,
    value: [
      { name: "mc0", corrected: { ok: true, value: 17 }, uncorrected: { ok: true, value: 1 } },
      { name: "mc10", corrected: { ok: true, value: 0 }, uncorrected: { ok: true, value: 0 } },
    ],
  });
});

test("a machine without an EDAC driver reports nothing, not zero", async () => {
  expect(await readMemoryControllers(writeTree({}), hostFileAccess)).toEqual({
    ok: false,
    reason: "unsupported",
  });
  const root = writeTree({ [`${mc}/uevent`]: "" });
  expect(await readMemoryControllers(root, hostFileAccess)).toMatchObject({ ok: false });
});

test("a file that holds no number has failed", async () => {
  const root = writeTree({ [`${mc}/mc0/ce_count`]: "many", [`${mc}/mc0/ue_count`]: "0" });
  const read = await readMemoryControllers(root, hostFileAccess);
  expect(read.ok && read.value[0]?.corrected).toEqual({ ok: false, reason: "failed" });
});
