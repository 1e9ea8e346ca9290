/** Tests small state against crashes, bad disks and two processes writing at once. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemCode } from "../error.ts";
import { type Log, silentLog } from "../log.ts";
import { ReplacedUnsyncedError } from "./atomic.ts";
import { frameBytes, framedBytes, scanFrames, type ScannedRecord, sealFrame } from "./record.ts";
import { salvageFile } from "./salvage.ts";
import { StateLog } from "./state-log.ts";
import { StateMap } from "./state-map.ts";

let dir = "";
let file = "";
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-state-"));
  file = path.join(dir, "things.state");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function openLog(options: { log?: Log; maxBytes?: number } = {}) {
  const records: unknown[] = [];
  const log = new StateLog(
    file,
    { log: silentLog, ...options },
    { reset: () => records.splice(0), record: (payload) => records.push(payload) > 0 },
  );
  return { log, records };
}

const isText = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;
const openMap = (shared = false): StateMap<string> =>
  new StateMap(file, { log: silentLog, parse: isText, shared });

const values = (from: number, to: number): object[] =>
  Array.from({ length: to - from }, (_, at) => ({
    number: from + at,
    text: "ä".repeat(from + at),
  }));

function writeRecords(count: number): { bytes: Buffer; ends: number[] } {
  const { log } = openLog();
  const ends = values(0, count).map((value) => {
    log.append(value);
    return log.sizeBytes;
  });
  log.close();
  return { bytes: readFileSync(file), ends };
}

test("what was appended is there after the next start, in order", () => {
  writeRecords(20);
  const { log, records } = openLog();
  log.append({ number: 20, text: "ä".repeat(20) });
  log.close();
  expect(records).toEqual(values(0, 20));
  expect(openLog().records).toEqual(values(0, 21));
});

test("the file is for its owner alone", () => {
  writeRecords(1);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("a file cut at any byte keeps the whole records before the cut and takes new ones", () => {
  const { bytes, ends } = writeRecords(6);
  for (let cut = 0; cut < bytes.length; cut++) {
    writeFileSync(file, bytes.subarray(0, cut));
    const whole = values(0, ends.filter((end) => end <= cut).length);
    const first = openLog();
    expect(first.records).toEqual(whole);
    first.log.append("new");
    first.log.close();
    const again = openLog();
    expect(again.records).toEqual([...whole, "new"]);
    expect(again.log.damaged).toBe(0);
    again.log.close();
  }
});

test("a changed byte anywhere costs at most its own record, and is reported", () => {
  const { bytes, ends } = writeRecords(6);
  const headerEnd = (ends[0] ?? 0) - ((ends[1] ?? 0) - (ends[0] ?? 0));
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 0x5a;
    writeFileSync(file, changed);
    const reported: string[] = [];
    const { log, records } = openLog({
      log: { ...silentLog, error: (message) => reported.push(message) },
    });
    const hit = at < headerEnd ? -1 : ends.findIndex((end) => at < end);
    const others = values(0, 6).filter((_, index) => index !== hit);
    expect(
      records.filter((record) => JSON.stringify(record) !== JSON.stringify(values(0, 6)[hit])),
    ).toEqual(others);
    // Only a byte of the zero padding belongs to no record.
    expect(records.length === 6 || reported.length === 1).toBe(true);
    log.close();
  }
});

test("a file that holds nothing of ours is put aside, not written over", () => {
  writeFileSync(file, "a letter to my aunt, kept here by mistake");
  const { log, records } = openLog();
  log.append(1);
  log.close();
  expect(records).toEqual([]);
  expect(readFileSync(`${file}.damaged`, "utf8")).toContain("my aunt");
  expect(openLog().records).toEqual([1]);
});

test("random damage never stops the start and never invents a record", () => {
  const { bytes } = writeRecords(12);
  const known = new Set(values(0, 12).map((value) => JSON.stringify(value)));
  let state = 7;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  for (let round = 0; round < 2_000; round++) {
    const changed = Buffer.from(bytes.subarray(0, random(bytes.length + 1)));
    for (let hits = random(5); hits > 0 && changed.length > 0; hits--) {
      const at = random(changed.length);
      changed.fill(random(256), at, Math.min(changed.length, at + random(40)));
    }
    writeFileSync(file, changed);
    const { log, records } = openLog();
    log.close();
    expect(records.every((record) => known.has(JSON.stringify(record)))).toBe(true);
  }
});

test("a file of a newer gpulse is refused with what to do", () => {
  writeRecords(0);
  // The header is record 0 of any file; changing its version simulates a newer program.
  const text = readFileSync(file);
  const at = text.indexOf('"version":1') + '"version":'.length;
  text[at] = 0x39;
  text.writeUInt32LE(crc(text.subarray(12, 16 + text.readUInt32LE(4))), 8);
  writeFileSync(file, text);
  expect(() => openLog()).toThrow("newer gpulse (state version 9");
});

test("an append past the bound is refused and nothing of it is kept", () => {
  const { log } = openLog({ maxBytes: 300 });
  log.append("x".repeat(150));
  expect(() => log.append("y".repeat(150))).toThrow("would grow past 300 bytes");
  log.append("z");
  log.close();
  expect(openLog().records).toEqual(["x".repeat(150), "z"]);
});

test("a map keeps its entries and forgets deleted ones over a restart", () => {
  const map = openMap();
  map.put("a", "1");
  map.put("b", "2");
  map.put("a", "3");
  expect(map.delete("b")).toBe(true);
  expect(map.delete("b")).toBe(false);
  map.close();
  expect([...openMap().entries()]).toEqual([["a", "3"]]);
});

test("a value that is not one any more is reported and left out", () => {
  const map = new StateMap<unknown>(file, { log: silentLog, parse: (value) => value });
  map.put("a", 5);
  map.put("b", "text");
  map.close();
  const reported: string[] = [];
  const log: Log = { ...silentLog, error: (message) => reported.push(message) };
  const again = new StateMap(file, { log, parse: isText });
  expect([[...again.entries()], reported.length]).toEqual([[["b", "text"]], 1]);
});

test("a map that is changed for ever does not grow for ever", () => {
  const map = openMap();
  for (let round = 0; round < 20_000; round++) map.put(`key ${round % 10}`, `value ${round}`);
  map.close();
  expect(statSync(file).size).toBeLessThan(70_000);
  expect(openMap().get("key 9")).toBe("value 19999");
  expect(existsSync(`${file}.tmp`)).toBe(false);
});

test("two owners of a shared map see each other's changes, also after a rewrite", () => {
  const [hub, cli] = [openMap(true), openMap(true)];
  cli.put("a", "1");
  expect([hub.refresh(), hub.get("a"), hub.refresh()]).toEqual([true, "1", false]);
  hub.put("b", "2");
  cli.put("c", "3");
  expect(cli.get("b")).toBe("2");
  for (let round = 0; round < 3_000; round++) cli.put("d", `${round} ${"x".repeat(20)}`);
  expect([hub.refresh(), hub.get("d")]).toEqual([true, `2999 ${"x".repeat(20)}`]);
  hub.put("e", "5");
  expect([...openMap(true).entries()]).toEqual([...hub.entries()]);
});

test("a shared map whose file goes away is empty, and writes a new one", () => {
  const map = openMap(true);
  map.put("a", "1");
  rmSync(file);
  expect([map.refresh(), map.size]).toEqual([true, 0]);
  map.put("b", "2");
  expect([...openMap(true).entries()]).toEqual([["b", "2"]]);
});

test("a tail that another process is still writing is waited for, not reported", () => {
  const { log, records } = openLog();
  const other = openLog();
  other.log.append("whole");
  const size = statSync(file).size;
  const bytes = readFileSync(file);
  truncateSync(file, size - 5);
  expect([log.refresh(), log.damaged]).toEqual([false, 0]);
  writeFileSync(file, bytes);
  expect([log.refresh(), records]).toEqual([true, ["whole"]]);
});

const writer = fileURLToPath(new URL("./state-log.ts", import.meta.url));

/** A process that appends increasing numbers and prints each one once it is stored. */
function startWriter(shared: boolean) {
  const script = `
    import { StateMap } from ${JSON.stringify(writer.replace("state-log", "state-map"))};
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const map = new StateMap(${JSON.stringify(file)}, { log, shared: ${shared}, parse: (value) => value });
    for (let n = 0; ; n++) {
      map.put(process.pid + "/" + (n % 50), { n, fill: "x".repeat(n % 300) });
      (await import("node:fs")).writeSync(1, n + "\\n");
    }`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let reported = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (reported += text));
  const last = (): number =>
    Number(reported.slice(0, reported.lastIndexOf("\n")).split("\n").at(-1) || -1);
  const until = async (count: number): Promise<void> => {
    while (last() < count) await once(child.stdout, "data");
  };
  const kill = async (): Promise<number> => {
    child.kill("SIGKILL");
    await once(child, "close");
    return last();
  };
  return { until, kill, pid: child.pid ?? 0 };
}

