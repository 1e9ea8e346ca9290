/** A hub without GPUs: how to add the first machine, and whether it has reported yet. */
import { hubAddress } from "../../live/hub-address.ts";
import { me } from "../../query/me.ts";
import { useJson } from "../../query/use-fetch.ts";
import { CopyText } from "../../ui/copy.tsx";
import { hrefOf } from "../../view-state/address.ts";
import type { AgentsResponse } from "../system/api.ts";

const EVERY_MS = 2_000;

export function Onboarding() {
  const { url: remoteUrl, loopback } = hubAddress();
  // The machine's host name would not reach a loopback listener.
  const url = loopback ? location.origin : remoteUrl;
  const needsToken = me.value?.asked === true;
  const agents = useJson<AgentsResponse>("api/agents", EVERY_MS).value?.agents ?? [];
  return (
    <section class="onboarding" aria-labelledby="onboarding">
      <h2 id="onboarding" class="page-title">
        Add your first machine
      </h2>
      <p class="unit">The hub is running. No GPU has reported to it yet.</p>
      <ol>
        <li>
          On a machine with GPUs, start the agent:
          <CopyText
            label="the line that adds a machine"
            text={`npx gpulse agent --push ${url}${needsToken ? " --token TOKEN" : ""}`}
          />
          {needsToken && (
            <p class="unit">
              Create the token under{" "}
              <a href={hrefOf("system", { tab: "machines" })}>System, Machines</a>.
            </p>
          )}
          {loopback && (
            <p class="unit">
              This hub listens on loopback: only agents on this machine reach it. Start it with{" "}
              <code>--host 0.0.0.0</code> and TLS, or behind a proxy, for others.
            </p>
          )}
        </li>
        <li>
          Or let the hub scrape exporters that already run (gpulse, DCGM, AMD), listed as in
          Prometheus:
          <CopyText
            label="the line that scrapes an exporter"
            text="gpulse hub --prometheus-config prometheus.yml"
          />
        </li>
        <li>
          No GPU at hand? Simulate eight:
          <CopyText label="the line that simulates GPUs" text="npx gpulse up --source sim:8" />
        </li>
      </ol>
      <p class="waits" role="status">
        {agents.length === 0
          ? "Waiting for the first agent…"
          : `${agents.map(({ host }) => host).join(", ")} ${agents.length === 1 ? "reports" : "report"}, without a GPU so far. Run gpulse doctor there: it shows what each source found.`}
      </p>
    </section>
  );
}
