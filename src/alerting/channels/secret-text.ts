/** A secret, given inline or in a file that may change at run time. Only the sending code can read it. */
import { formatError } from "../../base/error.ts";
import { NotifyError } from "../route/notification.ts";
import { ReloadingFile } from "../../net/http/reloading-file.ts";
import type { Secret } from "../../net/http/secret.ts";
import type { SecretRedactor } from "./secret-redactor.ts";

export class SecretText {
  readonly #value: Secret | undefined;
  readonly #file: ReloadingFile | undefined;
  readonly #what: string;
  readonly #hidden: SecretRedactor;

  /** `what` names the secret in errors: "the password". */
  constructor(from: Secret | { readonly file: string }, what: string, hidden: SecretRedactor) {
    this.#value = "file" in from ? undefined : from;
    this.#file = "file" in from ? new ReloadingFile(from.file, what) : undefined;
    this.#what = what;
    this.#hidden = hidden;
  }

  /** @throws NotifyError, retryable: a file that is being replaced appears again. */
  async read(): Promise<string> {
    const text = this.#value === undefined ? await this.#readFile() : this.#value.reveal();
    this.#hidden.add(text);
    return text;
  }

  /** Reads the secret as a URL to post to. */
  async readUrl(): Promise<string> {
    const text = await this.read();
    this.#hidden.addUrl(text);
    if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text))
      throw new NotifyError(`${this.#what} is not a URL that begins with http:// or https://`, {
        retryable: this.#file !== undefined,
      });
    return text;
  }

  async #readFile(): Promise<string> {
    let text: string;
    try {
      text = ((await this.#file?.text()) ?? "").trim();
    } catch (thrown) {
      throw new NotifyError(formatError(thrown), { retryable: true });
    }
    if (text === "")
      throw new NotifyError(`the file ${this.#file?.path ?? ""} with ${this.#what} is empty`, {
        retryable: true,
      });
    return text;
  }
}
