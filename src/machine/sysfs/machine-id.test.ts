import path from "node:path";
import { expect, test } from "vitest";
import { writeTree } from "../../../test/captures/tree.ts";
import { machineIdentity } from "./machine-id.ts";

const one = "0123456789abcdef0123456789abcdef";
const other = "fedcba9876543210fedcba9876543210";

const procOf = (files: Readonly<Record<string, string>>): string =>
  path.join(writeTree({ "proc/uptime": "1 1", ...files }), "proc");

const identity = (host: string, id: string | undefined, file = "etc/machine-id"): Promise<string> =>
  machineIdentity(host, procOf(id === undefined ? {} : { [file]: `${id}\n` }));

test("an identity is the same at every start, and hides the machine id", async () => {
  const first = await identity("box", one);
  expect(first).toMatch(/^[0-9a-f]{12}$/);
  expect(await identity("box", one)).toBe(first);
  expect(one).not.toContain(first);
});

test("machines that share a name, a machine id or neither have identities of their own", async () => {
  const found = await Promise.all([
    identity("box", one),
    identity("box", other),
    identity("box", undefined),
    identity("lab", one),
    identity("lab", undefined),
  ]);
  expect(new Set(found).size).toBe(found.length);
});

test("a machine id that is empty, unset or damaged counts as none", async () => {
  const none = await identity("box", undefined);
  for (const id of ["", "uninitialized", "0".repeat(32), one.slice(1), `${one}${one}`])
    expect(await identity("box", id)).toBe(none);
});

test("the file of D-Bus serves where systemd's is missing", async () => {
  expect(await identity("box", one, "var/lib/dbus/machine-id")).toBe(await identity("box", one));
});
