/** The cookie in which a browser keeps a user's theme and density: the page writes it, the hub puts its content into the HTML. */

export type ThemePreference = "auto" | "light" | "dark";
export type Density = "comfortable" | "compact";

export interface Preferences {
  readonly theme: ThemePreference;
  readonly density: Density;
}

const NAME = "gpulse_look";

/** `gpulse_look=dark.compact` */
export const formatPreferences = ({ theme, density }: Preferences): string =>
  `${NAME}=${theme}.${density}`;

/** Undefined without the cookie. The result contains nothing but the words above: it is written into HTML. */
export function parsePreferences(cookies: string | undefined): Preferences | undefined {
  for (const part of (cookies ?? "").split(";")) {
    const [name, value = ""] = part.trim().split("=", 2);
    if (name !== NAME) continue;
    const [theme, density] = value.split(".", 2);
    if (
      (theme === "auto" || theme === "light" || theme === "dark") &&
      (density === "comfortable" || density === "compact")
    )
      return { theme, density };
  }
  return undefined;
}
