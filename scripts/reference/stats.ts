/** docs/reference/stats.schema.json, from the schema that validates `/stats`. */
import { toJsonSchema } from "@valibot/to-json-schema";
import { statsSchema } from "../../src/agent/stats/schema.ts";

export function statsSchemaFile(): string {
  const schema = { title: "gpulse.stats/1", ...toJsonSchema(statsSchema) };
  return `${JSON.stringify(schema, null, 2)}\n`;
}
