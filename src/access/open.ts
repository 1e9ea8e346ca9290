/** Opens the hub's access state (tokens, users, shares, sessions, audit log) as a unit. */
import type { Log } from "../base/log.ts";
import type { ScryptCost } from "./password.ts";
import { Sessions, type SessionTimes } from "./sessions.ts";
import { Shares } from "./shares.ts";
import { Tokens } from "./tokens.ts";
import { Users } from "./users.ts";

export interface AccessState {
  readonly tokens: Tokens;
  readonly accounts: Users;
  readonly shares: Shares;
  readonly sessions: Sessions;
}

export interface OpenAccessOptions {
  readonly dataDir: string;
  readonly log: Log;
  readonly random: (bytes: number) => Buffer;
  /** Cost of new password hashes; `defaultScryptCost` if absent. */
  readonly cost?: ScryptCost;
  readonly sessionTimes?: SessionTimes;
}

export function openAccess(options: OpenAccessOptions): AccessState {
  return {
    tokens: new Tokens(options),
    accounts: new Users(options),
    shares: new Shares(options),
    sessions: new Sessions(options),
  };
}

/** While true, all tokens, users and share links are refused. */
export const isAccessDamaged = ({ tokens, accounts, shares }: AccessState): boolean =>
  tokens.isDamaged || accounts.isDamaged || shares.isDamaged;

/** Loads changes made by the command line. */
export function refreshAccess({ tokens, accounts, shares, sessions }: AccessState): void {
  tokens.refresh();
  accounts.refresh();
  shares.refresh();
  sessions.refresh();
}

export function closeAccess({ tokens, accounts, shares, sessions }: AccessState): void {
  for (const one of [tokens, accounts, shares]) one.close();
  sessions.shutdown();
}
