import { expect, test } from "vitest";

import { openGroups, ownPath } from "./cgroup.ts";

const first = "9:name=systemd:/\n4:memory:/jobs/one\n3:cpu,cpuacct:/shared\n0::/";

test("our own group is found in both versions' lists", () => {
  expect(ownPath(first, "memory")).toBe("/jobs/one");
  expect(ownPath(first, "cpuacct")).toBe("/shared");
  expect(ownPath("0::/user.slice/a:b\n", "")).toBe("/user.slice/a:b");
  expect(ownPath("", "memory")).toBe("/");
});

test("where there are no groups, that is what is said", () => {
  expect(openGroups("/nowhere", first)).toEqual({
    missing: "there are no control groups at /nowhere",
  });
});
