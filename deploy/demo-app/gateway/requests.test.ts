import { expect, test } from "vitest";

import { batchAsked, completionAsked, idleGpus } from "./requests.ts";

test("a completion has a prompt and a limit of tokens", () => {
  expect(completionAsked({ prompt: "hi" })).toEqual({ prompt: "hi", maxTokens: 64 });
  expect(completionAsked({ prompt: "hi", max_tokens: 5 })).toEqual({ prompt: "hi", maxTokens: 5 });
});

test.each([
  [undefined, "the body must be a JSON object"],
  [[], "the body must be a JSON object"],
  [{}, "prompt must be a text that is not empty"],
  [{ prompt: "" }, "prompt must be a text that is not empty"],
  [{ prompt: "hi", max_tokens: 0 }, "max_tokens must be a whole number from 1 to 2048"],
  [{ prompt: "hi", max_tokens: "9" }, "max_tokens must be a whole number from 1 to 2048"],
])("a completion asked as %j is refused", (body, message) => {
  expect(() => completionAsked(body)).toThrow(message);
});

test("a batch job has a length and may have a GPU", () => {
  expect(batchAsked({})).toEqual({ seconds: 60 });
  expect(batchAsked({ seconds: 5, gpu: 3 })).toEqual({ seconds: 5, gpu: 3 });
  expect(() => batchAsked({ seconds: 0 })).toThrow("seconds must be a number above 0");
  expect(() => batchAsked({ gpu: -1 })).toThrow("gpu must be a whole number from 0");
});

const alert = (status: string, alertname: string, gpu?: string) => ({
  status,
  labels: { alertname, ...(gpu === undefined ? {} : { gpu }) },
});

test("only GPUs that are idle now ask for work, each once", () => {
  const alerts = [
    alert("firing", "GpuIdle", "3"),
    alert("firing", "GpuIdle", "3"),
    alert("resolved", "GpuIdle", "4"),
    alert("firing", "GpuHot", "5"),
    alert("firing", "GpuIdle"),
    alert("firing", "GpuIdle", "0"),
  ];
  expect(idleGpus({ alerts })).toEqual([3, 0]);
  expect(() => idleGpus({})).toThrow("this takes an Alertmanager's webhook");
});
