/** How a log line says which issue it is about (section 13.1). */
import type { IssueId } from "../domain/ids.ts";
import type { Issue } from "../domain/issue.ts";

/** The fields under the specification's names. */
export function issueFields(issue: Issue): { readonly issue_id: IssueId; readonly issue_identifier: string } {
  return { issue_id: issue.id, issue_identifier: issue.identifier };
}
