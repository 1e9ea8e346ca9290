/** The themes: the colour of each role. Each is readable with red-green colour blindness; none relies on colour alone. */
import type { TextRole } from "../text/row.ts";

export type Rgb = readonly [red: number, green: number, blue: number];

export interface Theme {
  readonly name: string;
  readonly says: string;
  /** A role without a colour uses the terminal's default. */
  readonly colours: Readonly<Partial<Record<TextRole, Rgb>>>;
}

type Ramp = readonly [Rgb, Rgb, Rgb, Rgb, Rgb, Rgb, Rgb, Rgb];

const ramp = (colours: Ramp): Partial<Record<TextRole, Rgb>> =>
  Object.fromEntries(colours.map((colour, at) => [`heat${at}`, colour]));

const viridisRamp: Ramp = [
  [72, 52, 120],
  [64, 80, 138],
  [49, 104, 142],
  [38, 130, 142],
  [31, 158, 137],
  [74, 193, 109],
  [160, 218, 57],
  [253, 231, 37],
];

/** On a white background the ramp is reversed: dark means a high value. */
const lightRamp: Ramp = [
  [140, 175, 200],
  [110, 155, 195],
  [80, 135, 185],
  [50, 115, 170],
  [30, 95, 150],
  [20, 75, 130],
  [12, 55, 105],
  [5, 35, 80],
];

const cividisRamp: Ramp = [
  [28, 68, 120],
  [62, 84, 110],
  [87, 99, 109],
  [112, 115, 117],
  [138, 133, 120],
  [167, 151, 114],
  [199, 173, 99],
  [254, 232, 56],
];

/** Okabe and Ito's palette: eight colours that are distinguishable with every common colour blindness. */
const okabe: Theme = {
  name: "okabe",
  says: "Okabe and Ito's colours on a dark terminal",
  colours: {
    dim: [128, 128, 128],
    head: [154, 160, 166],
    util: [86, 180, 233],
    memory: [204, 121, 167],
    power: [230, 159, 0],
    temperature: [0, 178, 130],
    good: [0, 178, 130],
    note: [86, 180, 233],
    warn: [240, 228, 66],
    bad: [255, 110, 40],
    ...ramp(viridisRamp),
  },
};

const light: Theme = {
  name: "light",
  says: "the same hues, darker, for a light terminal",
  colours: {
    dim: [118, 118, 118],
    head: [90, 90, 90],
    util: [0, 96, 155],
    memory: [150, 50, 110],
    power: [150, 85, 0],
    temperature: [0, 105, 80],
    good: [0, 105, 80],
    note: [0, 96, 155],
    warn: [130, 95, 0],
    bad: [190, 45, 0],
    ...ramp(lightRamp),
  },
};

const cividis: Theme = {
  name: "cividis",
  says: "blue to yellow alone",
  colours: {
    dim: [120, 125, 130],
    head: [150, 155, 160],
    util: [110, 160, 220],
    memory: [150, 165, 190],
    power: [220, 195, 110],
    temperature: [190, 180, 140],
    good: [110, 160, 220],
    note: [150, 165, 190],
    warn: [240, 215, 90],
    bad: [255, 235, 60],
    ...ramp(cividisRamp),
  },
};

const contrast: Theme = {
  name: "contrast",
  says: "bright colours for a poor display",
  colours: {
    dim: [190, 190, 190],
    head: [255, 255, 255],
    util: [0, 255, 255],
    memory: [255, 130, 255],
    power: [255, 215, 0],
    temperature: [120, 255, 200],
    good: [120, 255, 200],
    note: [0, 255, 255],
    warn: [255, 255, 0],
    bad: [255, 140, 60],
    ...ramp(viridisRamp),
  },
};

const mono: Theme = { name: "mono", says: "no colour, weight alone", colours: {} };

export const themes: readonly Theme[] = [okabe, light, cividis, contrast, mono];

export const findTheme = (name: string): Theme | undefined =>
  themes.find((theme) => theme.name === name);
