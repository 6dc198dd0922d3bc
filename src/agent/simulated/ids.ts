/** Identifiers as the app-server makes them. */
import { randomBytes } from "node:crypto";

/** A version 7 UUID: the time in front, so ids sort by age. */
export function uuidV7(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** A short id with a prefix, like `call_4f0c21`. */
export function shortId(prefix: string): string {
  return `${prefix}_${randomBytes(6).toString("hex")}`;
}
