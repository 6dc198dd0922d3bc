import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { makeTempDir } from "../../../test/support/temp-dir.ts";
import { gatherPictures, removePictures, type GatherRequest } from "./gather.ts";
import { pictureExtension } from "./kind.ts";

const PNG = Buffer.from("\x89PNG\r\n\x1a\nrest", "latin1");
const JPEG = Buffer.from("\xff\xd8\xff\xe0rest", "latin1");

/** Files by reference; what isn't there is another host's, and an Error is thrown. */
function request(
  folder: string,
  files: Readonly<Record<string, Uint8Array | Error>>,
  more: Partial<GatherRequest> = {},
): GatherRequest {
  const names = Object.keys(files);
  return {
    description: names.map((name) => `![](${name})`).join("\n"),
    maxCount: 5,
    maxBytes: 100,
    folder: join(folder, "run-1"),
    async fetch(reference) {
      const file = files[reference];
      if (file instanceof Error) throw file;
      return file ?? null;
    },
    clock: new ManualClock(),
    signal: new AbortController().signal,
    ...more,
  };
}

describe("gathering the pictures of a description", () => {
  it("keeps each as a private file named by its kind, in order, and says which come along", async () => {
    await using dir = await makeTempDir();
    const pictures = await gatherPictures(request(dir.path, { "a.txt": PNG, "b.png": JPEG }));
    expect(pictures.paths).toEqual([join(dir.path, "run-1", "1.png"), join(dir.path, "run-1", "2.jpg")]);
    expect(pictures.paths.map((path) => readFileSync(path))).toEqual([PNG, JPEG]);
    expect(pictures.paths.map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600]);
    expect(statSync(join(dir.path, "run-1")).mode & 0o777).toBe(0o700);
    expect(pictures.problems).toEqual([]);
    expect(pictures.note).toBe(
      "These pictures of the description come with this message, in this order:\n1. a.txt\n2. b.png",
    );
    await pictures.remove();
    await pictures.remove();
    expect(readdirSync(dir.path)).toEqual([]);
  });

  it("goes on past what can't be had, and says why", async () => {
    await using dir = await makeTempDir();
    const files = {
      "gone.png": new Error("it is gone"),
      "page.png": Buffer.from("<html>"),
      "large.png": Buffer.concat([PNG, Buffer.alloc(100)]),
      "good.png": PNG,
    };
    const { paths, note, problems } = await gatherPictures(request(dir.path, files));
    expect(paths).toEqual([join(dir.path, "run-1", "1.png")]);
    expect(problems).toEqual([
      "gone.png: it is gone",
      "page.png: it is no PNG, JPEG, GIF or WebP picture",
      "large.png: it has more bytes than codex.images.max_bytes (100) allows",
    ]);
    expect(note).toMatch(/1\. good\.png\nThese pictures .* could not be given to you:\n- gone\.png: it is gone\n/);
  });

  it("passes over other hosts without a word, and makes no folder for nothing", async () => {
    await using dir = await makeTempDir();
    const other = { description: "![](https://elsewhere.example/x.png)" };
    const pictures = await gatherPictures(request(dir.path, {}, other));
    expect(pictures).toMatchObject({ paths: [], note: null, problems: [] });
    expect(readdirSync(dir.path)).toEqual([]);
  });

  it("takes no more than the settings allow, failures included", async () => {
    await using dir = await makeTempDir();
    const asked: string[] = [];
    const fetch = async (reference: string): Promise<Uint8Array> => {
      asked.push(reference);
      if (reference === "2") throw new Error("no");
      return PNG;
    };
    const description = "![](1) ![](2) ![](3) ![](4)";
    const { paths, problems } = await gatherPictures(request(dir.path, {}, { description, fetch, maxCount: 3 }));
    expect(asked).toEqual(["1", "2", "3"]);
    expect(paths).toHaveLength(2);
    expect(problems.at(-1)).toBe("more pictures than codex.images.max_count (3) allows; the rest was left out");
    const none = await gatherPictures(request(dir.path, {}, { description, fetch, maxCount: 0 }));
    expect(none).toMatchObject({ paths: [], note: null });
    expect(asked).toHaveLength(3);
  });

  it("ends when it takes too long, and when the run does", async () => {
    await using dir = await makeTempDir();
    const clock = new ManualClock();
    const started = Promise.withResolvers<void>();
    const fetch: GatherRequest["fetch"] = (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
        started.resolve();
      });
    const gathering = gatherPictures(request(dir.path, {}, { description: "![](1) ![](2)", fetch, clock }));
    await started.promise;
    await clock.advance(30_000);
    const { problems } = await gathering;
    expect(problems).toEqual(["1: the pictures took longer than 30 s", "2: the pictures took longer than 30 s"]);
    expect(clock.armedCount()).toBe(0);
    const signal = AbortSignal.abort(new Error("run ended"));
    expect((await gatherPictures(request(dir.path, { "1": PNG }, { signal }))).problems).toEqual(["1: run ended"]);
  });

  it("shows a reference as one short line, whatever it is", async () => {
    await using dir = await makeTempDir();
    const reference = `a\u0007${"b".repeat(900)}`;
    const { problems } = await gatherPictures(request(dir.path, { [reference]: new Error("no") }));
    expect(problems[0]).toMatch(/^a b+…: no$/);
    expect(problems[0]?.length).toBeLessThan(210);
  });
});

it("removing pictures that aren't there is no failure", async () => {
  await using dir = await makeTempDir();
  await removePictures(join(dir.path, "none"));
  expect(existsSync(join(dir.path, "none"))).toBe(false);
});

describe("the kind of a picture", () => {
  it.each([
    [PNG, "png"],
    [JPEG, "jpg"],
    [Buffer.from("GIF89a.."), "gif"],
    [Buffer.from("GIF87a.."), "gif"],
    [Buffer.from("RIFF\0\0\0\0WEBPVP8 "), "webp"],
    [Buffer.from("RIFF\0\0\0\0WAVEfmt "), null],
    [Buffer.from("<svg xmlns="), null],
    [Buffer.from(""), null],
  ])("is read from its bytes: %#", (bytes, kind) => {
    expect(pictureExtension(bytes)).toBe(kind);
    expect(pictureExtension(Buffer.concat([Buffer.from("xx"), bytes]).subarray(2))).toBe(kind);
  });
});
