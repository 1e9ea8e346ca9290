/** Shown if no server is scraped: how to add one, for each program. */
import { serversWithoutMetrics, serverTables } from "../../../../src/formats/servers/list.ts";

const example = `scrape_configs:
  - job_name: llm
    scrape_interval: 5s
    static_configs:
      - targets: ["gpu-node-1:8000"]
        labels: { host: gpu-node-1 }`;

export function NoServers() {
  return (
    <div class="serving none">
      <h2>No LLM server is scraped.</h2>
      <p>
        Name the metrics address of your server in a <code>prometheus.yml</code>, and start the hub
        with <code>--prometheus-config prometheus.yml</code>. The label <code>host</code> is the
        name of the machine as its agent reports it: it joins the server with its GPUs.
      </p>
      <pre>{example}</pre>
      <dl>
        {serverTables.map(({ program, setup }) => (
          <div key={program}>
            <dt>{program}</dt>
            <dd>{setup}</dd>
          </div>
        ))}
        {serversWithoutMetrics.map(({ program, reason }) => (
          <div key={program}>
            <dt>{program}</dt>
            <dd>{reason}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
