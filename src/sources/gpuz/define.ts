/** The source `gpuz:FILE`: the sensor log of GPU-Z on Windows, read once or followed while it grows. */
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import * as v from "valibot";
import { durationMs, flag, text, wholeNumber } from "../../config/fields.ts";
import { GpulseError, formatError, systemCode } from "../../base/error.ts";
import { machineZone, parseZone } from "../../formats/gpuz/time.ts";
import { vendorChoice, vendors } from "../../model/vendor.ts";
import { defineSource } from "../source.ts";

const zoneTakes = "a time zone such as Europe/Berlin, UTC or +02:00";

export const gpuz = defineSource({
  name: "gpuz",
  summary: "A GPU-Z sensor log, finished or growing, of any vendor's card.",
  mainOption: "file",
  options: v.strictObject({
    file: v.optional(v.pipe(text("the path of a log"), v.description("Log written by GPU-Z."))),
    "gpu-name": v.optional(
      v.pipe(
        text("the name of the GPU"),
        v.description("Name of the GPU; the log does not contain it."),
      ),
    ),
    vendor: v.optional(
      v.pipe(
        v.picklist(vendors, vendorChoice),
        v.description("Vendor of the GPU, if neither its name nor the columns show it."),
      ),
    ),
    gpu: v.optional(
      v.pipe(wholeNumber(0, 1_023), v.description("Index of the GPU on that machine.")),
      0,
    ),
    uuid: v.optional(
      v.pipe(
        text("an identifier"),
        v.description("UUID of the GPU. Default: derived from host, name and index."),
      ),
    ),
    timezone: v.optional(
      v.pipe(
        text(zoneTakes),
        v.check((given) => parseZone(given) !== undefined, zoneTakes),
        v.description("Time zone of the log. Default: this machine's."),
      ),
    ),
    follow: v.optional(
      v.pipe(flag(), v.description("Wait for more rows at the end instead of ending.")),
      false,
    ),
    from: v.optional(
      v.pipe(
        v.picklist(["start", "end"], "start or end"),
        v.description("Where to begin following: end skips existing rows."),
      ),
      "start",
    ),
    poll: v.optional(
      v.pipe(durationMs(10, 3_600_000), v.description("How often to look for more rows.")),
      "500ms",
    ),
  }),
  examples: [
    { url: "gpuz:sensors.txt?gpu-name=GeForce RTX 4090", description: "a finished log" },
    {
      url: "gpuz:sensors.txt?gpu-name=Radeon RX 7900 XT&timezone=Europe/Berlin&follow=true",
      description: "a growing log, from a machine in Berlin",
    },
  ],
  auto: false,
  doctor: async ({ file }) => {
    if (file === undefined)
      return { state: "not-found", says: "No log given. Write gpuz:FILE with the log's path." };
    try {
      await access(file, constants.R_OK);
      return { state: "found", says: `${file} can be read.` };
    } catch (thrown) {
      const code = systemCode(thrown);
      if (code === "ENOENT")
        return {
          state: "not-found",
          says: `There is no file ${file}.`,
          fix: 'In GPU-Z, tick "Log to file" on the Sensors page.',
        };
      if (code === "EACCES" || code === "EPERM")
        return {
          state: "denied",
          says: `This user may not read ${file}.`,
          fix: `chmod o+r '${file}'`,
        };
      return { state: "failed", says: formatError(thrown) };
    }
  },
  create: async (options, context) => {
    if (options.file === undefined)
      throw new GpulseError(
        "SOURCE_OPTIONS",
        "gpuz: needs the path of a log: write gpuz:FILE, such as gpuz:sensors.txt.",
      );
    const { GpuzSource } = await import("./source.ts");
    return new GpuzSource({
      file: options.file,
      gpuName: options["gpu-name"],
      vendor: options.vendor,
      uuid: options.uuid,
      index: options.gpu,
      zone:
        (options.timezone === undefined ? undefined : parseZone(options.timezone)) ?? machineZone(),
      follow: options.follow,
      from: options.from,
      pollMs: options.poll,
      host: context.host,
      log: context.log,
      ...(context.reject !== undefined && { reject: context.reject }),
    });
  },
});
