import { expect, test } from "vitest";
import { accepted, refused } from "../../../test/compat/alertmanager-rules.ts";
import { formatError } from "../../base/error.ts";
import { openEntries } from "../../../test/fixtures/alerting/channels.ts";

const refusedRows = refused.map(
  ([entries, says, global = "{}"]) => [entries, global, says] as const,
);
test.each(refusedRows)("%s with global %s is refused", async (entries, global, says) => {
  const outcome = await openEntries(entries, { global }).then(
    () => "accepted",
    (thrown: unknown) => formatError(thrown),
  );
  expect(outcome).toMatch(says);
  expect(outcome).not.toContain("hunter2");
});

const acceptedRows = accepted.map(
  ([entries, global = "{}", warns = /^$/]) => [entries, global, warns] as const,
);
test.each(acceptedRows)("%s with global %s is accepted", async (entries, global, warns) => {
  const receivers = await openEntries(entries, { global });
  expect(receivers.warnings.join("\n")).toMatch(warns);
  expect(receivers.integrations("ops.team")).toHaveLength(1);
  receivers.close();
});
