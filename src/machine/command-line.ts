/** Masks secrets, addresses and machine names in the kernel's command line and returns the other arguments unchanged. Pure. */

const masked = "***";

/** Names of secrets, in arguments and in the query of a URL. */
const secretName =
  /(?:pass(?:word|wd|phrase)?|pwd|secret|token|credentials?|auth(?:key|orization)?|(?:api|access|private|secret|encryption|join|enrol+ment)[-_.]?key|psk|signature|sig)$/i;
/** A name `key` is a secret; `rd.luks.key` and `keymap` are not. */
const plainKey = /^key$/i;
/** Arguments that identify the machine without affecting how it runs. */
const identityName = /^(?:systemd\.machine_id|(?:systemd\.)?hostname)$/i;
/** Values recognisable as a credential under any name: tokens of GitHub, GitLab, AWS, Slack, Vault, Docker, a JWT, a private key. */
const secretValue =
  /^(?:gh[pousr]_|github_pat_|glpat-|AKIA|ASIA|xox[abprs]-|hv[sb]\.|dckr_pat_|sk-|eyJ[\w-]+\.eyJ|-----BEGIN )/;

/** Splits as the kernel does: spaces inside double quotes belong to the argument. */
export function parseCommandLine(text: string): string[] {
  return text.trim().match(/(?:"[^"]*"|[^\s"]|")+/g) ?? [];
}

export function maskCommandLine(text: string): string {
  return parseCommandLine(text).map(maskArgument).join(" ");
}

function maskArgument(argument: string): string {
  const at = argument.indexOf("=");
  // `"name=a value"` is quoted as a whole.
  const name = (at === -1 ? "" : argument.slice(0, at)).replace(/^"/, "");
  return at === -1
    ? maskValue("", argument)
    : `${argument.slice(0, at + 1)}${maskValue(name, argument.slice(at + 1))}`;
}

/** IPv4 and MAC addresses; the latter also in PXE's form, `01-52-54-00-12-34-56`. */
const address =
  /(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])|(?<![\w-])(?:[0-9a-f]{2}[:-]){5,6}[0-9a-f]{2}(?![\w:-])/gi;

/** A setting's value; masked if its name or the value itself marks a secret. */
export function maskValue(name: string, value: string): string {
  if (value !== "" && (secretName.test(name) || plainKey.test(name) || identityName.test(name)))
    return masked;
  if (secretValue.test(value.replace(/^"/, ""))) return masked;
  return (
    value
      .replace(address, masked)
      // A URL's user and password, and its whole query, which may contain a signature.
      .replace(/(\w:\/\/)[^/\s"@]+@/g, `$1${masked}@`)
      .replace(/(\w:\/\/[^?\s"]*\?)[^\s"]+/g, `$1${masked}`)
      // Settings inside a value: `ds=nocloud;password=x`, `opts=a=1,token=x`, `dyndbg="… key=x"`.
      .replace(
        /([\w.-]+)([=:])([^\s;,&"]+)/g,
        (all: string, inner: string, mark: string, secret: string) =>
          (secretName.test(inner) && !(mark === ":" && secret.startsWith("//"))) ||
          secretValue.test(secret)
            ? `${inner}${mark}${masked}`
            : all,
      )
  );
}
