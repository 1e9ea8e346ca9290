import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { FakeClock } from "../../../test/fixtures/fake-clock.ts";
import { openSpool, type SpoolOptions } from "./open.ts";
import type { Spool } from "./spool.ts";

let dir: string;
let clock: FakeClock;

beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), "gpulse-spool-"));
  clock = new FakeClock(1_000_000);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const open = (options: Partial<SpoolOptions> = {}): Spool =>
  openSpool({ dir, maxBytes: 2 ** 20, maxAgeMs: 3_600_000, clock, log: silentLog, ...options });

const put = (spool: Spool, text: string, samples = 1): number | undefined =>
  spool.append(Buffer.from(text), samples);

const texts = (spool: Spool, maxBytes = 2 ** 20): string[] =>
  spool.read(maxBytes).map(({ bytes }) => bytes.toString());

/** Reads all records in order, acknowledging each batch. */
function drain(spool: Spool, maxBytes = 200): string[] {
  const all: string[] = [];
  for (let records = spool.read(maxBytes); records.length > 0; records = spool.read(maxBytes)) {
    all.push(...records.map(({ bytes }) => bytes.toString()));
    spool.acknowledge(records.at(-1)?.position ?? 0);
  }
  return all;
}

const names = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => `record ${from + index}`);

const segmentsOf = (): string[] =>
  readdirSync(dir)
    .filter((file) => file.endsWith(".spool"))
    .sort();

test("gives records back in order, again and again until they are acknowledged", async () => {
  const spool = open();
  for (const name of names(0, 5)) put(spool, name);
  expect(texts(spool)).toEqual(names(0, 5));
  expect(texts(spool)).toEqual(names(0, 5));
  spool.acknowledge(spool.read(1)[0]?.position ?? 0);
  expect(texts(spool)).toEqual(names(1, 5));
  expect(drain(spool)).toEqual(names(1, 5));
  expect(texts(spool)).toEqual([]);
  await spool.close();
});

test("stores the time of the append, samples and bytes", async () => {
  const spool = open();
  const bytes = Buffer.from([0, 255, 1, 0]);
  const position = spool.append(bytes, 7);
  expect(position).toBe(1);
  expect(spool.read(1)).toEqual([{ position, timeMs: 1_000_000, samples: 7, bytes }]);
  await spool.close();
});

test("a read stops at about the bytes asked for, and gives one record at least", async () => {
  const spool = open();
  for (const name of names(0, 5)) put(spool, name);
  expect(texts(spool, 1)).toHaveLength(1);
  expect(texts(spool, 17)).toHaveLength(2);
  await spool.close();
});

test("an instance that is killed loses nothing: another resumes behind what was acknowledged", async () => {
  const first = open({ segmentBytes: 256 });
  const { id } = first;
  for (const name of names(0, 40)) put(first, name);
  const head = first.read(100);
  first.acknowledge(head.at(-1)?.position ?? 0);
  // Simulates a kill: the spool is neither closed nor unlocked, and another process has its pid by now.
  rmSync(path.join(dir, "lock"));
  const second = open({ segmentBytes: 256 });
  expect(second.id).toBe(id);
  put(second, "record 40");
  expect(drain(second)).toEqual(names(head.length, 41));
  await second.close();
  const third = open();
  expect(texts(third)).toEqual([]);
  await Promise.all([third.close(), first.close()]);
});

test("positions count up over restarts and are never used twice", async () => {
  const positions: number[] = [];
  for (let start = 0; start < 4; start++) {
    const spool = open();
    for (const name of names(0, 3)) positions.push(put(spool, name) ?? 0);
    if (start % 2 === 0) drain(spool);
    await spool.close();
  }
  expect(new Set(positions).size).toBe(12);
  expect(positions).toEqual(positions.toSorted((left, right) => left - right));
});

test("beyond its bytes the oldest goes, counted in records and samples, and order stays", async () => {
  const spool = open({ maxBytes: 4_096, segmentBytes: 512 });
  for (const name of names(0, 500)) put(spool, name, 3);
  const { records, samples, diskBytes, dropped } = spool.stats();
  expect(diskBytes).toBeLessThanOrEqual(4_096);
  expect(records + dropped.full.records).toBe(500);
  expect(samples + dropped.full.samples).toBe(1_500);
  expect(records).toBeGreaterThan(50);
  expect(drain(spool)).toEqual(names(500 - records, 500));
  await spool.close();
});

