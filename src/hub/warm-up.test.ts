import { expect, test } from "vitest";
import { silentLog } from "../base/log.ts";
import { practiceApp, practiceRequests, startWarmUp, toGet } from "./warm-up.ts";

test("every practice query is answered with series: a query that fails would warm up nothing", async () => {
  const app = practiceApp(silentLog);
  for (const request of practiceRequests)
    for (const response of [await app.inject(request), await app.inject(toGet(request))]) {
      expect(response.statusCode, request.body).toBe(200);
      const { data } = response.json<{ data: { result: unknown[] } }>();
      expect(data.result.length, request.body).toBeGreaterThan(0);
    }
});

test("the warm-up ends at once when the hub closes", async () => {
  const warmUp = startWarmUp(silentLog);
  await expect(warmUp.close()).resolves.toBeUndefined();
});
