/** Responses to refused clients. Revoked and unknown tokens get the same response; the log tells them apart. */
import type { AuthResult } from "./authenticator.ts";

export function formatRefusal(verdict: Exclude<AuthResult, { ok: true }>): string {
  switch (verdict.why) {
    case "missing":
      return "This hub needs a token: send it as Authorization: Bearer TOKEN, or as the password of basic authentication.";
    case "expired":
      return "This token has expired: create a new one with gpulse token add.";
    case "damaged":
      return "The access files are damaged, so every token, user and link is refused: restore the hub's access folder from a backup, or run gpulse token recover on its machine.";
    case "password":
      return "The user name or password is wrong.";
    case "scope":
      return scopeSentence(verdict);
    case "too-many":
      return "Too many attempts with wrong credentials from this address or for this name: wait a minute.";
    case "unknown":
    case "revoked":
      return "This token is unknown or was revoked: gpulse token list shows the valid ones.";
  }
}

function scopeSentence({ by, scope }: Extract<AuthResult, { why: "scope" }>): string {
  if (by === "share")
    return "A shared view is for reading what it shows: this needs a user or a token.";
  if (by === "token")
    return `A token of scope ${scope} does not allow this: create another with gpulse token add.`;
  return "This needs an administrator: ask one, or log in as one.";
}
