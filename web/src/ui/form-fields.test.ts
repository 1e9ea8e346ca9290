import { expect, test } from "vitest";
import { fieldsOf, parseField, type Schema } from "./form-fields.ts";

const schema: Schema = {
  type: "object",
  required: ["webhookUrl"],
  properties: {
    kind: { const: "slack" },
    webhookUrl: { type: "string", format: "uri" },
    api_key: { type: "string" },
    retries: { type: "integer", minimum: 0, maximum: 5 },
    send_resolved: { type: "boolean", default: true },
    level: { anyOf: [{ const: "low" }, { const: "high" }] },
    to: { type: "array", items: { type: "string" } },
    maybe: { anyOf: [{ type: "string" }, { type: "null" }] },
    tls: { type: "object", properties: { insecure: { type: "boolean" } } },
    headers: { type: "object" },
  },
};
const field = (name: string) => {
  const found = fieldsOf(schema).find((one) => one.name === name);
  if (found === undefined) throw new Error(`no field ${name}`);
  return found;
};

test("each property becomes the field people expect, and a constant none", () => {
  expect(fieldsOf(schema).map(({ label, kind }) => `${label}: ${kind}`)).toEqual([
    "Webhook url: text",
    "Api key: secret",
    "Retries: number",
    "Send resolved: switch",
    "Level: choice",
    "To: lines",
    "Maybe: text",
    "Tls: object",
    "Headers: json",
  ]);
});

test.each<[string, string, unknown]>([
  ["retries", " 3 ", { value: 3 }],
  ["retries", "", { value: undefined }],
  ["retries", "3.5", { wrong: "Retries must be a whole number." }],
  ["retries", "9", { wrong: "Retries must be at most 5." }],
  ["retries", "many", { wrong: "Retries must be a number." }],
  ["webhookUrl", "", { wrong: "Webhook url is required." }],
  [
    "webhookUrl",
    "nonsense",
    { wrong: "Webhook url must be an address such as https://example.org/hook." },
  ],
  ["level", "high", { value: "high" }],
  ["to", "a@b\n\n c@d ", { value: ["a@b", "c@d"] }],
  ["headers", '{"a":1}', { value: { a: 1 } }],
  ["headers", "{", { wrong: "Headers must be JSON." }],
])("%s with %j is %j", (name, text, typed) => {
  expect(parseField(field(name), text)).toEqual(typed);
});
