/** `budget.prices` for commands that only report. */
import { resolve } from "node:path";
import type { Prices } from "../domain/price.ts";
import { peekFrontMatter } from "./front-matter-peek.ts";
import { budgetSchema } from "./settings/schema.ts";
import { pricesOf } from "./settings/to-settings.ts";

/** What the workflow file says, by model; none when the file or its budget section isn't in order. */
export function findPrices(workflowPath: string): Prices {
  const budget = budgetSchema.safeParse(peekFrontMatter(resolve(workflowPath))["budget"] ?? {});
  return budget.success ? pricesOf(budget.data.prices) : {};
}
