/** Checks of the caller that several routes share. */
import type { FastifyRequest } from "fastify";
import { isLoopback } from "../guard.ts";
import { type HubAccess, wasForwarded } from "./authenticator.ts";

/** True for a caller without credentials that may be anyone on the network. */
export const isUnknownCaller = (
  { access: who, headers }: FastifyRequest,
  { openReads }: Pick<HubAccess, "openReads">,
): boolean => who === null || (who.by === "nobody" && (!openReads || wasForwarded(headers)));

/**
 * True for a caller without a token or login. Every local account reaches a loopback port, so routes that expose the hub
 * owner's files, environment or an admin credential refuse such a caller even on loopback.
 */
export const isAnonymous = ({ access: caller }: FastifyRequest): boolean =>
  (caller?.by ?? "nobody") === "nobody";

/** True unless the client is certainly on the hub's own machine. */
export const isFromNetwork = (
  { headers, ip }: FastifyRequest,
  { behindProxy }: Pick<HubAccess, "behindProxy">,
): boolean =>
  behindProxy === true || wasForwarded(headers) || !isLoopback(ip.replace(/^::ffff:/i, ""));

export const callerName = ({ access }: FastifyRequest): string =>
  access === null || access.by === "nobody" ? "the owner, on loopback" : access.name;

export const isoTime = (ms: number | undefined): string | null =>
  ms === undefined ? null : new Date(ms).toISOString();
