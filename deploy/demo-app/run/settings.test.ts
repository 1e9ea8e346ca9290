import { expect, test } from "vitest";

import { type Environment, listenSettings, readSettings } from "./settings.ts";

const read = (env: Environment) =>
  readSettings(env, (from) => ({
    ...listenSettings(from, 8000),
    rate: from.number("RATE", 8, { most: 1000 }),
    redisUrl: from.url("REDIS_URL", "redis://127.0.0.1:6379"),
  }));

test("a program listens on loopback by default", () => {
  expect(read({})).toEqual({
    host: "127.0.0.1",
    port: 8000,
    tracesUrl: undefined,
    logLevel: "info",
    rate: 8,
    redisUrl: "redis://127.0.0.1:6379",
  });
  expect(read({ HOST: "0.0.0.0", PORT: "81" })).toMatchObject({ host: "0.0.0.0", port: 81 });
});

test("an empty variable counts as not set", () => {
  expect(read({ PORT: " ", RATE: "" })).toMatchObject({ port: 8000, rate: 8 });
});

test("all that is wrong is reported at once", () => {
  expect(() => read({ PORT: "99999", RATE: "many", REDIS_URL: "user secret" })).toThrow(
    "PORT must be a number from 0 to 65535, not 99999; RATE must be a number from 0 to 1000, not many; " +
      "REDIS_URL must be an address such as http://127.0.0.1:8000",
  );
  expect(() => read({ PORT: "80.5" })).toThrow("PORT must be a whole number, not 80.5");
});
