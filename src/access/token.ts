/**
 * The text of a token, and what is kept of it. The text is shown once, when it is made, and is in no file and no log of ours.
 *
 *   gpulse_SCOPE_SECRET, SECRET being 32 random bytes in base64url (43 characters)
 *
 * At rest there is the SHA-256 of the whole text. A slow hash would guard a guessable secret; 256 random bits cannot be
 * guessed at any speed, and a hub judges every pushed frame.
 */
import { createHash } from "node:crypto";
import { Secret } from "../net/http/secret.ts";
import type { Scope } from "./scope.ts";

export const tokenSecretBytes = 32;
/** What a token may be called. */
export const tokenName = /^[\w.@-]{1,100}$/;
const pattern = /^gpulse_(?:push|read|admin)_[\w-]{43}$/;

export function makeToken(scope: Scope, random: (bytes: number) => Buffer): Secret {
  return new Secret(`gpulse_${scope}_${random(tokenSecretBytes).toString("base64url")}`);
}

/** False for what cannot be one of ours: a password, or a token of another program. */
export const looksLikeToken = (text: string): boolean => pattern.test(text);

/** Why a text made elsewhere will not do as a token of this scope; undefined where it will. */
export function findTokenProblem(text: string, scope: Scope): string | undefined {
  if (!looksLikeToken(text)) return "is not in our form";
  if (!text.startsWith(`gpulse_${scope}_`)) return "is of another scope";
  const secret = Buffer.from(text.slice(`gpulse_${scope}_`.length), "base64url");
  // What a person types or a counter writes: 32 random bytes have about 30 different values, and hardly ever under 20.
  return secret.length === tokenSecretBytes && new Set(secret).size >= 16
    ? undefined
    : "is not random enough";
}

export const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");
