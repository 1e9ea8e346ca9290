/** Access control of the hub from its settings: tokens, TLS and users, and the refusal to start unprotected on a network. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import path from "node:path";
import { closeAccess, openAccess } from "../../access/open.ts";
import { Tokens } from "../../access/tokens.ts";
import { Users } from "../../access/users.ts";
import type { CommandIo } from "../../cli/command/io.ts";
import type { Settings } from "../../cli/command/settings.ts";
import { GpulseError } from "../../base/error.ts";
import { WebListener } from "../../net/http/web-listener.ts";
import type { HubAccess } from "../auth/authenticator.ts";
import { collectAccess, RefusalCounts } from "../auth/self-metrics.ts";
import { isLoopback } from "../guard.ts";
import { type Log, silentLog } from "../../base/log.ts";
import type { CollectMetrics } from "../../model/self-frames.ts";

export interface HubAccessControl {
  readonly access: HubAccess;
  readonly selfMetrics: CollectMetrics;
  close(): void;
}

export function openHubAccessControl(
  settings: Settings,
  listener: WebListener,
  log: Log,
): HubAccessControl {
  const loopback = isLoopback(settings.listen.host);
  const { oidc, sessionTimes = {} } = settings.access;
  const state = openAccess({ dataDir: settings.dataDir, log, random: randomBytes, sessionTimes });
  const refused = new RefusalCounts();
  return {
    selfMetrics: (put) => collectAccess(put, refused, listener.certificateExpiresMs),
    access: {
      ...state,
      users: () => listener.users,
      openReads: loopback && !settings.access.always,
      openWithoutTokens: (loopback && !settings.access.always) || settings.insecure,
      secure: listener.secure || settings.access.behindProxy,
      behindProxy: settings.access.behindProxy,
      random: randomBytes,
      refused,
      ...(oidc === undefined ? {} : { oidc }),
    },
    close: () => closeAccess(state),
  };
}

/** Checked before anything is opened: beyond loopback the hub needs authentication and encryption. */
export async function requireNetworkAuth(settings: Settings, io: CommandIo): Promise<void> {
  const { host } = settings.listen;
  if (isLoopback(host) || settings.insecure) return;
  const listener = await WebListener.open(settings.web, io.env, silentLog);
  const known =
    listener.users.any ||
    settings.access.oidc !== undefined ||
    anyToken(settings.dataDir) ||
    anyUser(settings.dataDir);
  const sealed = listener.secure || settings.access.behindProxy;
  if (known && sealed) return;
  const data = settings.dataDir === "gpulse-data" ? "" : ` --data ${settings.dataDir}`;
  const steps = [
    ...(known ? [] : [`run gpulse token add NAME --scope read${data}`]),
    ...(sealed
      ? []
      : ["give --tls-cert FILE and --tls-key FILE (or --behind-proxy where a proxy does TLS)"]),
  ];
  const lacks = [...(known ? [] : ["no token"]), ...(sealed ? [] : ["no TLS"])].join(" and ");
  throw new GpulseError(
    "OPEN_TO_NETWORK",
    `Listening on ${host} opens gpulse to the network, and there is ${lacks}: ${steps.join(", and ")}. ` +
      "Or keep --host 127.0.0.1, or pass --insecure on a trusted network.",
  );
}

function anyToken(dataDir: string): boolean {
  if (!existsSync(path.join(dataDir, "access", "tokens.state"))) return false;
  const tokens = new Tokens({ dataDir, log: silentLog });
  try {
    return tokens.anyLive(Date.now());
  } finally {
    tokens.close();
  }
}

function anyUser(dataDir: string): boolean {
  if (!existsSync(path.join(dataDir, "access", "users.state"))) return false;
  const users = new Users({ dataDir, log: silentLog, random: randomBytes });
  try {
    return users.anyLive;
  } finally {
    users.close();
  }
}
