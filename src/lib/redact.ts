/** Takes secrets out of text and data on their way to a log, a row or a person. */

const MARK = "[redacted]";

/** A shorter value is no secret, and taking it out would blot out ordinary words. */
const MIN_SECRET_CHARS = 4;

/** So much of a longer value's beginning or end is taken out as well: texts are cut to a length, and a cut can fall into a value. */
const PART_CHARS = 12;

/** Names of fields whose value is a credential whatever it looks like. */
const SECRET_KEY =
  /^(?:(?:proxy-)?authorization|(?:set-)?cookie|(?:x-)?api[-_]?key|(?:access|refresh|auth|bearer)?[-_]?token|(?:client[-_]?)?secret|passwd|password)$/i;

/** Credentials that tell themselves by their shape. Each keeps what stands before the secret ($1). */
const SECRET_SHAPES: readonly RegExp[] = [
  // https://user:password@host: git prints the address that it was given. It is looked for by what is rare in a text.
  /(:\/\/)[^\s/@"']{1,500}(?=@)/g,
  /(authorization["']?\s{0,3}[:=]\s{0,3}["']?(?:(?:bearer|basic|token)\s{1,3})?)[^\s"',}]{1,2000}/gi,
  /(\bbearer\s{1,3})[\w.~+/=-]{8,2000}/gi,
  // Keys of Linear and of OpenAI: the agent's own key is not among our settings, but its words can reach a log.
  /(\b)(?:lin_(?:api|oauth)_|sk-)[\w-]{16,500}/g,
];

/** The ways in which a value is written inside other text: as it is, in a URL, and in JSON (also JSON quoted in JSON). */
function writtenForms(value: string): string[] {
  const inJson = JSON.stringify(value).slice(1, -1);
  const inQuotedJson = JSON.stringify(inJson).slice(1, -1);
  return [value, encodeURIComponent(value.toWellFormed()), inJson, inQuotedJson];
}

/** Takes out every piece of `form` that begins with its first characters. */
function withoutBeginnings(text: string, form: string): string {
  const head = form.slice(0, PART_CHARS);
  let clean = text;
  for (let at = clean.indexOf(head); at >= 0; at = clean.indexOf(head, at + MARK.length)) {
    let end = at + PART_CHARS;
    while (end < clean.length && clean[end] === form[end - at]) end += 1;
    clean = clean.slice(0, at) + MARK + clean.slice(end);
  }
  return clean;
}

/** Takes out every piece of `form` that ends with its last characters. */
function withoutEnds(text: string, form: string): string {
  const tail = form.slice(-PART_CHARS);
  let clean = text;
  for (let at = clean.indexOf(tail); at >= 0; at = clean.indexOf(tail, at)) {
    let begin = at;
    while (begin > 0 && clean[begin - 1] === form[form.length - PART_CHARS - (at - begin) - 1]) begin -= 1;
    clean = clean.slice(0, begin) + MARK + clean.slice(at + PART_CHARS);
    at = begin + MARK.length;
  }
  return clean;
}

/** Knows the secret values of one daemon. */
export class Redactor {
  /** Longest first, so that a secret that is part of another doesn't leave the rest of that one standing. */
  #forms: readonly string[] = [];

  constructor(values: readonly string[] = []) {
    this.add(values);
  }

  /** From now on these values are taken out as well. Values under four characters are ignored. */
  add(values: readonly string[]): void {
    const forms = values.filter((value) => value.length >= MIN_SECRET_CHARS).flatMap(writtenForms);
    this.#forms = [...new Set([...this.#forms, ...forms])].toSorted((a, b) => b.length - a.length);
  }

  /** The text without known secrets, credentials in addresses, authorization headers and well-known key shapes. */
  text(text: string): string {
    let clean = text;
    for (const form of this.#forms) {
      clean = clean.replaceAll(form, MARK);
      if (form.length > PART_CHARS) clean = withoutEnds(withoutBeginnings(clean, form), form);
    }
    for (const shape of SECRET_SHAPES) clean = clean.replace(shape, `$1${MARK}`);
    return clean;
  }

  /** The same for plain data, as JSON.parse gives it; the value of a field that is named like a credential goes whatever it is. */
  value(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.value(item));
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).map(([key, item]: [string, unknown]) => {
      const known = SECRET_KEY.test(key) && item !== null;
      return [this.text(key), known ? MARK : this.value(item)] as const;
    });
    return Object.fromEntries(entries);
  }
}
