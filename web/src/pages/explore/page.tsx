/** Not built yet: one query from the address, drawn. */
import { QueryChart } from "../../chart/query-chart.tsx";
import { Param, text } from "../../view-state/param.ts";

const expr = new Param("expr", text, "push");

export function Page() {
  const query = expr.value === "" ? "gpu_power_watts" : expr.value;
  return (
    <QueryChart
      title={query}
      family="power"
      unit="watts"
      colourBy="gpu"
      queries={[{ query, label: ({ gpu, host }) => `${host ?? ""} #${gpu ?? ""}` }]}
    />
  );
}
