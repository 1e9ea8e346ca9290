/** The flags and keys of a server's listener: TLS, Prometheus's web configuration file, and which clients of the hub need a token. */
import { type Command, Option } from "commander";
import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { durationMs, flag, text } from "../../config/fields.ts";
import { GpulseError } from "../../base/error.ts";
import type { ServerTls } from "../../net/http/server-tls.ts";
import type { WebListenOptions } from "../../net/http/web-listener.ts";
import type { OidcSettings } from "../../access/oidc.ts";
import type { SessionTimes } from "../../access/sessions.ts";
import { oidcKey, oidcSettings } from "./oidc.ts";
import type { ConfigFile } from "./schema.ts";
import { choice } from "./choice.ts";
import { optionalKey } from "./setting.ts";

export interface WebFlags {
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsClientCa?: string;
  readonly webConfigFile?: string;
  /** The same flag in the spelling of Prometheus exporters. */
  readonly "web.config.file"?: string;
  readonly auth?: string;
  readonly behindProxy?: boolean;
}

/** Which clients need to authenticate. */
export interface AccessSettings {
  /** Also for reads on loopback. */
  readonly always: boolean;
  /** True if a reverse proxy in front terminates TLS. */
  readonly behindProxy: boolean;
  /** The OpenID provider whose users may log in. */
  readonly oidc?: OidcSettings;
  /** Length of login sessions, if set in the file. */
  readonly sessionTimes?: SessionTimes;
}

export function addWebFlags(command: Command): Command {
  return command
    .option(
      "--tls-cert <file>",
      "serve HTTPS with this certificate chain; reloaded when it changes",
    )
    .option("--tls-key <file>", "key of the certificate")
    .option("--tls-client-ca <file>", "accept only clients with a certificate of this CA")
    .option("--web-config-file <file>", "TLS, headers and users in the format of Prometheus")
    .addOption(new Option("--web.config.file <file>").hideHelp());
}

export function addAccessFlags(command: Command): Command {
  return addWebFlags(command)
    .addOption(
      choice(
        "--auth <when>",
        "whether reading on loopback needs a token (auto: no; always: yes)",
        authWhens,
        "auto",
      ),
    )
    .option(
      "--behind-proxy",
      "a proxy terminates TLS: accept plain HTTP with tokens on any address",
    )
    .option("--insecure", "accept plain HTTP on any address, without tokens if none exist");
}

const authWhens = ["auto", "always"] as const;
const authWhen = () => v.picklist(authWhens, "auto or always");

/** Keys of both `agent:` and `hub:`. */
export const webKeys = {
  tls: optionalKey(
    v.strictObject({
      cert: v.pipe(text("a file"), v.description("The certificate chain, PEM.")),
      key: v.pipe(text("a file"), v.description("Its key, PEM.")),
      client_ca: optionalKey(text("a file"), "Accept only clients with a certificate of this CA."),
    }),
    "Serve HTTPS. Files are reloaded when they change.",
  ),
  web_config_file: optionalKey(
    text("a file"),
    "TLS, headers and users in the format of Prometheus's `web.config.file`.",
  ),
};

export const accessKeys = {
  ...webKeys,
  auth: optionalKey(authWhen(), "`auto`: reading on loopback needs no token. `always`: it does."),
  behind_proxy: optionalKey(
    flag(),
    "A proxy terminates TLS: accept plain HTTP with tokens on any address.",
  ),
  oidc: oidcKey,
  sessions: optionalKey(
    v.strictObject({
      length: optionalKey(
        durationMs(60_000, 90 * 86_400_000),
        "Length of a session after the login. Default: 12h.",
      ),
      idle: optionalKey(
        durationMs(60_000, 90 * 86_400_000),
        "Length of a session after the last use; an open page counts as use. Default: 2h.",
      ),
    }),
    "Length of sessions on the page; a shorter time also applies to existing sessions.",
  ),
};

/** The keys of `agent:` or `hub:`. */
type FileKeys = NonNullable<ConfigFile["agent"] | ConfigFile["hub"]>;

export function webSettings(flags: WebFlags, file: FileKeys | undefined): WebListenOptions {
  const configFile = flags.webConfigFile ?? flags["web.config.file"] ?? file?.web_config_file;
  const tls = tlsOf(flags, file);
  if (configFile !== undefined && tls !== undefined)
    throw new GpulseError(
      "USAGE",
      "TLS is configured twice: pass --web-config-file with tls_server_config, or --tls-cert and --tls-key, not both.",
    );
  return defined({ configFile, tls });
}

function tlsOf(flags: WebFlags, file: FileKeys | undefined): ServerTls | undefined {
  const certFile = flags.tlsCert ?? file?.tls?.cert;
  const keyFile = flags.tlsKey ?? file?.tls?.key;
  const clientCaFile = flags.tlsClientCa ?? file?.tls?.client_ca;
  if (certFile === undefined && keyFile === undefined && clientCaFile === undefined)
    return undefined;
  if (certFile === undefined || keyFile === undefined)
    throw new GpulseError(
      "USAGE",
      "TLS needs a certificate and its key: pass both --tls-cert and --tls-key.",
    );
  return {
    certFile,
    keyFile,
    clientAuth: clientCaFile === undefined ? "NoClientCert" : "RequireAndVerifyClientCert",
    ...defined({ clientCaFile }),
  };
}

export function accessSettings(flags: WebFlags, file: ConfigFile["hub"]): AccessSettings {
  const when = flags.auth ?? file?.auth ?? "auto";
  if (!v.is(authWhen(), when))
    throw new GpulseError("USAGE", `--auth must be auto or always, not "${when}".`);
  const { length, idle } = file?.sessions ?? {};
  return {
    always: when === "always",
    behindProxy: flags.behindProxy ?? file?.behind_proxy ?? false,
    sessionTimes: defined({ lengthMs: length, idleMs: idle }),
    ...defined({ oidc: oidcSettings(file?.oidc) }),
  };
}
