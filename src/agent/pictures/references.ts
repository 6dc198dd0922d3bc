/** The pictures that a description names, as Markdown or as an HTML tag. */

/**
 * `![alt](address "title")`, `![alt](<address with blanks>)` and `<img src="address">`. Every part is bounded, so that no text takes long.
 */
const PICTURE =
  /!\[[^\]\n]{0,500}\]\(\s{0,10}(?:<([^<>\n]{1,2000})>|([^\s<>()]{1,2000}))|<img\b[^<>]{0,1000}?\ssrc\s{0,5}=\s{0,5}["']([^"'\n]{1,2000})["']/gi;

/** Addresses in the order of the text, each once. Untrusted: nothing has been checked about them. */
export function pictureReferences(description: string): readonly string[] {
  const references = [...description.matchAll(PICTURE)].map(([, framed, bare, tag]) =>
    (framed ?? bare ?? tag?.replaceAll("&amp;", "&") ?? "").trim(),
  );
  return [...new Set(references)].filter((reference) => reference !== "");
}
