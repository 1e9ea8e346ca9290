/** Scrapes as Prometheus does: OpenMetrics first, gzip, one persistent connection. Counts the bytes on the wire. */
import { Agent, request } from "node:http";

export interface ScrapeSize {
  /** Status line, headers and body of the response, as sent. */
  readonly wireBytes: number;
  readonly bodyBytes: number;
}

const accept =
  "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";

export class Scraper {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  scrape(): Promise<ScrapeSize> {
    return new Promise((resolve, reject) => {
      const headers = { accept, "accept-encoding": "gzip" };
      request(this.#url, { agent: this.#agent, headers, timeout: 10_000 }, (answer) => {
        let bodyBytes = 0;
        answer.on("data", (part: Buffer) => (bodyBytes += part.length));
        answer.on("error", reject);
        answer.on("end", () => {
          const headerBytes = answer.rawHeaders.join("").length + answer.rawHeaders.length * 2 + 19;
          if (answer.statusCode === 200) resolve({ wireBytes: bodyBytes + headerBytes, bodyBytes });
          else reject(new Error(`${this.#url} answered ${answer.statusCode}`));
        });
      })
        .on("error", reject)
        .end();
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
