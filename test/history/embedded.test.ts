// The embedded store is a history: it passes every case.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { openStorage } from "../../src/hub/storage.ts";
import { silentLog } from "../../src/base/log.ts";
import { historySuite } from "./suite.ts";

historySuite({
  open: async () => {
    const dir = mkdtempSync(path.join(tmpdir(), "gpulse-history-"));
    const storage = await openStorage({
      dir,
      retentionMs: 86_400_000,
      log: silentLog,
      nowMs: Date.now,
      version: "test",
    });
    return {
      history: storage.history,
      settle: async () => {},
      close: async () => {
        await storage.close();
        rmSync(dir, { recursive: true, force: true });
      },
    };
  },
});
