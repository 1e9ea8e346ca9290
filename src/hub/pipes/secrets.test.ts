import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { collectSecrets, findPlainSecret, redactUrl } from "./secrets.ts";

test.each([
  ["kafka://b:9092/t?group=g", "kafka://b:9092/t?group=g", undefined],
  ["kafka://b/t?password=hunter22&x=1", "kafka://b/t?password=<secret>&x=1", "password"],
  ["kafka://b/t?password=${PW}", "kafka://b/t?password=${PW}", undefined],
  ["hub+http://h?token=file:/etc/t", "hub+http://h?token=file:/etc/t", undefined],
  ["hub+http://h?token=%24%7BT%7D", "hub+http://h?token=%24%7BT%7D", undefined],
  ["influxdb://h/db?Token=abc", "influxdb://h/db?Token=<secret>", "Token"],
  ["mqtt://me:pa:ss@w@h/x", "mqtt://me:<secret>@h/x", "the password before the @"],
  ["mqtt://me:${PW}@h", "mqtt://me:${PW}@h", undefined],
  ["x:?headers=Authorization:abc", "x:?headers=<secret>", "headers"],
  ["x:?bearer_token=a&api-key=b", "x:?bearer_token=<secret>&api-key=<secret>", "bearer_token"],
  ["gpuz:C:/logs/a@b.txt", "gpuz:C:/logs/a@b.txt", undefined],
])("%s is shown as %s", (url, shown, plain) => {
  expect([redactUrl(url), findPlainSecret(url)]).toEqual([shown, plain]);
});

test("what a URL leads to is hidden in what a child says", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-pipe-secret-"));
  try {
    writeFileSync(path.join(folder, "token"), "from-a-file\n");
    const hidden = collectSecrets(
      ["kafka://b/t?password=%24%7BPW%7D", `hub+http://h?token=file:${folder}/token`],
      { PW: "from-outside" },
    );
    expect(hidden.hide("no from-outside, no from-a-file")).toBe("no <secret>, no <secret>");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
