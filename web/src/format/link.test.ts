import { expect, test } from "vitest";
import { webLink } from "./link.ts";

test.each([
  ["https://docs.example/gpu-hot", "https://docs.example/gpu-hot"],
  ["http://wiki.example/a?b#c", "http://wiki.example/a?b#c"],
  ["javascript:alert(1)", undefined],
  [" JavaScript:alert(1)", undefined],
  ["java\nscript:alert(1)", undefined],
  ["data:text/html,<script>1</script>", undefined],
  ["vbscript:x", undefined],
  ["file:///etc/passwd", undefined],
  ["no address", undefined],
  [undefined, undefined],
])("%j leads to %j", (text, href) => {
  expect(webLink(text)).toBe(href);
});
