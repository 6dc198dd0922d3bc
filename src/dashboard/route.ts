/** Which view an address names, and the addresses of views: all of them live in the fragment, which never reaches a server. */

export type Route =
  | { readonly view: "overview" }
  | { readonly view: "tickets" }
  | { readonly view: "history" }
  | { readonly view: "issue"; readonly identifier: string };

/** What a fragment means; one that names nothing is the overview. */
export function parseRoute(fragment: string): Route {
  const [first, second] = fragment.replace(/^#?\/?/, "").split("/");
  if (first === "tickets" || first === "history") return { view: first };
  const identifier = first === "issues" ? decode(second ?? "") : "";
  return identifier === "" ? { view: "overview" } : { view: "issue", identifier };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign that somebody typed.
    return text;
  }
}

/** The page of an issue. */
export function issueHref(identifier: string): string {
  return `#/issues/${encodeURIComponent(identifier)}`;
}

/** The token of an address such as the one that the daemon prints (`#token=...`); null where there is none. */
export function tokenOf(fragment: string): string | null {
  const token = new URLSearchParams(fragment.replace(/^#\/?/, "")).get("token");
  return token === null || token === "" ? null : token;
}
