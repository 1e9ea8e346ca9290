import { expect, test } from "vitest";

import { decodedSubject, textOf } from "./message.ts";

const mail = [
  "Subject: =?utf-8?q?[FIRING:1]_GpuHot_85_=C2=B0C?=",
  "Content-Type: multipart/alternative;  boundary=edge",
  "",
  "--edge",
  "Content-Transfer-Encoding: quoted-printable",
  "Content-Type: text/html; charset=UTF-8",
  "",
  "<head><style>p { color: red }</style></head><p>alertname =3D GpuHot</p><p>85 =C2=",
  "=B0C</p>",
  "--edge--",
  "",
].join("\r\n");

test("subject and text are read as a person would read them", () => {
  expect(decodedSubject(mail)).toBe("[FIRING:1] GpuHot 85 °C");
  expect(textOf(mail)).toBe("alertname = GpuHot 85 °C");
});

test("a plain mail is its body; a folded subject is one line", () => {
  const plain = "Subject: one\r\n two\r\nFrom: a@b\r\n\r\nhello\r\n";
  expect([decodedSubject(plain), textOf(plain)]).toEqual(["one two", "hello"]);
});
