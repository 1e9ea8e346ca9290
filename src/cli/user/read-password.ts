/**
 * Reads a password from the user or a script: typed twice on a terminal without echo, from a file, or from standard input.
 * Never from the command line, which every user of the machine can list.
 */
import { readFileSync } from "node:fs";
import { GpulseError, systemCode } from "../../base/error.ts";

export interface PasswordPrompt {
  readonly stdin: NodeJS.ReadStream;
  readonly stderr: NodeJS.WritableStream;
}

const maxBytes = 8_192;

export async function readPassword(
  given: string | undefined,
  name: string,
  { stdin, stderr }: PasswordPrompt,
): Promise<string> {
  if (given !== undefined) return fromFile(given);
  if (!stdin.isTTY) return firstLine(await readAll(stdin));
  const first = await typed(`Password of ${name}: `, stdin, stderr);
  const second = await typed("Repeat the password: ", stdin, stderr);
  if (first !== second)
    throw new GpulseError("PASSWORD", "The passwords differ. Run the command again.");
  return first;
}

function fromFile(given: string): string {
  if (!given.startsWith("file:"))
    throw new GpulseError(
      "PASSWORD",
      "--password takes file:PATH. A password on the command line would be visible in the list of processes.",
    );
  const file = given.slice("file:".length);
  try {
    return firstLine(readFileSync(file, "utf8"));
  } catch (thrown) {
    throw new GpulseError(
      "PASSWORD",
      `The password file ${file} cannot be read (${systemCode(thrown) ?? "error"}).`,
      { cause: thrown },
    );
  }
}

const firstLine = (text: string): string => text.split(/\r?\n/, 1)[0] ?? "";

async function readAll(stdin: NodeJS.ReadStream): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of stdin) {
    const chunk = Buffer.from(part as Uint8Array);
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new GpulseError(
        "PASSWORD",
        "Standard input is too long for a password. Pass a file of one line.",
      );
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString("utf8");
}

const [interrupt, endOfText, erase, backspace] = ["\u0003", "\u0004", "\u007f", "\b"];

/** Shows no echo, not even the length. */
async function typed(
  question: string,
  stdin: NodeJS.ReadStream,
  stderr: NodeJS.WritableStream,
): Promise<string> {
  stderr.write(question);
  stdin.setRawMode(true);
  stdin.setEncoding("utf8");
  stdin.resume();
  try {
    return await new Promise<string>((resolve, reject) => {
      let text = "";
      const take = (data: string): void => {
        for (const character of data) {
          if (character === "\r" || character === "\n" || character === endOfText) {
            stdin.off("data", take);
            return resolve(text);
          }
          if (character === interrupt) {
            stdin.off("data", take);
            return reject(new GpulseError("PASSWORD", "Nothing was changed."));
          }
          if (character === erase || character === backspace)
            text = Array.from(text).slice(0, -1).join("");
          else if (character >= " ") text += character;
        }
        return undefined;
      };
      stdin.on("data", take);
    });
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write("\n");
  }
}
