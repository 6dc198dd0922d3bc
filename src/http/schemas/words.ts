/** Words that every schema of the API is made of. */
import { z } from "zod";

/** A moment. */
export const instant = z.iso.datetime().describe("RFC 3339, UTC");
/** Any text. */
export const text = z.string();
