/** Linear's filters as they were measured on the live service, evaluated over plain values. */

/** A value that a filter looks into: a scalar, a record, or a list of records for collections. */
export type Target = unknown;

const COLLECTION_KEYS: ReadonlySet<string> = new Set(["some", "every", "length"]);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const IDENTIFIER = /^[A-Za-z][A-Za-z0-9]*-\d+$/;

/** Linear's answer to an id or a cursor that it can't use. */
export class ArgumentValidationError extends Error {
  constructor(what: string) {
    super(`Argument Validation Error - ${what}`);
  }
}

type Json = Readonly<Record<string, unknown>>;

function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string {
  return String(value);
}

/** One comparator key. A null value passes `nin` and fails `neq`; dates compare as text, since they are all ISO with Z. */
function compare(key: string, value: unknown, wanted: unknown): boolean {
  const list = Array.isArray(wanted) ? wanted : [];
  if (key === "nin") return !list.includes(value);
  if (key === "null") return (value === null) === wanted;
  if (value === null || value === undefined) return false;
  const lower = text(value).toLowerCase();
  const other = text(wanted).toLowerCase();
  switch (key) {
    case "eq":
      return value === wanted;
    case "neq":
      return value !== wanted;
    case "in":
      return list.includes(value);
    case "eqIgnoreCase":
      return lower === other;
    case "neqIgnoreCase":
      return lower !== other;
    case "startsWith":
      return text(value).startsWith(text(wanted));
    case "startsWithIgnoreCase":
      return lower.startsWith(other);
    case "endsWith":
      return text(value).endsWith(text(wanted));
    case "contains":
      return text(value).includes(text(wanted));
    case "containsIgnoreCase":
      return lower.includes(other);
    default:
      return compareOrder(key, value, wanted);
  }
}

function compareOrder(key: string, value: unknown, wanted: unknown): boolean {
  const [left, right] = typeof value === "number" ? [value, Number(wanted)] : [text(value), text(wanted)];
  switch (key) {
    case "gt":
      return left > right;
    case "gte":
      return left >= right;
    case "lt":
      return left < right;
    case "lte":
      return left <= right;
    default:
      throw new Error(`the fake has no comparator ${key}`);
  }
}

/** Ids may be UUIDs or, for issues, identifiers in any case; anything else is refused whole. */
function compareIssueId(key: string, target: Json, wanted: unknown): boolean {
  const ids = (Array.isArray(wanted) ? wanted : [wanted]).map(text);
  for (const id of ids) if (!UUID.test(id) && !IDENTIFIER.test(id)) throw new ArgumentValidationError(`id: ${id}`);
  const names = [text(target["id"]), text(target["identifier"]).toLowerCase()];
  const hit = ids.some((id) => names.includes(id.toLowerCase()));
  return key === "neq" || key === "nin" ? !hit : hit;
}

function matchesComparator(target: Json, field: string, comparator: Json): boolean {
  return Object.entries(comparator).every(([key, wanted]) => {
    if (field === "id" && "identifier" in target) return compareIssueId(key, target, wanted);
    return compare(key, target[field] ?? null, wanted);
  });
}

/** An absent relation passes `neq` and `nin`, and fails the rest. */
function absentPasses(filter: Json): boolean {
  if ("null" in filter) return filter["null"] === true;
  return Object.values(filter).every(
    (comparator) => isRecord(comparator) && Object.keys(comparator).every((key) => key === "neq" || key === "nin"),
  );
}

/** `some` and a bare key mean "has such a one"; `every` over nothing is true only for negative comparators. */
function matchesCollection(items: readonly Json[], filter: Json): boolean {
  return Object.entries(filter).every(([key, value]) => {
    if (key === "length") return isRecord(value) && matchesComparator({ length: items.length }, "length", value);
    if (key === "and") return asList(value).every((branch) => matchesCollection(items, branch));
    if (key === "or") return matchesAny(asList(value), (branch) => matchesCollection(items, branch));
    const inner: Json = COLLECTION_KEYS.has(key) && isRecord(value) ? value : { [key]: value };
    if (key !== "every") return items.some((item) => matchesFilter(item, inner));
    if (items.length === 0) return absentPasses(inner);
    return items.every((item) => matchesFilter(item, inner));
  });
}

function asList(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** An empty `or` constrains nothing, and the keys of one branch are alternatives to each other. */
function matchesAny(branches: readonly Json[], matches: (branch: Json) => boolean): boolean {
  if (branches.length === 0) return true;
  return branches.some((branch) => Object.entries(branch).some(([key, value]) => matches({ [key]: value })));
}

/** Whether `target` passes `filter`; top-level keys are a conjunction. */
export function matchesFilter(target: Target, filter: unknown): boolean {
  if (!isRecord(filter)) return true;
  if (!isRecord(target)) return absentPasses(filter);
  return Object.entries(filter).every(([key, value]) => {
    if (key === "and") return asList(value).every((branch) => matchesFilter(target, branch));
    if (key === "or") return matchesAny(asList(value), (branch) => matchesFilter(target, branch));
    if (key === "null") return value !== true;
    if (!isRecord(value)) throw new Error(`the fake can't filter by ${key}`);
    const field = target[key];
    if (Array.isArray(field)) return matchesCollection(field.filter(isRecord), value);
    if (isRecord(field)) return matchesFilter(field, value);
    if (field === null && Object.values(value).some(isRecord)) return absentPasses(value);
    if (field === null && RELATIONS.has(key)) return absentPasses(value);
    return matchesComparator(target, key, value);
  });
}

const RELATIONS: ReadonlySet<string> = new Set(["project", "assignee", "delegate", "parent", "issue"]);

/** Whether the id is one that Linear makes. */
export function isUuid(id: string): boolean {
  return UUID.test(id);
}
