/** What went wrong while sending, as the router wants to know it: whether to try again, and when. Its words hold no secret. */
import { formatError } from "../../base/error.ts";
import { NotifyError } from "../route/notification.ts";
import { HttpRequestError } from "../../net/http/request.ts";
import { TemplateError } from "../../formats/template/lex.ts";
import type { SecretRedactor } from "./secret-redactor.ts";

/**
 * No cause goes along: it may hold the address, which may be a secret. What is none of ours is tried again, since a
 * notification reported twice is better than one not reported.
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

/** One line of ordinary characters, not too long. */
export const toSingleLine = (text: string, longest = 400): string => {
  const line = text.replace(/[\p{Cc}\s]+/gu, " ").trim();
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
};
