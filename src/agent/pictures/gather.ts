/** Fetches the pictures of a description for one run: files of the daemon's own, outside the workspace, gone with the run. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage } from "../../domain/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { pictureExtension } from "./kind.ts";
import { pictureReferences } from "./references.ts";

/** All pictures of a run together; a turn must not wait long for them. */
const GATHER_TIMEOUT_MS = 30_000;
/** References that are looked at, those of other hosts included. */
const MAX_REFERENCES = 100;
const REFERENCE_CHARS = 200;

export interface GatherRequest {
  readonly description: string | null;
  /** `codex.images`. */
  readonly maxCount: number;
  readonly maxBytes: number;
  /** This run's; made with the first picture. The agent reads the files itself, outside its sandbox (measured on app-server 0.171.0). */
  readonly folder: string;
  /** The bytes; null where `reference` isn't the tracker's own, and so nothing that is fetched. */
  fetch(
    reference: string,
    options: { readonly maxBytes: number; readonly signal: AbortSignal },
  ): Promise<Uint8Array | null>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** What a turn is given of them. */
export interface Pictures {
  /** Absolute, in the order of the description. */
  readonly paths: readonly string[];
  /** For the prompt: which pictures come along, and which don't and why. Null where there is nothing to say. */
  readonly note: string | null;
  /** One line for each that could not be had. */
  readonly problems: readonly string[];
  /** Once no turn needs them any more. Never rejects. */
  remove(): Promise<void>;
}

/** Never rejects: a picture that can't be had is a problem to tell, and no reason to fail a run. */
export async function gatherPictures(request: GatherRequest): Promise<Pictures> {
  const { description, maxCount, clock, signal, folder } = request;
  const remove = (): Promise<void> => removePictures(folder);
  if (description === null || maxCount === 0) return { paths: [], note: null, problems: [], remove };
  const timeout = new AbortController();
  const timer = clock.setTimer(GATHER_TIMEOUT_MS, () =>
    timeout.abort(new Error(`the pictures took longer than ${GATHER_TIMEOUT_MS / 1000} s`)),
  );
  const given: { readonly reference: string; readonly path: string }[] = [];
  const problems: string[] = [];
  try {
    const within = { ...request, signal: AbortSignal.any([signal, timeout.signal]) };
    for (const reference of pictureReferences(description).slice(0, MAX_REFERENCES)) {
      if (given.length + problems.length >= maxCount) {
        problems.push(`more pictures than codex.images.max_count (${maxCount}) allows; the rest was left out`);
        break;
      }
      const short = shown(reference);
      try {
        const path = await keep(reference, join(folder, String(given.length + 1)), within);
        if (path !== null) given.push({ reference: short, path });
      } catch (error) {
        problems.push(`${short}: ${errorMessage(error)}`);
      }
    }
  } finally {
    timer.cancel();
  }
  return { paths: given.map(({ path }) => path), note: noteOf(given, problems), problems, remove };
}

/** Removes what {@link gatherPictures} put into a folder, or what a killed daemon left there. Never rejects. */
export async function removePictures(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true }).catch(() => undefined);
}

async function keep(reference: string, stem: string, request: GatherRequest): Promise<string | null> {
  const { folder, maxBytes, signal, fetch } = request;
  signal.throwIfAborted();
  const bytes = await fetch(reference, { maxBytes, signal });
  if (bytes === null) return null;
  if (bytes.byteLength > maxBytes) {
    throw new Error(`it has more bytes than codex.images.max_bytes (${maxBytes}) allows`);
  }
  const extension = pictureExtension(bytes);
  if (extension === null) throw new Error("it is no PNG, JPEG, GIF or WebP picture");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = `${stem}.${extension}`;
  await writeFile(path, bytes, { mode: 0o600, flag: "wx" });
  return path;
}

/** One line, bounded: it stands in a prompt and in a log. */
function shown(reference: string): string {
  const line = reference.replace(/\p{Cc}/gu, " ");
  return line.length <= REFERENCE_CHARS ? line : `${line.slice(0, REFERENCE_CHARS - 1)}…`;
}

function noteOf(given: readonly { readonly reference: string }[], problems: readonly string[]): string | null {
  const lines = [
    ...(given.length === 0 ? [] : ["These pictures of the description come with this message, in this order:"]),
    ...given.map(({ reference }, index) => `${index + 1}. ${reference}`),
    ...(problems.length === 0 ? [] : ["These pictures of the description could not be given to you:"]),
    ...problems.map((problem) => `- ${problem}`),
  ];
  return lines.length === 0 ? null : lines.join("\n");
}
