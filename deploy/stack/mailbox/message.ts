// Decodes the subject and the text of a raw mail: folded headers, encoded words (RFC 2047), bodies in quoted-printable or base64.
// Sufficient for mails of alerting programs; not a complete mail parser.

export function decodedSubject(source: string): string {
  const header = /^subject:[ \t]*((?:.*)(?:\r?\n[ \t].*)*)/im.exec(source)?.[1] ?? "";
  return header
    .replaceAll(/\?=\s+=\?/g, "?==?")
    .replaceAll(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_, kind: string, text: string) =>
      kind.toLowerCase() === "b"
        ? Buffer.from(text, "base64").toString("utf8")
        : quotedPrintable(text.replaceAll("_", " ")),
    )
    .replaceAll(/\r?\n[ \t]/g, " ")
    .trim();
}

/** The decoded bodies of all parts; HTML tags are removed. */
export function textOf(source: string): string {
  const boundary = /^content-type:[^\n]*(?:\r?\n[ \t][^\n]*)*boundary="?([^"\s;]+)/im.exec(
    source,
  )?.[1];
  const parts = boundary === undefined ? [source] : source.split(`--${boundary}`).slice(1, -1);
  return parts.map(bodyOf).join("\n").trim();
}

function bodyOf(part: string): string {
  const gap = /\r?\n\r?\n/.exec(part.trimStart());
  if (gap === null) return "";
  const [head, body] = [part.trimStart().slice(0, gap.index), part.trimStart().slice(gap.index)];
  const encoding = /^content-transfer-encoding:\s*(\S+)/im.exec(head)?.[1]?.toLowerCase();
  const decoded =
    encoding === "base64"
      ? Buffer.from(body, "base64").toString("utf8")
      : encoding === "quoted-printable"
        ? quotedPrintable(body)
        : body;
  return /^content-type:\s*text\/html/im.test(head) ? withoutMarkup(decoded) : decoded.trim();
}

function quotedPrintable(text: string): string {
  const bytes = text
    .replaceAll(/=\r?\n/g, "")
    .replaceAll(/=([0-9A-F]{2})/gi, (_, hex: string) =>
      String.fromCodePoint(Number.parseInt(hex, 16)),
    );
  // Text without an encoding is ASCII, so every character is one byte.
  return Buffer.from(bytes, "latin1").toString("utf8");
}

function withoutMarkup(html: string): string {
  return html
    .replaceAll(/<(style|script|head)[\s\S]*?<\/\1>/gi, "")
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s*\n\s*/g, "\n")
    .replaceAll(/[ \t]+/g, " ")
    .trim();
}
