/** docs/reference/kafka-message.schema.json and .avsc, from the schemas that validate and encode messages. */
import { toJsonSchema } from "@valibot/to-json-schema";
import { messageAvroSchema } from "../../src/formats/message/avro.ts";
import { messageSchema } from "../../src/formats/message/schema.ts";

export function messageSchemaFile(): string {
  const schema = { title: "gpulse message, version 1", ...toJsonSchema(messageSchema) };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

export const avroSchemaFile = (): string =>
  `${JSON.stringify(JSON.parse(messageAvroSchema), null, 2)}\n`;
