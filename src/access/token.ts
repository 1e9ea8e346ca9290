/**
 * The text of a token and its stored digest. The text is shown once, at creation, and is in no file and no log.
 *
 *   gpulse_SCOPE_SECRET, SECRET being 32 random bytes in base64url (43 characters)
 *
 * Stored is the SHA-256 of the whole text. A slow hash would protect a guessable secret; 256 random bits cannot be guessed at
 * any speed, and a hub checks the token of every pushed frame.
 */
import { createHash } from "node:crypto";
import { Secret } from "../net/http/secret.ts";
import type { Scope } from "./scope.ts";

const tokenSecretBytes = 32;
/** Valid token names. */
export const tokenName = /^[\w.@-]{1,100}$/;
const pattern = /^gpulse_(?:push|read|admin)_[\w-]{43}$/;

export function makeToken(scope: Scope, random: (bytes: number) => Buffer): Secret {
  return new Secret(`gpulse_${scope}_${random(tokenSecretBytes).toString("base64url")}`);
}

/** False for text that cannot be a gpulse token: a password, or a token of another program. */
export const looksLikeToken = (text: string): boolean => pattern.test(text);

/** Returns why a text created elsewhere is not acceptable as a token of this scope; undefined if it is. */
export function findTokenProblem(text: string, scope: Scope): string | undefined {
  if (!looksLikeToken(text)) return "is not in our form";
  if (!text.startsWith(`gpulse_${scope}_`)) return "is of another scope";
  const secret = Buffer.from(text.slice(`gpulse_${scope}_`.length), "base64url");
  // Rejects typed or sequential text: 32 random bytes contain about 30 distinct values, and hardly ever fewer than 20.
  return secret.length === tokenSecretBytes && new Set(secret).size >= 16
    ? undefined
    : "is not random enough";
}

export const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");
