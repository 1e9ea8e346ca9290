/** The exports of every chart: a picture, a table, a file for programs. */
import { Menu } from "../ui/menu.tsx";
import { toast } from "../ui/toast.ts";
import { csvOf, fileName, jsonOf, save } from "./export.ts";
import type { ChartData, ChartStyle } from "./model.ts";
import { pictureOf } from "./picture.ts";

export interface ChartMenuProps {
  readonly look: ChartStyle;
  readonly data: ChartData | undefined;
  readonly canvas: () => HTMLCanvasElement | undefined;
}

export function ChartMenu({ look, data, canvas }: ChartMenuProps) {
  const disabled = data === undefined || data.lines.length === 0;
  const give = (text: string, type: string, ending: string): void => {
    if (data !== undefined)
      save(new Blob([text], { type }), fileName(look.title, data.window, ending));
  };
  const picture = async (): Promise<void> => {
    const plot = canvas();
    if (data === undefined || plot === undefined) return;
    save(await pictureOf(look, data, plot), fileName(look.title, data.window, "png"));
  };
  return (
    <Menu
      label={`Export ${look.title}`}
      class="quiet chart-more"
      items={[
        {
          label: "PNG picture",
          disabled,
          run: () => void picture().catch((thrown: unknown) => toast(String(thrown), "bad")),
        },
        {
          label: "CSV table",
          disabled,
          run: () => data !== undefined && give(csvOf(look, data), "text/csv", "csv"),
        },
        {
          label: "JSON",
          disabled,
          run: () => data !== undefined && give(jsonOf(look, data), "application/json", "json"),
        },
      ]}
    >
      <span aria-hidden="true">⋯</span>
    </Menu>
  );
}
