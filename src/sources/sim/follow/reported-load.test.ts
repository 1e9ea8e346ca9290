import { expect, test } from "vitest";
import { silentLog } from "../../../base/log.ts";
import { parseSource } from "../../open.ts";
import { parseReportedLoads } from "./reported-load.ts";

const inference = { gpu: 0, workload: "inference", busy: 0.43, memoryBytes: 6e10 };

test("an answer may say more than is asked for", () => {
  const said = parseReportedLoads(
    JSON.stringify({ simulated: true, gpus: [{ ...inference, user: "ada" }] }),
  );
  expect(said).toEqual(
    new Map([
      [
        0,
        {
          workload: "inference",
          kernel: "infer_medium",
          kind: "inference",
          busy: 0.43,
          memoryBytes: 6e10,
        },
      ],
    ]),
  );
});

test.each([
  ["training", "train", "training"],
  ["batch", "infer_heavy", "batch"],
  ["work", "stress", "stress"],
  ["memcopy", "memcopy", "stress"],
  ["idle", "idle", undefined],
])("the workload %s runs the kernel %s", (workload, kernel, kind) => {
  const said = parseReportedLoads(JSON.stringify({ gpus: [{ ...inference, workload }] }));
  expect(typeof said === "string" ? said : said.get(0)).toMatchObject({ kernel, kind });
});

test.each([
  ["not JSON", "{", /not JSON/],
  ["no list", "{}", /gpus/],
  ["an unknown workload", { ...inference, workload: "knitting" }, /"knitting" is not known/],
  ["busy beyond one", { ...inference, busy: 1.2 }, /busy: a number from 0 to 1/],
  ["busy as text", { ...inference, busy: "0.4" }, /busy/],
  ["memory below nothing", { ...inference, memoryBytes: -1 }, /memoryBytes/],
  ["memory beyond any machine's", { ...inference, memoryBytes: 9e99 }, /memoryBytes/],
  ["half a GPU", { ...inference, gpu: 0.5 }, /gpu: a whole number/],
])("an answer with %s is void, with a reason", (_, given, reason) => {
  const text = typeof given === "string" ? given : JSON.stringify({ gpus: [given] });
  expect(parseReportedLoads(text)).toMatch(reason);
});

test("a GPU named twice is one of two things, so neither is taken", () => {
  expect(parseReportedLoads(JSON.stringify({ gpus: [inference, inference] }))).toMatch(
    /GPU 0 twice/,
  );
});

test("following and streaming as fast as possible exclude each other", async () => {
  const { definition, options } = parseSource("sim:?follow=http://127.0.0.1:9/load&speed=max");
  const context = { host: "lab", log: silentLog, nowMs: () => 0, sysfs: "/sys", procfs: "/proc" };
  await expect(definition.create(options, context)).rejects.toThrow(/"follow".*speed=max/);
});

test.each(["ftp://a/load", "load", "http://user:secret@a/load"])("%s cannot be followed", (url) => {
  expect(() => parseSource(`sim:?follow=${url}`)).toThrow(/without user and password/);
});
