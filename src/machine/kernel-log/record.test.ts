import { expect, test } from "vitest";
import { fuzz, fuzzTimeoutMs } from "../../../test/fuzz/mutate.ts";
import { classify } from "./classify.ts";
import { FragmentJoiner, type KmsgRecord, parseRecord } from "./record.ts";
import { WallTime } from "./reader.ts";

const plain = "6,339,5140900,-;NET: Registered protocol family 10";

test("a record is its priority, sequence, time, flag and text", () => {
  expect(parseRecord(plain)).toEqual({
    facility: 0,
    level: 6,
    sequence: 339,
    sinceBootUs: 5_140_900,
    isFragment: false,
    text: "NET: Registered protocol family 10",
  });
});

test.each([
  ["30,1,2,-;systemd[1]: Started", { facility: 3, level: 6, text: "systemd[1]: Started" }],
  ["4,1,2,c;and on", { isFragment: true, text: "and on" }],
  ["3,1,2,-,caller=T4711;NVRM: x", { caller: "T4711", text: "NVRM: x" }],
  ["3,1,2,-,later=1,caller=C0,more=;a;b,c", { caller: "C0", text: "a;b,c" }],
  ["6,1,2,-;", { text: "" }],
  [String.raw`6,1,2,-;a\x0ab \x5c \xc3\xa9 \xzz`, { text: "a\nb \\ é \\xzz" }],
])("%s", (line, wanted) => {
  expect(parseRecord(line)).toMatchObject(wanted);
});

test.each([
  "",
  " SUBSYSTEM=pci",
  " DEVICE=+pci:0000:03:00.0",
  "6,1;no",
  "6,-1,2,-;no",
  "NVRM: Xid",
])("%j is no record", (line) => {
  expect(parseRecord(line)).toBeUndefined();
});

function joined(lines: readonly string[]): string[] {
  const joiner = new FragmentJoiner();
  const whole = lines.map((line) => joiner.push(parseRecord(line) as KmsgRecord));
  return [...whole, joiner.flush()].flatMap((record) => (record ? [record.text] : []));
}

test.each([
  [
    ["6,1,9,-;ring ", "6,2,9,c;gfx ", "6,3,9,c;timeout", "6,4,9,-;next"],
    ["ring gfx timeout", "next"],
  ],
  [
    ["6,1,9,-;a", "6,3,9,c;b"],
    ["a", "b"],
  ],
  [
    ["6,1,9,-,caller=T1;a", "6,2,9,c,caller=T2;b"],
    ["a", "b"],
  ],
  [["6,1,9,c;a"], ["a"]],
  [
    ["6,1,9,-;a", "6,2,9,-;b"],
    ["a", "b"],
  ],
])("%j are the lines %j", (lines, wanted) => {
  expect(joined(lines)).toEqual(wanted);
});

test("the time of a record is its distance from now by the kernel's clock", () => {
  const now = { wallMs: 1_790_000_000_000, sinceBootUs: 5_000_000 };
  expect(new WallTime().of(4_000_000, now, 0)).toBe(1_789_999_999_000_000_000n);
});

test("a kernel clock that is off moves no new record before the last look or after now", () => {
  const now = { wallMs: 10_000, sinceBootUs: 900_000_000 };
  expect(new WallTime().of(1, now, 9_500)).toBe(9_500_000_000n);
  expect(new WallTime().of(999_000_000, now, 9_500)).toBe(10_000_000_000n);
});

test("times only go up, and follow a wall clock that is set back", () => {
  const time = new WallTime();
  const at = (wallMs: number): bigint => time.of(0, { wallMs, sinceBootUs: 0 }, 0);
  expect([at(5_000), at(5_000), at(4_999), at(1_000)]).toEqual([
    5_000_000_000n,
    5_000_000_001n,
    5_000_000_002n,
    1_000_000_000n,
  ]);
});

test(
  "whatever stands in the log, it is read or left out",
  async () => {
    const samples = [
      plain,
      "3,1,2,-,caller=T4711;NVRM: Xid (PCI:0000:18:00): 79, pid=1, name=a, GPU has fallen off the bus.",
      String.raw`4,7,8,c;amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout \x0a`,
      "3,9,9,-;[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout",
    ];
    await fuzz({
      seed: 11,
      samples,
      parse: (bytes) => {
        for (const line of bytes.toString("latin1").split("\n")) {
          const record = parseRecord(line);
          if (record !== undefined) classify(record);
        }
      },
    });
  },
  fuzzTimeoutMs,
);
