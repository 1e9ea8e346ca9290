/** docs/reference/kafka-message.schema.json, from the schema that messages are checked with. */
import { toJsonSchema } from "@valibot/to-json-schema";
import { messageSchema } from "../../src/formats/message/schema.ts";

export function messageSchemaFile(): string {
  const schema = { title: "gpulse message, version 1", ...toJsonSchema(messageSchema) };
  return `${JSON.stringify(schema, null, 2)}\n`;
}
