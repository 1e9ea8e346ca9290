import { expect, test } from "vitest";
import { checkValue } from "../../config/check.ts";
import { byteSize, pushSettings } from "./push.ts";

test.for([
  ["1048576", 1_048_576],
  ["512MB", 512_000_000],
  ["512M", 512_000_000],
  ["2GiB", 2 * 2 ** 30],
  ["1.5 gb", 1_500_000_000],
] as const)("%s is a size", ([text, bytes]) => {
  expect(checkValue(byteSize(1, 1e12), text)).toEqual({ ok: true, value: bytes });
});

test.for(["", "much", "-1MB", "1e9", "5 parsecs"])("%j is no size", (text) => {
  expect(checkValue(byteSize(1, 1e12), text).ok).toBe(false);
});

test("no hub is pushed to unless one is named", () => {
  expect(pushSettings({}, undefined, { GPULSE_DATA: "/data" })).toEqual({
    hubs: [],
    job: "gpulse",
    spoolDir: "/data/spool",
    spoolMaxBytes: 512e6,
    spoolAgeMs: 7 * 86_400_000,
  });
});

test("flags win over the file, and one token and CA serve every hub of the flags", () => {
  const { hubs, spoolDir, instance } = pushSettings(
    {
      push: ["http://one:9410", "https://two:9410"],
      token: "file:/token",
      ca: "/ca.pem",
      spool: "/s",
      instance: "lab-7",
    },
    { push: ["http://file:9410"], spool: "/other" },
    { GPULSE_TOKEN: "of-the-environment" },
  );
  expect(hubs).toEqual([
    { url: "http://one:9410", token: "file:/token", caFile: "/ca.pem" },
    { url: "https://two:9410", token: "file:/token", caFile: "/ca.pem" },
  ]);
  expect([spoolDir, instance]).toEqual(["/s", "lab-7"]);
});

test("a hub in the file may have credentials of its own; the environment's are for those without", () => {
  const { hubs } = pushSettings(
    {},
    { push: ["http://one:9410", { url: "https://two:9410", token: "own", ca_file: "ca.pem" }] },
    { GPULSE_TOKEN: "shared", GPULSE_DATA: "d" },
  );
  expect(hubs).toEqual([
    { url: "http://one:9410", token: "shared" },
    { url: "https://two:9410", token: "own", caFile: "ca.pem" },
  ]);
});

test("a bad bound is an error that says what it takes", () => {
  expect(() => pushSettings({ spoolMax: "lots" }, undefined, {})).toThrow(
    /^--spool-max must be a size such as 512MB or 2GiB/,
  );
});