test("a record larger than the whole bound is refused and the others stay", async () => {
  const spool = open({ maxBytes: 4_096, segmentBytes: 512 });
  put(spool, "small");
  expect(put(spool, "x".repeat(5_000))).toBeUndefined();
  expect(put(spool, "y".repeat(2_000))).toBeDefined();
  expect(drain(spool)).toEqual(["small", "y".repeat(2_000)]);
  expect(spool.stats().dropped.full.records).toBe(1);
  await spool.close();
});

test.for([
  ["days ahead", 8 * 86_400_000],
  ["days behind", -8 * 86_400_000],
] as const)(
  "a wall clock that is %s for seconds drops nothing, also where the spool is opened meanwhile",
  async ([, byMs]) => {
    const options = { maxAgeMs: 7 * 86_400_000, segmentBytes: 256 };
    const first = open(options);
    for (const name of names(0, 20)) put(first, name);
    clock.set(byMs);
    for (const name of names(20, 30)) put(first, name);
    await clock.advance(4_000);
    await first.close();
    const second = open(options);
    for (const name of names(30, 40)) put(second, name);
    clock.set(-byMs);
    for (const name of names(40, 50)) put(second, name);
    await clock.advance(4_000);
    expect(drain(second)).toEqual(names(0, 50));
    expect(second.stats().dropped.old.records).toBe(0);
    await second.close();
  },
);

test("what is older than the bound is not sent any more", async () => {
  const spool = open({ maxAgeMs: 10_000, segmentBytes: 256 });
  for (const name of names(0, 30)) {
    put(spool, name);
    await clock.advance(1_000);
  }
  expect(drain(spool)).toEqual(names(20, 30));
  expect(spool.stats().dropped.old.records).toBe(20);
  await spool.close();
});

test("acknowledging what was dropped in the meantime takes nothing else", async () => {
  const spool = open({ maxBytes: 2_048, segmentBytes: 256 });
  for (const name of names(0, 5)) put(spool, name);
  const sent = spool.read(10_000);
  for (const name of names(5, 200)) put(spool, name);
  spool.acknowledge(sent.at(-1)?.position ?? 0);
  const left = spool.stats().records;
  expect(drain(spool)).toEqual(names(200 - left, 200));
  await spool.close();
});

test("files go as they are acknowledged", async () => {
  const spool = open({ segmentBytes: 256 });
  for (const name of names(0, 100)) put(spool, name);
  expect(segmentsOf().length).toBeGreaterThan(10);
  drain(spool);
  expect(segmentsOf()).toHaveLength(1);
  expect(spool.stats()).toMatchObject({ bytes: 0, records: 0, samples: 0 });
  expect(spool.stats()).not.toHaveProperty("oldestTimeMs");
  await spool.close();
});

test("reports how old the oldest that waits is", async () => {
  const spool = open();
  for (const name of names(0, 3)) {
    put(spool, name);
    await clock.advance(1_000);
  }
  expect(spool.stats().oldestTimeMs).toBe(1_000_000);
  spool.acknowledge(spool.read(1)[0]?.position ?? 0);
  expect(spool.stats().oldestTimeMs).toBe(1_001_000);
  await spool.close();
});

test("wakes its readers when something comes, and when it is stopped", async () => {
  const spool = open();
  const stop = new AbortController();
  const waits = spool.readable(stop.signal);
  put(spool, "a");
  await waits;
  drain(spool);
  const again = spool.readable(stop.signal);
  stop.abort();
  await again;
  await spool.close();
});

test("two cannot share a folder", async () => {
  const spool = open();
  expect(() => open()).toThrow(/in use by process/);
  await spool.close();
  await open().close();
});

