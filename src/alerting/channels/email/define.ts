/** `email_configs`: mail over SMTP, with STARTTLS on 587 or implicit TLS on 465. */
import * as v from "valibot";
import { defineChannel } from "../channel.ts";
import {
  advanced,
  secret,
  secretFile,
  sendResolved,
  template,
  templateMap,
  tlsConfig,
  words,
  yesOrNo,
} from "../fields.ts";

const smarthost = /^(?:\[([^\]]+)\]|([^:\s[\]]*)):(\d{1,5})$/;
const loopback = /^(localhost|127(\.\d+){3}|::1)$/;

export const email = defineChannel({
  name: "email",
  title: "Email",
  summary: "Mail by SMTP, as HTML and as text.",
  rate: { burst: 20, perMinute: 60 },
  example: `to: ops@example.com
from: gpulse@example.com
smarthost: smtp.example.com:587
auth_username: gpulse@example.com
auth_password: $EMAIL_PASS`,
  options: v.strictObject({
    send_resolved: sendResolved(false),
    to: v.optional(template("Who gets it: one address or several, with commas between.")),
    from: v.optional(template("The sender; without it, smtp_from of the global section.")),
    smarthost: v.optional(words("The mail server, as host:port; without it, smtp_smarthost.")),
    auth_username: v.optional(words("The user name at the mail server.")),
    auth_password: v.optional(secret("The password; $NAME takes it from the environment.")),
    auth_password_file: v.optional(secretFile("A file with the password.")),
    auth_secret: v.optional(secret("The secret for CRAM-MD5, in place of a password.")),
    auth_secret_file: v.optional(secretFile("A file with that secret.")),
    auth_identity: v.optional(words("The identity for PLAIN, where it is not the user name.")),
    require_tls: v.optional(
      yesOrNo(
        "Whether to send nothing without TLS; true unless the global section says otherwise.",
      ),
    ),
    force_implicit_tls: v.optional(
      yesOrNo("TLS from the first byte; without it, on port 465 only."),
    ),
    tls_config: tlsConfig(),
    hello: v.optional(words("The name to send in EHLO.")),
    headers: templateMap("Headers beside or in place of Subject, From and To."),
    html: v.optional(
      template("The message as HTML; empty for none."),
      '{{ template "email.default.html" . }}',
    ),
    text: v.optional(
      template("The message as text; empty for none."),
      '{{ template "email.default.text" . }}',
    ),
    threading: v.optional(
      advanced(
        v.strictObject({
          enabled: v.optional(yesOrNo("Whether mails about one group form one thread."), false),
          thread_by_date: v.optional(
            words("`daily` for a new thread every day, `none` for one for good."),
            "",
          ),
        }),
        "Whether mails about one group of alerts form one thread.",
      ),
    ),
  }),
  prepare: (given, setting) => {
    const { global, wrong } = setting;
    const to = setting.address("to", given.to);
    const from = setting.address("from", given.from, "smtp_from");
    const host = setting.address("smarthost", given.smarthost, "smtp_smarthost");
    const user = setting.address("auth_username", given.auth_username, "smtp_auth_username");
    if (to.text === "") to.wrong("an email needs an address to go to.");
    if (from.text === "") from.wrong("an email needs a sender: give from, or global smtp_from.");
    const [, bracketed, bare, portText = ""] = smarthost.exec(host.text) ?? [];
    const port = Number(portText);
    if (port < 1 || port > 65_535 || portText === "")
      host.wrong(
        `the mail server is written as host:port, such as smtp.example.com:587${host.text === "" ? "; give it here or as global smtp_smarthost" : ""}.`,
      );
    const hostName = bracketed ?? (bare === undefined || bare === "" ? "localhost" : bare);
    const headers = normalHeaders(given.headers, wrong);
    if (given.threading?.enabled === true) {
      for (const name of ["References", "In-Reply-To"])
        if (headers.has(name))
          wrong("threading", `a thread sets the header ${name}: leave it out of headers.`);
      if (!["none", "daily"].includes(given.threading.thread_by_date))
        wrong("threading", "thread_by_date must be daily or none.");
    }
    const own = given.auth_password ?? given.auth_password_file;
    const ownSecret = given.auth_secret ?? given.auth_secret_file;
    const username = user.text;
    const password = setting.secret(
      "auth_password",
      "the password",
      own === undefined ? global.smtp_auth_password : given.auth_password,
      own === undefined ? global.smtp_auth_password_file : given.auth_password_file,
    );
    const cramSecret = setting.secret(
      "auth_secret",
      "the secret",
      ownSecret === undefined ? global.smtp_auth_secret : given.auth_secret,
      ownSecret === undefined ? global.smtp_auth_secret_file : given.auth_secret_file,
    );
    const implicitTls = given.force_implicit_tls ?? global.smtp_force_implicit_tls ?? port === 465;
    const requireTls = given.require_tls ?? global.smtp_require_tls;
    const mayShowPassword = implicitTls || requireTls || loopback.test(hostName);
    if (username !== "" && password === undefined && cramSecret === undefined)
      setting.warn(
        "auth_username",
        "without a password there is no login: give auth_password or auth_password_file.",
      );
    if (username !== "" && !mayShowPassword)
      setting.warn(
        "require_tls",
        `the password would be sent to ${hostName} in plain text: nothing is sent until TLS is required.`,
      );
    return {
      to: to.text,
      from: from.text,
      host: hostName,
      port,
      hello: given.hello ?? global.smtp_hello,
      implicitTls,
      requireTls,
      mayShowPassword,
      tls: setting.tls("tls_config", given.tls_config ?? global.smtp_tls_config),
      auth:
        username === ""
          ? undefined
          : {
              username,
              identity: given.auth_identity ?? global.smtp_auth_identity ?? "",
              password,
              cramSecret,
            },
      headers,
      html: given.html,
      text: given.text,
      threading:
        given.threading?.enabled === true
          ? given.threading.thread_by_date === "daily"
            ? "daily"
            : "one"
          : "none",
    } as const;
  },
  open: async (ready, context) => (await import("./send.ts")).openEmail(ready, context),
});

/** Normalizes the spelling of header names, since `subject` and `Subject` are one header. */
function normalHeaders(
  headers: Readonly<Record<string, string>>,
  wrong: (key: string, sentence: string) => void,
): ReadonlyMap<string, string> {
  const normal = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    const usual = name.toLowerCase().replace(/(^|-)[a-z]/g, (part) => part.toUpperCase());
    if (normal.has(usual)) wrong("headers", `duplicate header ${usual}.`);
    if (!/^[!-9;-~]+$/.test(name)) wrong("headers", "invalid header name.");
    normal.set(usual, value);
  }
  return normal;
}
