/** Text of tickets and agents as it may be shown on a terminal: nothing in it moves the cursor, changes colours or turns the reading direction. */

/** Blanks of any kind, so that one value stays on one line. */
const BLANKS = /[\s\u2028\u2029]+/gu;
/** Controls (C0, DEL, C1), and the invisible characters that reorder or hide what stands around them. */
const UNSAFE = /[\p{Cc}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]/gu;

/** One line of harmless text: blanks are single spaces, what a terminal would obey is shown as its code. */
export function plainLine(text: string): string {
  return text.toWellFormed().replaceAll(BLANKS, " ").trim().replaceAll(UNSAFE, showCode);
}

function showCode(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return hex.length <= 2 ? `\\x${hex.padStart(2, "0")}` : `\\u${hex.padStart(4, "0")}`;
}

/** JSON on one line. JSON itself leaves DEL, C1 controls and direction marks as they are; here they are escaped like the others. */
export function plainJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(UNSAFE, (character) => {
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
  });
}

let segmenter: Intl.Segmenter | null = null;

/** Letters with their marks. The segmenter takes 18 ms to make, which every start would pay for nothing. */
function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return segmenter.segment(text);
}

/** Two columns each on nearly every terminal: East Asian letters and pictures. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/u;
/** Marks that sit on the letter before them. */
const NO_WIDTH = /^\p{Mark}+$/u;

function graphemeWidth(grapheme: string): number {
  if (NO_WIDTH.test(grapheme)) return 0;
  return WIDE.test(grapheme) || grapheme.includes("\ufe0f") ? 2 : 1;
}

/** Columns that the text takes. */
export function textWidth(text: string): number {
  let width = 0;
  for (const { segment } of graphemesOf(text)) width += graphemeWidth(segment);
  return width;
}

/** Cuts the text to at most `width` columns; a cut ends in an ellipsis. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let kept = "";
  let used = 0;
  for (const { segment } of graphemesOf(text)) {
    const next = used + graphemeWidth(segment);
    if (next > width - 1) break;
    kept += segment;
    used = next;
  }
  return `${kept}…`;
}
