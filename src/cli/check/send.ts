/** Sends the results of a check to sinks, as one frame per GPU of `gpu_check_*` metrics. */
import path from "node:path";
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { gpu as metrics } from "../../model/catalogue/index.ts";
import type { MetricEntry } from "../../model/catalogue/entry.ts";
import { deviceInfoLabels, deviceLabels } from "../../model/device.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { openSink } from "../../sinks/open.ts";
import type { GpuCheck } from "../../sources/nvidia/check/verdict.ts";
import type { CommandIo } from "../command/io.ts";
import { guardOutbound } from "../command/outbound.ts";
import type { Settings } from "../command/settings.ts";
import { sinkContext } from "../command/sink-context.ts";

/** Timeout for a sink to deliver everything. */
const flushMs = 10_000;

/** Returns one sentence per sink that failed. */
export async function sendResults(
  checks: readonly GpuCheck[],
  to: readonly string[],
  settings: Settings,
  io: CommandIo,
  log: Log,
): Promise<string[]> {
  const failures: string[] = [];
  if (to.length === 0) return failures;
  const unguard = guardOutbound(settings.outbound, log, Date.now);
  try {
    for (const url of to) {
      const spoolDir = path.join(settings.dataDir, "spool", "check");
      const sink = await openSink(url, sinkContext(settings, io, log, spoolDir));
      try {
        for (const check of checks)
          await sink.write({
            frame: checkFrame(check, settings.hostName, Date.now()),
            source: "check",
            tier: "static",
            freshForMs: 300_000,
            devices: [check.gpu],
          });
        await sink.flush?.(AbortSignal.timeout(flushMs));
      } catch (thrown) {
        failures.push(`the results did not reach ${sink.name}: ${formatError(thrown)}`);
      } finally {
        await sink.close();
      }
    }
  } finally {
    unguard();
  }
  return failures;
}

type MetricValue = readonly [MetricEntry, number, Readonly<Record<string, string>>?];

/** Includes `gpu_info`, so that a receiver can name a GPU it has not seen before. */
export function checkFrame(check: GpuCheck, host: string, timeMs: number): Frame {
  const values = metricValues(check);
  const layout = new LayoutBuilder();
  const info = layout.add(metrics.info, deviceInfoLabels(check.gpu, host));
  const slots = values.map(([metric, , labels]) =>
    layout.add(metric, deviceLabels(check.gpu, host, labels)),
  );
  const writer = new FrameWriter(layout.build(), timeMs);
  writer.set(info, 1);
  values.forEach(([, value], at) => writer.set(slots[at] ?? -1, value));
  return writer.finish();
}

function metricValues({ verdict, results }: GpuCheck): MetricValue[] {
  const isKnown = verdict === "pass" || verdict === "slow" || verdict === "fail";
  const values: MetricValue[] = isKnown ? [[metrics.checkPassed, verdict === "pass" ? 1 : 0]] : [];
  for (const { measurement } of results)
    switch (measurement?.test) {
      case "tensor": {
        const { instruction, flopsPerSecond, wrong } = measurement;
        values.push([metrics.checkTensorFlops, flopsPerSecond, { instruction }]);
        values.push([metrics.checkErrors, wrong.count, { test: "tensor" }]);
        break;
      }
      case "fp32":
        values.push([metrics.checkFp32Flops, measurement.flopsPerSecond]);
        values.push([metrics.checkErrors, measurement.wrong.count, { test: "fp32" }]);
        break;
      case "products":
        values.push([metrics.checkErrors, measurement.wrong.count, { test: "products" }]);
        break;
      case "memory":
        values.push([metrics.checkMemoryTested, measurement.bytes]);
        values.push([metrics.checkErrors, measurement.wrongWords, { test: "memory" }]);
        break;
      case "device_copy":
      case "host_to_device":
      case "device_to_host": {
        const { test: route, bytesPerSecond } = measurement;
        values.push([metrics.checkBandwidth, bytesPerSecond, { path: route }]);
        break;
      }
      case undefined:
        break;
    }
  return values;
}
