import { parse } from "yaml";
import { expect, test } from "vitest";
import { receiverYaml } from "./receiver-yaml.ts";

const schema = { properties: { send_resolved: { default: true }, url: {}, to: {} } };

test.each([
  "plain",
  "#gpus",
  "$SLACK_WEBHOOK",
  "https://a.example/x?y=1",
  "no",
  "1.5",
  "a: b",
  '{{ template "x" . }}',
  "two\nlines",
  "- dash",
  'quote"d',
  "*star",
])("%j is read back as it was given", (url) => {
  const text = receiverYaml("team", "webhook_configs", { url, send_resolved: true }, schema);
  expect(parse(text)).toEqual({ receivers: [{ name: "team", webhook_configs: [{ url }] }] });
});

test("a form that says nothing is an entry all the same", () => {
  expect(parse(receiverYaml("a b", "ntfy_configs", {}, schema))).toEqual({
    receivers: [{ name: "a b", ntfy_configs: [{}] }],
  });
});
