/** Requests of one client to a hub, from an address of its choice: every 127.x.y.z is this machine. */
import http from "node:http";

export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

export interface Sending {
  readonly method?: string;
  readonly path: string;
  readonly body?: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class HubClient {
  readonly #port: number;
  readonly #token: string;
  readonly #address: string;
  readonly #agent: http.Agent;

  constructor(port: number, token: string, address = "127.0.0.1", maxSockets = Infinity) {
    this.#port = port;
    this.#token = token;
    this.#address = address;
    this.#agent = new http.Agent({ keepAlive: true, maxSockets });
  }

  /** Status 0 if the connection ended without a response. */
  send({ method, path, body, headers }: Sending): Promise<Answer> {
    return new Promise((resolve) => {
      const fail = (): void => resolve({ status: 0, headers: {}, body: "" });
      const request = this.#request(method ?? (body === undefined ? "GET" : "POST"), path, headers);
      request.on("error", fail).on("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("error", fail).on("end", () => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
        });
      });
      request.end(body);
    });
  }

  /** Opens a live page; `text` grows while it is open. */
  async live(): Promise<{ readonly status: number; text(): string; close(): void }> {
    const request = this.#request("GET", "/api/live", {});
    const response = await new Promise<http.IncomingMessage | undefined>((resolve) =>
      request
        .on("response", resolve)
        .on("error", () => resolve(undefined))
        .end(),
    );
    let text = "";
    response
      ?.setEncoding("utf8")
      .on("data", (part: string) => (text = (text + part).slice(-4_096)));
    response?.on("error", () => undefined);
    return {
      status: response?.statusCode ?? 0,
      text: () => text,
      close: () => request.destroy(),
    };
  }

  close(): void {
    this.#agent.destroy();
  }

  #request(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): http.ClientRequest {
    return http.request({
      host: "127.0.0.1",
      port: this.#port,
      localAddress: this.#address,
      method,
      path,
      agent: this.#agent,
      headers: {
        ...(this.#token === "" ? {} : { authorization: `Bearer ${this.#token}` }),
        ...headers,
      },
    });
  }
}
