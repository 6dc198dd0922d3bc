/** Finds the comments of a ticket's Markdown body, and makes text safe to put among them. */

/** Half-open character range `[start, end)` of a section, its heading line included. */
export interface Section {
  readonly start: number;
  readonly end: number;
}

/** The comments section, if there is one, and the code fence that is still open where the body ends. */
export interface BodyLayout {
  readonly comments: Section | null;
  /** Such as "```"; a section added behind an open fence would be code, so it has to be closed first. */
  readonly openFence: string | null;
}

const LINE = /[^\r\n]*(?:\r\n|\r|\n|$)/g;
const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const COMMENTS_HEADING = /^ {0,3}##[ \t]+comments[ \t]*(?:#+[ \t]*)?$/i;
const SECTION_HEADING = /^ {0,3}#{1,2}(?:[ \t]|$)/;

/** Control characters that neither a person nor a model writes on purpose; tab and line feed stay. */
// oxlint-disable-next-line no-control-regex -- these are exactly the characters that are to go
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** The fence that is open after `line`, given the one that was open before it. */
function nextFence(open: string | null, line: string): string | null {
  const match = FENCE.exec(line);
  const marker = match?.[1];
  const rest = match?.[2] ?? "";
  if (marker === undefined) return open;
  if (open === null) return marker.startsWith("`") && rest.includes("`") ? null : marker;
  const closes = marker[0] === open[0] && marker.length >= open.length && rest.trim() === "";
  return closes ? null : open;
}

/**
 * The first `## Comments` heading outside code fences opens the section; the next heading of the first or second level, or the
 * end, closes it. Only headings of the form `# text` count.
 */
export function layoutOf(body: string): BodyLayout {
  let fence: string | null = null;
  let start: number | null = null;
  let end: number | null = null;
  for (const match of body.matchAll(LINE)) {
    const line = match[0].replace(/[\r\n]+$/, "");
    const wasOpen = fence !== null;
    fence = nextFence(fence, line);
    if (wasOpen || fence !== null) continue;
    if (start === null && COMMENTS_HEADING.test(line)) start = match.index;
    else if (start !== null && end === null && SECTION_HEADING.test(line)) end = match.index;
  }
  return { comments: start === null ? null : { start, end: end ?? body.length }, openFence: fence };
}

/** Line feeds only, without control characters, trimmed at the end. */
export function plainText(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(CONTROL, "").trimEnd();
}

/** One line, trimmed, every run of white space a single blank. */
export function oneLine(text: string): string {
  return plainText(text).replace(/\s+/g, " ").trim();
}

/** As a block quote: whatever the text holds, no heading, fence or HTML block in it reaches outside the quote. */
export function quote(text: string): string {
  return plainText(text)
    .split("\n")
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n");
}

/** Undoes {@link quote}; text in which a line isn't quoted is given back as it is. */
export function unquote(text: string): string {
  const lines = text.split("\n");
  return lines.every((line) => line.startsWith(">")) ? lines.map((line) => line.replace(/^> ?/, "")).join("\n") : text;
}

/** A description that can't pass for a ticket's comments and leaves no code fence open. */
export function safeDescription(text: string): string {
  let fence: string | null = null;
  const lines = plainText(text)
    .split("\n")
    .map((line) => {
      const wasOpen = fence !== null;
      fence = nextFence(fence, line);
      return !wasOpen && COMMENTS_HEADING.test(line) ? line.replace("##", "\\##") : line;
    });
  if (fence !== null) lines.push(fence);
  return lines.join("\n");
}
