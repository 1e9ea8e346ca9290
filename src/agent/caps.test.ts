/** Tests the per-address limits of the agent's HTTP server: one address over its limit does not affect the others. */
import { expect, test } from "vitest";
import { ClientCaps } from "./caps.ts";

test("an address gets its burst, then so much a second; others are not held up", () => {
  const caps = new ClientCaps();
  for (let count = 0; count < 500; count++) expect(caps.waitSeconds("10.0.0.1", 0)).toBe(0);
  expect(caps.waitSeconds("10.0.0.1", 0)).toBe(1);
  expect(caps.waitSeconds("10.0.0.2", 0)).toBe(0);
  expect(caps.waitSeconds("10.0.0.1", 20)).toBe(0);
  expect(caps.waitSeconds("10.0.0.1", 20)).toBe(1);
});

test("an address gets its connections, and one back for each that ends", () => {
  const caps = new ClientCaps();
  for (let count = 0; count < 64; count++) expect(caps.enter("10.0.0.1", 0)).toBe(true);
  expect(caps.enter("10.0.0.1", 0)).toBe(false);
  expect(caps.enter("10.0.0.2", 0)).toBe(true);
  caps.leave("10.0.0.1");
  expect(caps.enter("10.0.0.1", 0)).toBe(true);
});

test.each(["127.0.0.1", "::1", "::ffff:127.0.0.1"])("%s is not held up", (address) => {
  const caps = new ClientCaps();
  for (let count = 0; count < 2_000; count++) {
    expect(caps.waitSeconds(address, 0)).toBe(0);
    expect(caps.enter(address, 0)).toBe(true);
  }
});

test("addresses by the thousand are forgotten again", () => {
  const caps = new ClientCaps();
  for (let count = 0; count < 500; count++) caps.waitSeconds("first", 0);
  expect(caps.waitSeconds("first", 0)).toBe(1);
  for (let count = 0; count < 5_000; count++)
    caps.waitSeconds(`10.0.${count >> 8}.${count & 255}`, 0);
  expect(caps.waitSeconds("first", 0)).toBe(0);
});
