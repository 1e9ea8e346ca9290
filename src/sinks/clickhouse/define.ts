/** `clickhouse://…` and `clickhouses://…`: sends rows of the lake's tables to ClickHouse over its HTTP interface. */
import * as v from "valibot";
import { durationMs, flag, text, wholeNumber } from "../../config/fields.ts";
import { defineSink, type SinkDefinition } from "../../pipeline/sink.ts";

const tableName = () =>
  v.pipe(text("a table"), v.regex(/^[A-Za-z_]\w{0,99}$/, "a name of letters, digits and _"));

export const clickHouseOptions = v.strictObject({
  address: v.pipe(
    text("an address such as //host:8123/DATABASE"),
    v.description("The server's HTTP interface, and the database."),
  ),
  table: v.optional(
    v.pipe(
      tableName(),
      v.description("Table with one row per GPU and timestamp, and a column per metric."),
    ),
    "gpu",
  ),
  "series-table": v.optional(
    v.pipe(
      tableName(),
      v.description("Table for readings without a column, such as those of the machine."),
    ),
    "series",
  ),
  create: v.optional(
    v.pipe(
      flag(),
      v.description("Create missing tables and columns; false never changes a table."),
    ),
    true,
  ),
  username: v.optional(v.pipe(text(), v.description("Who writes."))),
  password: v.optional(
    v.pipe(text(), v.description("Best as ${VARIABLE} or file:PATH; never printed.")),
  ),
  "batch-rows": v.optional(
    v.pipe(wholeNumber(1, 1_000_000), v.description("Maximum rows per insert.")),
    20_000,
  ),
  linger: v.optional(
    v.pipe(durationMs(0, 600_000), v.description("Maximum time a batch waits for more rows.")),
    "1s",
  ),
  timeout: v.optional(
    v.pipe(durationMs(100, 600_000), v.description("Timeout of one request.")),
    "60s",
  ),
  ca_file: v.optional(v.pipe(text("a file"), v.description("CA certificates to trust, PEM."))),
  insecure: v.optional(
    v.pipe(flag(), v.description("Skip certificate verification; only for trusted networks.")),
    false,
  ),
});

const define = (scheme: "clickhouse" | "clickhouses"): SinkDefinition =>
  defineSink({
    name: scheme,
    summary: `Rows to ClickHouse 21.11 or newer, ${scheme === "clickhouse" ? "without TLS" : "over TLS"}; a retried batch is stored once.`,
    mainOption: "address",
    options: clickHouseOptions,
    examples: [
      {
        url: `${scheme}://clickhouse:${scheme === "clickhouse" ? 8123 : 8443}/gpu`,
        description: "to the tables gpu and series of the database gpu",
      },
      {
        url: `${scheme}://clickhouse/gpu?username=gpulse&password=\${CLICKHOUSE_PASSWORD}`,
        description: "as a user",
      },
    ],
    create: async (given, context) => {
      const { openClickHouseSink } = await import("./open.ts");
      return openClickHouseSink(scheme === "clickhouse" ? "http" : "https", given, context);
    },
  });

export const clickhouse = define("clickhouse");
export const clickhouses = define("clickhouses");
