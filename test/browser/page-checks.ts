/** What has to hold for every view: text that can be read, nothing wider than the screen, nothing without a name. */
import type { Page } from "playwright-core";

/** WCAG AA for text of normal size. */
const LEAST_CONTRAST = 4.5;

/** Texts whose colour is too near to what is behind them, with the ratio. */
export async function paleTexts(page: Page): Promise<readonly string[]> {
  return page.evaluate((least) => {
    type Colour = readonly [number, number, number, number];
    function parse(text: string): Colour {
      const numbers = (text.match(/[\d.]+/g) ?? []).map(Number);
      return [numbers[0] ?? 0, numbers[1] ?? 0, numbers[2] ?? 0, numbers[3] ?? 1];
    }
    function behind(element: Element | null): Colour {
      for (let at = element; at !== null; at = at.parentElement) {
        const colour = parse(getComputedStyle(at).backgroundColor);
        if (colour[3] === 1) return colour;
      }
      return [255, 255, 255, 1];
    }
    function luminance([red, green, blue]: Colour): number {
      const [r = 0, g = 0, b = 0] = [red, green, blue].map((value) => {
        const part = value / 255;
        return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    }
    function ratio(one: Colour, other: Colour): number {
      const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
      return (light + 0.05) / (dark + 0.05);
    }
    return [...document.querySelectorAll("body *")].flatMap((element) => {
      const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim() !== "");
      if (!hasText || !element.checkVisibility() || element.matches(":disabled, noscript, noscript *")) return [];
      const contrast = ratio(parse(getComputedStyle(element).color), behind(element));
      return contrast < least ? [`${element.textContent?.slice(0, 40)}: ${contrast.toFixed(2)}`] : [];
    });
  }, LEAST_CONTRAST);
}

/** Elements that stick out of the screen to the right. */
export async function tooWide(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    return [...document.querySelectorAll("body *")]
      .filter((element) => element.getBoundingClientRect().right > width + 1)
      .map((element) => `${element.tagName}.${element.className}: ${element.textContent?.slice(0, 40)}`);
  });
}

/** Controls that a screen reader could not name. */
export async function nameless(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    return [...document.querySelectorAll("a, button, input, textarea, meter, summary, section, nav, dialog")]
      .filter((element) => {
        const labelled = element.getAttribute("aria-labelledby");
        const label =
          labelled === null ? element.getAttribute("aria-label") : document.getElementById(labelled)?.textContent;
        const own = element.matches("a, button, summary") ? element.textContent : "";
        const field =
          element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement
            ? element.labels?.[0]?.textContent
            : "";
        return `${label ?? ""}${own}${field ?? ""}`.trim() === "";
      })
      .map((element) => element.outerHTML.slice(0, 100));
  });
}
