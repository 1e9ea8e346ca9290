/** A file's current text, re-read only after a change. Errors never quote the content. */
import { readFile, stat } from "node:fs/promises";
import { systemCode } from "../../base/error.ts";
import { HttpRequestError } from "./request.ts";

const maxBytes = 1024 * 1024;

export class ReloadingFile {
  readonly path: string;
  readonly #what: string;
  #version = "";
  #text = "";

  /** `what` names the content in errors: "the password". */
  constructor(path: string, what: string) {
    this.path = path;
    this.#what = what;
  }

  async text(): Promise<string> {
    try {
      const { mtimeMs, size, ino } = await stat(this.path);
      const version = `${mtimeMs} ${size} ${ino}`;
      if (version === this.#version) return this.#text;
      if (size > maxBytes)
        throw new HttpRequestError(
          "connection",
          `the file ${this.path} is too large for ${this.#what}`,
        );
      this.#text = await readFile(this.path, "utf8");
      this.#version = version;
      return this.#text;
    } catch (thrown) {
      if (thrown instanceof HttpRequestError) throw thrown;
      const why =
        systemCode(thrown) === "ENOENT"
          ? "does not exist"
          : `cannot be read (${systemCode(thrown) ?? "error"})`;
      throw new HttpRequestError("connection", `the file ${this.path} with ${this.#what} ${why}`, {
        cause: thrown,
      });
    }
  }
}
