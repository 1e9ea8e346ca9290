/** The state of boards in the address: the board, the values of its variables, and the display mode. */
import { computed } from "@preact/signals";
import type { Board } from "../../../../src/view/board/board.ts";
import { page, query, setParams } from "../../view-state/address.ts";
import { list, oneOf, optional, Param } from "../../view-state/param.ts";

export const boardId = new Param("board", optional, "push");
/** `tv` fills the screen and cycles, `embed` is for a frame on another page. */
export const mode = new Param("mode", oneOf(["normal", "tv", "embed"]), "push");
/** The boards of TV mode; the current one if empty. */
export const playlist = new Param("playlist", list);

const CYCLE_SECONDS = 20;
export const cycleSeconds = new Param<number>("cycle", {
  read: (given) => {
    const seconds = Number(given ?? CYCLE_SECONDS);
    return seconds >= 3 && seconds <= 3_600 ? seconds : CYCLE_SECONDS;
  },
  write: (seconds) => (seconds === CYCLE_SECONDS ? undefined : String(seconds)),
});

/** True if the header is hidden. */
export const isBare = computed(() => page.value === "boards" && mode.value !== "normal");

/** The selected values by variable; an absent variable matches everything. */
export function chosenValues({ variables }: Pick<Board, "variables">): ReadonlyMap<string, string> {
  return new Map(
    variables.flatMap(({ name }) => {
      const value = query.value.get(`var-${name}`);
      return value === null ? [] : [[name, value] as const];
    }),
  );
}

/** The selected values as parameters of an address. */
export const choices = (board: Pick<Board, "variables">): Readonly<Record<string, string>> =>
  Object.fromEntries([...chosenValues(board)].map(([name, value]) => [`var-${name}`, value]));

export const choose = (name: string, value: string | undefined): void =>
  setParams({ [`var-${name}`]: value }, "replace");
