/** Everything a hub knows about who may do what, opened and closed together. */
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
  /** What new passwords cost; the usual where it is not given. */
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

/** While true, nobody is let in: not by token, user or link. */
export const isAccessDamaged = ({ tokens, accounts, shares }: AccessState): boolean =>
  tokens.isDamaged || accounts.isDamaged || shares.isDamaged;

/** Reads what the command line changed. */
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