const readBack = (): Map<string, { n: number }> => {
  const map = new StateMap<{ n: number }>(file, {
    log: silentLog,
    parse: (value) => value as { n: number },
  });
  expect(map.damaged).toBeLessThanOrEqual(1);
  return new Map(map.entries());
};

test("what was acknowledged to a killed process is there", { timeout: 60_000 }, async () => {
  const child = startWriter(false);
  await child.until(2_000);
  const last = await child.kill();
  const kept = readBack().get(`${child.pid}/${last % 50}`)?.n ?? -1;
  expect([last, last + 50]).toContain(kept);
});

test(
  "two processes that write at once and are killed lose nothing that was acknowledged to them",
  { timeout: 60_000 },
  async () => {
    const children = [startWriter(true), startWriter(true)];
    await Promise.all(children.map((child) => child.until(500)));
    const ends = await Promise.all(children.map((child) => child.kill()));
    const kept = readBack();
    for (const [at, child] of children.entries()) {
      const last = ends[at] ?? 0;
      expect([last, last + 50]).toContain(kept.get(`${child.pid}/${last % 50}`)?.n);
    }
  },
);

function crc(bytes: Buffer): number {
  let value = 0xffffffff;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0);
  }
  return (value ^ 0xffffffff) >>> 0;
}

