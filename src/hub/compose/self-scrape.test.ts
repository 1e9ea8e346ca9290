import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { openStorage } from "../storage.ts";
import { silentLog } from "../../base/log.ts";
import { identityOf } from "../../model/identity.ts";
import { labelValue } from "../../model/labels.ts";
import { startUpSeries } from "./self-scrape.ts";

test("up has the job and instance of the local series, and goes stale at the end", async () => {
  const storage = await openStorage({
    dir: mkdtempSync(path.join(tmpdir(), "gpulse-up-")),
    retentionMs: 86_400_000,
    log: silentLog,
    nowMs: Date.now,
    version: "1.2.3",
  });
  const { history } = storage;
  const shown = async (): Promise<unknown> => {
    const { data } = await history.instant("up", Date.now());
    if (data.type !== "vector") throw new Error(`a ${data.type}`);
    return data.samples.map(({ labels, value }) => [
      labelValue(labels, "job"),
      labelValue(labels, "instance"),
      value,
    ]);
  };
  const up = startUpSeries(identityOf("node-1"), {
    writer: history,
    host: "node-1",
    log: silentLog,
  });
  await expect.poll(shown).toEqual([["gpulse", "node-1:9400", 1]]);
  await up.close();
  expect(await shown()).toEqual([]);
  await storage.close();
});