test("a spool whose folder another process took over writes, reads and removes nothing more, and counts what it refuses", async () => {
  const errors: unknown[] = [];
  const log = {
    ...silentLog,
    error: (_message: string, fields?: unknown) => void errors.push(fields),
  };
  const spool = open({ log });
  for (const name of names(0, 3)) put(spool, name);
  const records = spool.read(2 ** 20);
  writeFileSync(path.join(dir, "lock"), "1 0 pid:[1] boot host 00ff heartbeat\n");
  // The spool checks its lock once a second.
  await sleep(1_100);
  const contents = (): string[][] =>
    readdirSync(dir)
      .filter((file) => !file.endsWith(".sock"))
      .map((file) => [file, readFileSync(path.join(dir, file), "latin1")]);
  const before = contents();
  expect(put(spool, "record 3")).toBeUndefined();
  expect(spool.read(2 ** 20)).toEqual([]);
  spool.acknowledge(records.at(-1)?.position ?? 0);
  await spool.close();
  expect(contents()).toEqual(before);
  expect(spool.stats().dropped.disk).toEqual({ records: 1, samples: 1 });
  expect(JSON.stringify(errors)).toMatch(/taken over by another process/);
});

test("a torn tail at any byte loses that record alone, and what follows is kept", async () => {
  const spool = open();
  for (const name of names(0, 3)) put(spool, name);
  await spool.close();
  const [file = ""] = segmentsOf();
  const whole = readFileSync(path.join(dir, file));
  const cursor = readFileSync(path.join(dir, "cursor"));
  for (let cut = 1; cut < whole.length; cut += 5) {
    writeFileSync(path.join(dir, file), whole);
    writeFileSync(path.join(dir, "cursor"), cursor);
    truncateSync(path.join(dir, file), whole.length - cut);
    const again = open();
    put(again, "after");
    const kept = Math.floor((whole.length - cut) / (whole.length / 3));
    expect(drain(again), `cut ${cut}`).toEqual([...names(0, kept), "after"]);
    await again.close();
    for (const other of segmentsOf()) rmSync(path.join(dir, other));
  }
});

test("damaged bytes lose the records they are in and no others, counted", async () => {
  const spool = open({ segmentBytes: 512 });
  for (const name of names(0, 60)) put(spool, name);
  await spool.close();
  const files = segmentsOf();
  const victim = path.join(dir, files[1] ?? "");
  const bytes = readFileSync(victim);
  bytes[60] = 0xff ^ (bytes[60] ?? 0);
  writeFileSync(victim, bytes);
  const again = open();
  const kept = drain(again);
  expect(kept).toHaveLength(59);
  expect(kept).toEqual(names(0, 60).filter((name) => kept.includes(name)));
  expect(again.stats().dropped.damaged.records).toBe(1);
  expect(again.stats().damagedBytes).toBeGreaterThan(0);
  await again.close();
});

test("damage to what is acknowledged is no loss", async () => {
  const spool = open();
  for (const name of names(0, 6)) put(spool, name);
  const [, , third] = spool.read(1_000_000);
  spool.acknowledge(third?.position ?? 0);
  await spool.close();
  const victim = path.join(dir, segmentsOf()[0] ?? "");
  const bytes = readFileSync(victim);
  const at = Math.floor(bytes.length / 3) + 4;
  bytes[at] = 0xff ^ (bytes[at] ?? 0);
  writeFileSync(victim, bytes);
  const again = open();
  expect(drain(again)).toEqual(names(3, 6));
  expect(again.stats().dropped.damaged.records).toBe(0);
  expect(again.stats().damagedBytes).toBeGreaterThan(0);
  await again.close();
});

test("damage and missing files while it runs are passed over, counted", async () => {
  const spool = open({ segmentBytes: 512 });
  for (const name of names(0, 60)) put(spool, name, 2);
  const files = segmentsOf();
  rmSync(path.join(dir, files[1] ?? ""));
  writeFileSync(path.join(dir, files[2] ?? ""), Buffer.alloc(512, 0x41));
  const kept = drain(spool);
  const { damaged } = spool.stats().dropped;
  expect(kept.length + damaged.records).toBe(60);
  expect(damaged.samples).toBe(damaged.records * 2);
  expect(kept.at(-1)).toBe("record 59");
  await spool.close();
});

test("rubbish in every file of the folder does not stop it", async () => {
  mkdirSync(path.join(dir, "0000000000000009.spool"));
  writeFileSync(path.join(dir, "0000000000000005.spool"), Buffer.alloc(1_000, 0x67));
  writeFileSync(path.join(dir, "0000000000000007.spool"), "");
  writeFileSync(path.join(dir, "cursor"), Buffer.alloc(200, 0x67));
  writeFileSync(path.join(dir, "notes.txt"), "not ours");
  const spool = open();
  put(spool, "fresh");
  expect(drain(spool)).toEqual(["fresh"]);
  await spool.close();
  expect(existsSync(path.join(dir, "notes.txt"))).toBe(true);
});

