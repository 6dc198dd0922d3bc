/** The adapter's documents fit the schema: always the test server's own, and Linear's whole one where LINEAR_SCHEMA names the file. */
import { readFileSync } from "node:fs";

import { buildSchema, getNamedType, isInputObjectType, parse, validate } from "graphql";
import { describe, expect, it } from "vitest";

import { priceOf } from "../../../test/fakes/linear/complexity.ts";
import {
  ACTIVITY_DOCUMENT,
  candidatesDocument,
  DELTA_DOCUMENT,
  ID_BATCH,
  ISSUE_PAGE,
  issuesByIdDocument,
  LABEL_PAGE,
  LABELS_DOCUMENT,
  MORE_RELATIONS_DOCUMENT,
  PROJECTS_DOCUMENT,
  RELATIONS_BATCH,
  RELATIONS_DOCUMENT,
  RELATIONS_MORE,
  RELATIONS_WITH_ISSUE,
  SESSION_DOCUMENT,
  SESSION_UPDATE_DOCUMENT,
  STATE_PAGE,
  STATES_DOCUMENT,
  tickDocument,
  VIEWER_DOCUMENT,
} from "./documents.ts";
import { LOOKUP_DOCUMENTS } from "./doubtful-calls.ts";
import { MAKERS } from "./fixed-ids.ts";
import { OWNER_DOCUMENTS } from "./ownership.ts";

const ownSchema = buildSchema(
  readFileSync(new URL("../../../test/fakes/linear/schema.graphql", import.meta.url), "utf8"),
);
const fullSchemaFile = process.env["LINEAR_SCHEMA"] ?? "";
const schemas = [
  { name: "the test server's schema", schema: ownSchema },
  ...(fullSchemaFile === ""
    ? []
    : [
        {
          name: "Linear's schema",
          schema: buildSchema(readFileSync(fullSchemaFile, "utf8"), { assumeValidSDL: true }),
        },
      ]),
];

const DOCUMENTS: Readonly<Record<string, string>> = {
  candidates: candidatesDocument("workspace"),
  "candidates of a view": candidatesDocument("view"),
  tick: tickDocument("workspace"),
  "tick of a view": tickDocument("view"),
  "issues by id": issuesByIdDocument("workspace"),
  "issues by id in a view": issuesByIdDocument("view"),
  delta: DELTA_DOCUMENT,
  relations: RELATIONS_DOCUMENT,
  "more relations": MORE_RELATIONS_DOCUMENT,
  labels: LABELS_DOCUMENT,
  states: STATES_DOCUMENT,
  session: SESSION_DOCUMENT,
  "session update": SESSION_UPDATE_DOCUMENT,
  activity: ACTIVITY_DOCUMENT,
  viewer: VIEWER_DOCUMENT,
  projects: PROJECTS_DOCUMENT,
  ...Object.fromEntries(LOOKUP_DOCUMENTS.map((document, index) => [`look-up ${index}`, document])),
  ...Object.fromEntries(OWNER_DOCUMENTS.map((document, index) => [`owner ${index}`, document])),
};

describe.each(schemas)("against $name", ({ schema }) => {
  it.each(Object.entries(DOCUMENTS))("the document for %s is valid", (_name, document) => {
    expect(validate(schema, parse(document)).map((error) => error.message)).toEqual([]);
  });

  it.each(MAKERS)("%s takes an id that we choose, as a string", (name) => {
    const mutation = schema.getMutationType()?.getFields()[name];
    const input = getNamedType(mutation?.args.find((argument) => argument.name === "input")?.type);
    expect(isInputObjectType(input) && String(input.getFields()["id"]?.type)).toBe("String");
  });
});

it("says which schemas the documents were checked against", () => {
  const expected =
    fullSchemaFile === "" ? ["the test server's schema"] : ["the test server's schema", "Linear's schema"];
  expect(schemas.map(({ name }) => name)).toEqual(expected);
});

describe("the price of a request at its largest", () => {
  const price = (document: string, variables: Readonly<Record<string, unknown>>): number =>
    Math.ceil(priceOf({ schema: ownSchema, document: parse(document), variables }));
  const relations = RELATIONS_WITH_ISSUE;

  it.each([
    ["a page of candidates", candidatesDocument("workspace"), { first: ISSUE_PAGE, relations }, 1_611],
    ["a tick with ten tracked issues", tickDocument("workspace"), { first: ISSUE_PAGE, tracked: 10, relations }, 1_933],
    ["a full tick", tickDocument("workspace"), { first: ISSUE_PAGE, tracked: ID_BATCH, relations }, 3_221],
    ["a refresh", issuesByIdDocument("workspace"), { tracked: ID_BATCH, relations }, 1_611],
    ["further relations", RELATIONS_DOCUMENT, { first: RELATIONS_BATCH, relations: RELATIONS_MORE }, 6_933],
    ["states", STATES_DOCUMENT, { first: STATE_PAGE }, 460],
    ["labels", LABELS_DOCUMENT, { first: LABEL_PAGE }, 300],
  ])("%s stays far below Linear's cap of 10,000 points", (_name, document, variables, points) => {
    expect(price(document, variables)).toBe(points);
  });
});
