import { expect, test } from "vitest";
import { signedHeaders } from "./sigv4.ts";

/** Amazon's own example of the algorithm. */
const example = {
  method: "GET",
  url: "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08",
  headers: { "content-type": "application/x-www-form-urlencoded; charset=utf-8" },
  body: "",
  region: "us-east-1",
  service: "iam",
  nowMs: Date.UTC(2015, 7, 30, 12, 36),
};
const credentials = {
  accessKey: "AKIDEXAMPLE",
  secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
};

test("the signature of Amazon's example comes out", () => {
  expect(signedHeaders(example, credentials)["authorization"]).toBe(
    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
  );
});

test("a session's token is sent and signed", () => {
  const headers = signedHeaders(example, { ...credentials, sessionToken: "t0k3n" });
  expect(headers["x-amz-security-token"]).toBe("t0k3n");
  expect(headers["authorization"]).toContain("host;x-amz-date;x-amz-security-token");
});