test("a lost cursor sends again what was sent, under another id", async () => {
  const spool = open();
  for (const name of names(0, 3)) put(spool, name);
  spool.acknowledge(spool.read(1)[0]?.position ?? 0);
  await spool.close();
  rmSync(path.join(dir, "cursor"));
  const again = open();
  expect(again.id).not.toBe(spool.id);
  expect(texts(again)).toEqual(names(0, 3));
  await again.close();
});

test("a cursor whose newest write is torn falls back to the one before", async () => {
  const spool = open();
  for (const name of names(0, 3)) put(spool, name);
  for (let count = 0; count < 2; count++) spool.acknowledge(spool.read(1)[0]?.position ?? 0);
  await spool.close();
  const file = path.join(dir, "cursor");
  const bytes = readFileSync(file);
  const newest = bytes.readDoubleLE(8) > bytes.readDoubleLE(72) ? 0 : 64;
  bytes.fill(0, newest + 10, newest + 30);
  writeFileSync(file, bytes);
  const again = open();
  expect(texts(again)).toEqual(names(1, 3));
  await again.close();
});

test("a full disk: the oldest makes room or the newest is refused, both counted, and it goes on by itself", async (context) => {
  const mount = spawnSync("mount", ["-t", "tmpfs", "-o", "size=128k", "gpulse-test", dir]);
  if (mount.status !== 0) return context.skip("a small tmpfs needs root");
  try {
    const filler = path.join(dir, "filler");
    writeFileSync(filler, Buffer.alloc(48 * 1_024));
    const spool = open({ segmentBytes: 16_384 });
    for (let index = 0; index < 100; index++) put(spool, `${index} ${"x".repeat(1_500)}`);
    const { records, dropped } = spool.stats();
    expect(records + dropped.disk.records).toBe(100);
    expect(dropped.disk.records).toBeGreaterThan(20);
    const kept = drain(spool).map((text) => Number(text.split(" ")[0]));
    expect(kept).toEqual(kept.toSorted((left, right) => left - right));
    expect(kept.at(-1)).toBe(99);
    await spool.close();

    expect(() => writeFileSync(filler, Buffer.alloc(2 ** 20), { flag: "a" })).toThrow(/ENOSPC/);
    const full = open();
    expect(put(full, "z".repeat(20_000)), "nothing fits").toBeUndefined();
    expect(full.stats().dropped.disk.records).toBe(1);
    rmSync(filler);
    expect(put(full, "there is room again")).toBeDefined();
    expect(drain(full)).toEqual(["there is room again"]);
    await full.close();
  } finally {
    spawnSync("umount", ["-l", dir]);
  }
});

test("random appends, reads, acknowledgements and kills agree with a plain list", async () => {
  for (let seed = 1; seed <= 8; seed++) {
    const folder = path.join(dir, `seed${seed}`);
    let state = seed;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    let spool = open({ dir: folder, segmentBytes: 512 });
    let waiting: string[] = [];
    for (let step = 0; step < 600; step++) {
      const what = random(10);
      if (what < 6) {
        const text = `${step}:${"a".repeat(random(120))}`;
        put(spool, text);
        waiting.push(text);
      } else if (what < 9) {
        const got = spool.read(random(600));
        expect(got.map(({ bytes }) => bytes.toString())).toEqual(waiting.slice(0, got.length));
        if (waiting.length > 0) expect(got.length).toBeGreaterThan(0);
        const take = random(got.length + 1);
        if (take > 0) spool.acknowledge(got[take - 1]?.position ?? 0);
        waiting = waiting.slice(take);
      } else {
        if (random(2) === 0) await spool.close();
        else rmSync(path.join(folder, "lock"), { force: true });
        spool = open({ dir: folder, segmentBytes: 512 });
      }
      expect(spool.stats().records).toBe(waiting.length);
    }
    expect(drain(spool)).toEqual(waiting);
    const bytes = readdirSync(folder).reduce(
      (sum, file) => sum + statSync(path.join(folder, file)).size,
      0,
    );
    expect(bytes).toBeLessThan(2_000);
    await spool.close();
  }
});
