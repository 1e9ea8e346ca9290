// The history in real engines elsewhere: the one suite through each, with the reasons where an engine cannot pass.

import { describe } from "vitest";

import { startPrometheus } from "../../engines/prometheus.ts";
import { findTool } from "../../engines/tools.ts";
import { startVictoriaMetrics } from "../../engines/victoria-metrics.ts";
import { parseStoreAddress } from "../../src/history/remote/address.ts";
import { openRemoteHistory } from "../../src/history/remote/remote.ts";
import { silentLog } from "../../src/log/log.ts";
import type { Kept } from "../history/suite.ts";
import { historySuite } from "../history/suite.ts";

const prometheus = findTool("prometheus");
const victoriaMetrics = findTool("victoria-metrics");

async function openAt(
  url: string,
  stop: () => Promise<void>,
  settle: () => Promise<void>,
): Promise<Kept> {
  const history = await openRemoteHistory(parseStoreAddress(url), silentLog);
  return {
    history,
    settle,
    close: async () => {
      await history.close();
      await stop();
    },
  };
}

describe.skipIf("missing" in prometheus)("over Prometheus", () => {
  historySuite({
    open: async () => {
      const path = "path" in prometheus ? prometheus.path : "";
      const server = await startPrometheus({ path, config: {}, logLevel: "warn" });
      return openAt(server.url, server.stop, async () => {});
    },
    cannot: {
      "a sample older than the newest of its series is kept":
        "Prometheus refuses what is out of order unless its file sets tsdb.out_of_order_time_window",
    },
  });
});

describe.skipIf("missing" in victoriaMetrics)("over VictoriaMetrics", () => {
  historySuite({
    open: async () => {
      const server = await startVictoriaMetrics(
        "path" in victoriaMetrics ? victoriaMetrics.path : "",
      );
      return openAt(server.url, server.stop, async () => {
        await (await fetch(`${server.url}/internal/force_flush`)).arrayBuffer();
      });
    },
    cannot: {
      "every double comes back bit for bit":
        "VictoriaMetrics keeps decimals: about 15 digits, and less for small values beside huge ones",
      "a NaN that is a value is no end":
        "VictoriaMetrics drops every NaN that is no mark of an end",
      "another value for the same time is refused, and the first stays":
        "VictoriaMetrics refuses nothing: it keeps both, and answers with the later",
      "what is refused takes nothing else of its batch with it": "VictoriaMetrics refuses nothing",
      "labels of series without samples in the range are not told":
        "VictoriaMetrics looks labels up by the day, in UTC",
      "a scalar is a scalar and a text a text": "VictoriaMetrics answers with a vector of one",
    },
  });
});