test("a file that was replaced and not synced carries the system's code: an EIO is no bug", () => {
  const cause = Object.assign(new Error("EIO: i/o error, fsync"), { code: "EIO" });
  const error = new ReplacedUnsyncedError("manifest.json", cause);
  expect(systemCode(error)).toBe("EIO");
  expect(error.message).toContain("manifest.json was replaced, but not synced: EIO");
});

test.each([0, 40, 300_000, 2_000_000])(
  "a record that ends in zeros is read whole before %i preallocated bytes, and damage after it is reported",
  (free) => {
    const payload = Buffer.alloc(600_000);
    payload.write("first");
    const record = Buffer.alloc(framedBytes(payload.length));
    payload.copy(record, frameBytes);
    sealFrame(record, 0, payload.length, 7);
    const bytes = Buffer.concat([record, Buffer.alloc(free)]);
    const read = () => {
      const salvaged = salvageFile(file);
      const found: unknown[] = [];
      const each = (one: ScannedRecord) =>
        void found.push([one.payload.equals(payload), one.sequence]);
      const scan = scanFrames(salvaged.bytes, each, salvaged.usedBytes);
      return { ...salvaged, found, scan };
    };
    writeFileSync(file, bytes);
    const whole = read();
    expect(whole.bytes.equals(bytes)).toBe(true);
    expect(whole.found).toEqual([[true, 7]]);
    expect(whole.scan).toEqual({ damaged: [], end: record.length });
    if (free === 0) return;
    bytes[bytes.length - 8] = 1;
    writeFileSync(file, bytes);
    expect(read().scan.damaged).toEqual([{ at: record.length, bytes: free - 7 }]);
  },
);

test("opening a strict file leaves a mark that is right, and writes one that is missing or behind", () => {
  const open = () => new StateLog(file, { log: silentLog, strict: true });
  const log = open();
  log.append({ number: 1 });
  log.close();
  const mark = `${file}.mark`;
  const right = readFileSync(mark, "utf8");
  const { ino } = statSync(mark);
  open().close();
  expect(statSync(mark).ino).toBe(ino);
  writeFileSync(mark, right.replace('"records":2', '"records":1'));
  open().close();
  expect(readFileSync(mark, "utf8")).toBe(right);
  rmSync(mark);
  open().close();
  expect(readFileSync(mark, "utf8")).toBe(right);
});

test("a strict file whose header a crash cut is new, and one that lost its header is refused", () => {
  const open = () => new StateLog(file, { log: silentLog, strict: true, shared: true });
  const log = open();
  const headerBytes = log.sizeBytes;
  log.append({ number: 1 });
  log.close();
  const whole = readFileSync(file);
  truncateSync(file, headerBytes - 20);
  // The mark says that there were records.
  expect(open).toThrow(/damaged/);
  rmSync(`${file}.mark`);
  const made = open();
  expect(made.sizeBytes).toBe(headerBytes);
  made.close();
  rmSync(`${file}.mark`);
  writeFileSync(file, whole.fill(1, 0, 8));
  expect(open).toThrow(/damaged/);
});
