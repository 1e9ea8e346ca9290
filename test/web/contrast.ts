/** Measures the contrast of rendered text, by the formula of WCAG 2.2. The source is a string, because it runs in the browser. */

/** Returns the lowest contrast among the visible text of the matching elements, with that text. */
export const lowestContrast = (selector: string): string => `(() => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const paint = canvas.getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = colour;
    paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([r, g, b]) => [r, g, b]
    .map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const background = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255];
  };
  let lowest = { ratio: 21, text: "" };
  for (const element of document.querySelectorAll(${JSON.stringify(selector)})) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
    if (!own || element.getClientRects().length === 0 || element.closest(".unseen") !== null) continue;
    const [text, behind] = [luminance(rgba(getComputedStyle(element).color)), luminance(background(element))];
    const ratio = (Math.max(text, behind) + 0.05) / (Math.min(text, behind) + 0.05);
    if (ratio < lowest.ratio) lowest = { ratio, text: element.textContent.trim() };
  }
  return lowest;
})()`;
