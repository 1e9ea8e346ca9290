/** Turns a failed send into a `NotifyError` for the router: whether to retry, and when. Its message contains no secret. */
import { formatError } from "../../base/error.ts";
import { NotifyError } from "../route/notification.ts";
import { HttpRequestError } from "../../net/http/request.ts";
import { TemplateError } from "../../formats/template/lex.ts";
import type { SecretRedactor } from "./secret-redactor.ts";

/**
 * No `cause` is attached: it may contain the address, which may be a secret. Unknown errors are retried, since a duplicate
 * notification is better than a lost one.
 */
export function toNotifyError(thrown: unknown, hidden: SecretRedactor): NotifyError {
  const sentence = toSingleLine(hidden.hide(formatError(thrown)));
  if (thrown instanceof NotifyError) {
    const { retryable, retryAfterMs } = thrown;
    return new NotifyError(sentence, {
      retryable,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  }
  if (thrown instanceof TemplateError)
    return new NotifyError(`a template could not be filled in: ${sentence}`, {
      retryable: false,
    });
  if (thrown instanceof HttpRequestError)
    return new NotifyError(sentence, {
      retryable: !["too-large", "encoding", "redirect"].includes(thrown.kind),
    });
  return new NotifyError(sentence, { retryable: true });
}

/** One line of printable characters, at most `longest`. */
export const toSingleLine = (text: string, longest = 400): string => {
  const line = text.replace(/[\p{Cc}\s]+/gu, " ").trim();
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
};
