// Reads a program's settings from its environment. All errors are reported at once, each with the expected form; an invalid value
// must never be replaced silently by the default.

export class SettingsError extends Error {}

export type Environment = Readonly<Record<string, string | undefined>>;

interface Range {
  readonly least?: number;
  readonly most?: number;
}

export class Reader {
  readonly problems: string[] = [];
  readonly #env: Environment;

  constructor(env: Environment) {
    this.#env = env;
  }

  text(name: string, fallback: string): string {
    return this.#given(name) ?? fallback;
  }

  /** Undefined if it is not set: the feature stays disabled. */
  optionalUrl(name: string): string | undefined {
    const given = this.#given(name);
    return given === undefined ? undefined : this.#url(name, given);
  }

  url(name: string, fallback: string): string {
    return this.#url(name, this.#given(name) ?? fallback);
  }

  number(name: string, fallback: number, range: Range = {}): number {
    const given = this.#given(name);
    if (given === undefined) return fallback;
    const value = Number(given);
    const { least = 0, most = Number.MAX_SAFE_INTEGER } = range;
    if (Number.isFinite(value) && value >= least && value <= most) return value;
    this.problems.push(`${name} must be a number from ${least} to ${most}, not ${given}`);
    return fallback;
  }

  integer(name: string, fallback: number, range: Range = {}): number {
    const value = this.number(name, fallback, range);
    if (Number.isInteger(value)) return value;
    this.problems.push(`${name} must be a whole number, not ${value}`);
    return fallback;
  }

  #given(name: string): string | undefined {
    const value = this.#env[name]?.trim();
    return value === undefined || value === "" ? undefined : value;
  }

  #url(name: string, given: string): string {
    if (URL.canParse(given)) return given.replace(/\/+$/, "");
    // The value is not reported, since a URL may contain a password.
    this.problems.push(`${name} must be an address such as http://127.0.0.1:8000`);
    return given;
  }
}

export function readSettings<T>(env: Environment, read: (from: Reader) => T): T {
  const reader = new Reader(env);
  const settings = read(reader);
  if (reader.problems.length > 0) throw new SettingsError(reader.problems.join("; "));
  return settings;
}

export interface ListenSettings {
  readonly host: string;
  readonly port: number;
  readonly tracesUrl: string | undefined;
  readonly logLevel: string;
}

/** The settings of every program: its listen address (loopback unless HOST is set), the trace destination, the log level. */
export function listenSettings(from: Reader, defaultPort: number): ListenSettings {
  return {
    host: from.text("HOST", "127.0.0.1"),
    port: from.integer("PORT", defaultPort, { most: 65_535 }),
    tracesUrl: from.optionalUrl("OTEL_EXPORTER_OTLP_ENDPOINT"),
    logLevel: from.text("LOG_LEVEL", "info").toLowerCase(),
  };
}
