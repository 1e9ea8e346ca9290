/** The targets for kernel log lines about GPUs, each declared once with its URL scheme. */
import type { GenericSchema, InferOutput } from "valibot";
import * as v from "valibot";
import {
  type Component,
  type ComponentDefinition,
  parseComponent,
} from "../../config/component.ts";
import { durationMs, flag, text, wholeNumber } from "../../config/fields.ts";
import { fillSecrets, type SecretSources } from "../../config/secrets.ts";
import { httpOptions, pairs } from "../samples-options.ts";
import { defaultKmsg } from "../../machine/kernel-log/reader.ts";
import { vendors } from "../../model/vendor.ts";
import type { LineTarget } from "./line.ts";

export interface TargetContext {
  readonly stdout: NodeJS.WritableStream;
  readonly version: string;
  readonly nowMs: () => number;
}

export interface KernelLogDefinition<
  Schema extends GenericSchema = GenericSchema,
> extends ComponentDefinition<Schema> {
  open(options: InferOutput<Schema>, context: TargetContext): Promise<LineTarget>;
}

/** Accepts a list in gpulse.yaml, or comma-separated names in a URL. */
function vendorList() {
  const takes = `some of ${vendors.join(", ")}`;
  return v.pipe(
    v.union([v.string(takes), v.array(v.string(takes))], takes),
    v.transform((given) => (typeof given === "string" ? given.split(",") : given)),
    v.array(v.picklist(vendors, takes)),
    v.minLength(1, takes),
    v.metadata({ takes }),
  );
}

/** Options that all targets share. */
const reading = {
  since: v.optional(
    v.pipe(
      v.picklist(["start", "boot"], "start or boot"),
      v.description(
        "Where to begin: at the agent's start, or with all records that the kernel still holds.",
      ),
    ),
    "start",
  ),
  vendors: v.optional(
    v.pipe(
      vendorList(),
      v.description("Only lines of these vendors' drivers, separated by commas."),
    ),
    vendors.join(","),
  ),
  kmsg: v.optional(v.pipe(text("a path"), v.description("Path of the kernel log.")), defaultKmsg),
  queue: v.optional(
    v.pipe(
      wholeNumber(1, 1_000_000),
      v.description("Maximum number of queued lines; the oldest are dropped."),
    ),
    10_000,
  ),
};

const readingSchema = v.strictObject(reading);
export type KernelLogReadOptions = InferOutput<typeof readingSchema>;

const lokiOptions = v.strictObject({
  url: v.pipe(
    text("an address such as //loki:3100"),
    v.description("Address of Loki. Default path: that of the push API."),
  ),
  tenant: v.optional(v.pipe(text("a tenant"), v.description("Tenant in Loki."))),
  job: v.optional(v.pipe(text("a name"), v.description("The job label.")), "gpulse-kernel"),
  labels: v.optional(
    v.pipe(pairs(), v.description("Additional labels; use labels with few values.")),
    {},
  ),
  structured_metadata: v.optional(
    v.pipe(
      flag(),
      v.description(
        "Send driver, pci_bus_id, xid and event beside each line; false for a Loki before 3.0.",
      ),
    ),
    true,
  ),
  timeout: v.optional(
    v.pipe(durationMs(100, 600_000), v.description("Timeout of one request.")),
    "10s",
  ),
  ...httpOptions,
  ...reading,
});
export type LokiUrlOptions = InferOutput<typeof lokiOptions>;

const hubOptions = v.strictObject({
  url: v.pipe(text("an address such as //hub:9410"), v.description("The hub.")),
  timeout: v.optional(
    v.pipe(durationMs(100, 600_000), v.description("Timeout of one request.")),
    "10s",
  ),
  ...httpOptions,
  ...reading,
});
export type HubLineOptions = InferOutput<typeof hubOptions>;

function define<Schema extends GenericSchema>(
  definition: KernelLogDefinition<Schema>,
): KernelLogDefinition<Schema> {
  return definition;
}

const loki = (scheme: "http" | "https"): KernelLogDefinition =>
  define({
    name: `loki+${scheme}`,
    summary: `To Loki by its push API over ${scheme === "http" ? "HTTP" : "HTTPS"}.`,
    mainOption: "url",
    options: lokiOptions,
    examples: [
      { url: `loki+${scheme}://loki:3100`, description: "to a Loki without tenants" },
      {
        url: `loki+${scheme}://loki:3100?tenant=lab&username=gpu&password=\${LOKI_PASSWORD}`,
        description: "as a tenant, with a password from a variable",
      },
    ],
    open: async (options, context) => {
      const { openLoki } = await import("./open-loki.ts");
      return openLoki(scheme, options, context);
    },
  });

const hub = (scheme: "http" | "https"): KernelLogDefinition =>
  define({
    name: `hub+${scheme}`,
    summary: `To the event timeline of a hub over ${scheme === "http" ? "HTTP" : "HTTPS"}: its host page shows the lines beside the charts.`,
    mainOption: "url",
    options: hubOptions,
    examples: [
      {
        url: `hub+${scheme}://hub:9410?bearer_token_file=/etc/gpulse/token`,
        description: "with a token of scope push",
      },
    ],
    open: async (options, context) => {
      const { openHubLines } = await import("./hub-lines.ts");
      return openHubLines(scheme, options, context);
    },
  });

export const kernelLogTargets: readonly KernelLogDefinition[] = [
  hub("http"),
  hub("https"),
  loki("http"),
  loki("https"),
  define({
    name: "stdout",
    summary: "Prints each line as a JSON object.",
    options: readingSchema,
    examples: [{ url: "stdout:?since=boot", description: "with all that the kernel still holds" }],
    open: async (_, { stdout }) => {
      const { StdoutLines } = await import("./json-lines.ts");
      return new StdoutLines(stdout);
    },
  }),
  define({
    name: "jsonl",
    summary: "Adds each line as a JSON object to a file.",
    mainOption: "path",
    options: v.strictObject({
      path: v.pipe(text("a file"), v.description("The file; rotate it by copy and truncate.")),
      ...reading,
    }),
    examples: [
      { url: "jsonl:/var/log/gpulse/kernel.jsonl", description: "for a shipper of its own" },
    ],
    open: async ({ path }, _context) => {
      const { FileLines } = await import("./json-lines.ts");
      return new FileLines(path);
    },
  }),
];

export type KernelLogTarget = Component<KernelLogDefinition>;

/** @param env environment for secrets that the text references; absent if they are already resolved */
export function parseKernelLog(
  given: string | Readonly<Record<string, unknown>>,
  env?: SecretSources["env"],
): KernelLogTarget {
  const { definition, options } = parseComponent(
    { noun: "kernel log target", unknown: "SINK_UNKNOWN", list: kernelLogTargets },
    given,
  );
  if (env === undefined) return { definition, options };
  return { definition, options: fillSecrets(options, { env, folder: process.cwd() }).value };
}
