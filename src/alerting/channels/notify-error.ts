/** What went wrong while sending, as the router wants to know it: whether to try again, and when. Its words hold no secret. */
import { sayError } from "../../base/error.ts";
import { NotifyTrouble } from "../route/notification.ts";
import { HttpTrouble } from "../../net/http/request.ts";
import { TemplateError } from "../../formats/template/lex.ts";
import type { Hidden } from "./secret-redactor.ts";

/**
 * No cause goes along: it may hold the address, which may be a secret. What is none of ours is tried again, since a
 * notification told twice is better than one not told.
 */
export function hiddenTrouble(thrown: unknown, hidden: Hidden): NotifyTrouble {
  const sentence = plain(hidden.hide(sayError(thrown)));
  if (thrown instanceof NotifyTrouble) {
    const { retryable, retryAfterMs } = thrown;
    return new NotifyTrouble(sentence, {
      retryable,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  }
  if (thrown instanceof TemplateError)
    return new NotifyTrouble(`a template could not be filled in: ${sentence}`, {
      retryable: false,
    });
  if (thrown instanceof HttpTrouble)
    return new NotifyTrouble(sentence, {
      retryable: !["too-large", "encoding", "redirect"].includes(thrown.kind),
    });
  return new NotifyTrouble(sentence, { retryable: true });
}

/** One line of ordinary characters, not too long. */
export const plain = (text: string, longest = 400): string => {
  const line = text.replace(/[\p{Cc}\s]+/gu, " ").trim();
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
};
