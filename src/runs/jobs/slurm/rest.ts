/**
 * Accesses Slurm through slurmrestd, for a hub on a machine without Slurm's commands and configuration. Its responses have the
 * form of `squeue --json` and `sacct --json`. Uses only GET; nothing is ever changed in Slurm.
 */
import { readFileSync } from "node:fs";
import { formatError } from "../../../base/error.ts";
import { describeError } from "../../../formats/slurm/document.ts";
import { asList, asNumber, asRecord, asText } from "../../../formats/slurm/value.ts";
import { type SlurmClient, SlurmUnavailableError } from "./commands.ts";

export interface SlurmRestOptions {
  /** `http://controller:6820`. */
  readonly url: string;
  /** For `X-SLURM-USER-NAME`. */
  readonly user?: string | undefined;
  /** Contains the JSON Web Token (`scontrol token`); read for every request, since tokens expire. */
  readonly tokenFile?: string | undefined;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
}

interface RestResponse {
  readonly status: number;
  readonly body: string;
}

/** The API versions of Slurm 22.05 to 25.05: a daemon serves the last two or three. */
const versions = ["v0.0.43", "v0.0.42", "v0.0.41", "v0.0.40", "v0.0.39", "v0.0.38"];
const parallelQuestions = 8;
/** Accounting of 22.05 calls an empty result an error, ESLURM_REST_EMPTY_RESULT. */
const nothingFound = 9003;

export class SlurmRest implements SlurmClient {
  readonly #options: Required<Pick<SlurmRestOptions, "timeoutMs" | "maxBytes">> & SlurmRestOptions;
  #version: string | undefined;

  constructor(options: SlurmRestOptions) {
    this.#options = { timeoutMs: 30_000, maxBytes: 256 * 2 ** 20, ...options };
  }

  /** Newer releases return the name in every response; otherwise accounting lists the only cluster. */
  async cluster(): Promise<string | undefined> {
    const version = await this.#agree();
    const ping = asRecord(parse(await this.#get(`/slurm/${version}/ping`)));
    const named = asText(asRecord(asRecord(ping?.["meta"])?.["slurm"])?.["cluster"]);
    if (named !== undefined && named !== "") return named;
    const listed = await this.#ask(`/slurmdb/${version}/clusters`);
    // Without accounting there is one unnamed cluster.
    if (listed.status !== 200) return undefined;
    const names = asList(asRecord(parse(listed.body))?.["clusters"]).map((cluster) =>
      asText(asRecord(cluster)?.["name"]),
    );
    return names.length === 1 ? names[0] : undefined;
  }

  async queue(): Promise<string> {
    return this.#get(`/slurm/${await this.#agree()}/jobs`);
  }

  async recordsOf(ids: readonly string[]): Promise<string> {
    const version = await this.#agree();
    const queue = [...ids];
    const jobs: unknown[] = [];
    const askNext = async (): Promise<void> => {
      for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
        jobs.push(...(await this.#records(`/slurmdb/${version}/job/${encodeURIComponent(id)}`)));
      }
    };
    await Promise.all(Array.from({ length: parallelQuestions }, askNext));
    return JSON.stringify({ jobs });
  }

  async endedSince(timeMs: number): Promise<string> {
    const since = `uts${Math.floor(timeMs / 1_000)}`;
    const path = `/slurmdb/${await this.#agree()}/jobs?start_time=${since}`;
    return JSON.stringify({ jobs: await this.#records(path) });
  }

  /** The jobs of an accounting response, which has status 200 also where slurmdbd refused the query. */
  async #records(path: string): Promise<readonly unknown[]> {
    const document = asRecord(parse(await this.#get(path)));
    const jobs = asList(document?.["jobs"]);
    const errors = asList(document?.["errors"]).filter(
      (error) => asNumber(asRecord(error)?.["error_number"]) !== nothingFound,
    );
    if (jobs.length === 0 && errors.length > 0)
      throw this.#unavailable(`answered ${path} with ${describeErrors(errors)}`);
    return jobs;
  }

  /** The newest version that both sides support. */
  async #agree(): Promise<string> {
    if (this.#version !== undefined) return this.#version;
    for (const version of versions) {
      const path = `/slurm/${version}/ping`;
      const response = await this.#ask(path);
      if (response.status === 200) return (this.#version = version);
      // slurmrestd answers 404 to versions that it does not know.
      if (response.status !== 404) throw this.#refused(path, response);
    }
    throw this.#unavailable(`serves none of ${versions.join(", ")}`);
  }

  async #get(path: string): Promise<string> {
    const response = await this.#ask(path);
    if (response.status === 200) return response.body;
    // After an update of Slurm another version may be served.
    if (response.status === 404) this.#version = undefined;
    throw this.#refused(path, response);
  }

  #refused(path: string, { status, body }: RestResponse): SlurmUnavailableError {
    if (status === 401 || status === 403) return this.#unavailable(refusal);
    const errors = describeErrors(asList(asRecord(parse(body))?.["errors"]));
    // The controller's refusal of a token is an "Unspecified error" with status 500.
    const hint = status === 500 ? `; ${expiry}` : "";
    return this.#unavailable(
      `answered ${path} with HTTP ${status}${errors === "" ? "" : ` (${errors})`}${hint}`,
    );
  }

  async #ask(path: string): Promise<RestResponse> {
    const { url, timeoutMs, maxBytes } = this.#options;
    try {
      const response = await fetch(url.replace(/\/+$/, "") + path, {
        headers: this.#headers(),
        redirect: "error",
        signal: AbortSignal.timeout(timeoutMs),
      });
      const parts: Uint8Array[] = [];
      let bytes = 0;
      const body: AsyncIterable<Uint8Array> | readonly Uint8Array[] = response.body ?? [];
      for await (const part of body) {
        bytes += part.length;
        if (bytes > maxBytes) throw new Error(`more than ${maxBytes / 2 ** 20} MiB`);
        parts.push(part);
      }
      return { status: response.status, body: Buffer.concat(parts).toString("utf8") };
    } catch (thrown) {
      if (thrown instanceof SlurmUnavailableError) throw thrown;
      const isLate = thrown instanceof Error && thrown.name === "TimeoutError";
      throw this.#unavailable(
        isLate ? `did not answer within ${timeoutMs / 1_000} s` : `failed: ${formatError(thrown)}`,
      );
    }
  }

  #headers(): Record<string, string> {
    const { user, tokenFile } = this.#options;
    const headers: Record<string, string> = { accept: "application/json" };
    if (user !== undefined) headers["X-SLURM-USER-NAME"] = user;
    if (tokenFile === undefined) return headers;
    try {
      // `scontrol token` prints SLURM_JWT=TOKEN.
      const token = readFileSync(tokenFile, "utf8")
        .trim()
        .replace(/^SLURM_JWT=/, "");
      headers["X-SLURM-USER-TOKEN"] = token;
    } catch (thrown) {
      throw this.#unavailable(`has no token: ${formatError(thrown)}`);
    }
    return headers;
  }

  #unavailable(reason: string): SlurmUnavailableError {
    return new SlurmUnavailableError(`slurmrestd at ${this.#options.url} ${reason}`);
  }
}

const refusal = "refused the token: check slurm_user and slurm_token_file (scontrol token)";
const expiry = "if slurmctld runs, the token has expired or is not its own: check slurm_token_file";

const describeErrors = (errors: readonly unknown[]): string =>
  errors.map(describeError).join("; ").slice(0, 500);

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
