/** What kind of picture bytes are, by the bytes themselves: names and headers are others' words. */

/** The extension of a kind that models take; null for anything else. */
export function pictureExtension(bytes: Uint8Array): "png" | "jpg" | "gif" | "webp" | null {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 12)).toString("latin1");
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "png";
  if (head.startsWith("\xff\xd8\xff")) return "jpg";
  if (head.startsWith("GIF87a") || head.startsWith("GIF89a")) return "gif";
  return head.startsWith("RIFF") && head.slice(8, 12) === "WEBP" ? "webp" : null;
}
