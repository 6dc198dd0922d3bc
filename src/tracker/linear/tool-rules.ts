/** What `linear_graphql` lets pass in the modes `scoped` and `read`: query roots, and mutations of the run's own issue. */

/** Query roots: what a team works with. Left out are administration, billing, sign-in, integrations and notifications. */
export const QUERY_ROOTS: ReadonlySet<string> = new Set([
  "__type",
  "__typename",
  "attachment",
  "attachmentIssue",
  "attachments",
  "attachmentsForURL",
  "comment",
  "comments",
  "customView",
  "customViews",
  "cycle",
  "cycles",
  "document",
  "documents",
  "initiative",
  "initiatives",
  "issue",
  "issueLabel",
  "issueLabels",
  "issuePriorityValues",
  "issueRelation",
  "issueRelations",
  "issueSearch",
  "issueVcsBranchSearch",
  "issues",
  "project",
  "projectLabels",
  "projectMilestone",
  "projectMilestones",
  "projectStatuses",
  "projectUpdate",
  "projectUpdates",
  "projects",
  "rateLimitStatus",
  "searchDocuments",
  "searchIssues",
  "searchProjects",
  "semanticSearch",
  "team",
  "teams",
  "user",
  "users",
  "viewer",
  "workflowState",
  "workflowStates",
]);

/** Fields that hold secrets, or lead to things that do; readable by anybody with a key, and no business of an agent. */
const SECRET_FIELDS: ReadonlySet<string> = new Set([
  "archivedIntegrations",
  "authSettings",
  "authenticationSessions",
  "calendarHash",
  "cycleCalenderUrl",
  "integration",
  "integrations",
  "integrationsSettings",
  "inviteHash",
  "oauthClient",
  "samlSettings",
  "scimSettings",
  "securitySettings",
  "token",
  "userSettings",
  "webhook",
  "webhooks",
]);
const SECRET_NAME = /secret|password|apikey|accesstoken/i;

export function isSecretField(name: string): boolean {
  return SECRET_FIELDS.has(name) || SECRET_NAME.test(name);
}

/** What a value of a mutation must belong to: the run's issue itself, that or one of its sub-issues, or something on one of those. */
export type TargetKind = "issue" | "own_issue" | "comment" | "attachment" | "team" | "project";

export interface Target {
  /** An argument, or a key of `input`. */
  readonly at: string;
  readonly kind: TargetKind;
}

export interface MutationRule {
  /** Arguments it may have. */
  readonly args: readonly string[];
  /** Keys that `input` may have. */
  readonly input: readonly string[];
  /** Where these are present they must be the run's. */
  readonly targets: readonly Target[];
  /** At least one of these must be present (and be the run's, where it is a target too). */
  readonly needs: readonly string[];
  /** One of the places that this names must hold the run's issue; the others may hold any. `values` are by path, as in `at`. */
  readonly either: (values: ReadonlyMap<string, unknown>) => readonly string[];
}

function rule(parts: Partial<MutationRule> & Pick<MutationRule, "args">): MutationRule {
  return { input: [], targets: [], needs: [], either: () => [], ...parts };
}

/** State, text, labels and size; not team, project, parent, assignee, delegate or the waste basket. */
const ISSUE_KEYS = [
  "title",
  "description",
  "stateId",
  "priority",
  "estimate",
  "dueDate",
  "labelIds",
  "addedLabelIds",
  "removedLabelIds",
] as const;

const BY_ID = { targets: [{ at: "id", kind: "issue" }], needs: ["id"] } as const;
const BY_ISSUE_ID = { targets: [{ at: "issueId", kind: "issue" }], needs: ["issueId"] } as const;
const BY_COMMENT_ID = { targets: [{ at: "id", kind: "comment" }], needs: ["id"] } as const;
const BY_INPUT_ISSUE = { targets: [{ at: "input.issueId", kind: "issue" }], needs: ["input.issueId"] } as const;

/** The mutations that there are in mode `scoped`. */
export const MUTATION_RULES: ReadonlyMap<string, MutationRule> = new Map(
  Object.entries({
    issueUpdate: rule({ args: ["id", "input"], input: ISSUE_KEYS, ...BY_ID }),
    issueAddLabel: rule({ args: ["id", "labelId"], ...BY_ID }),
    issueRemoveLabel: rule({ args: ["id", "labelId"], ...BY_ID }),
    issueCreate: rule({
      args: ["input"],
      input: [
        "id",
        "title",
        "description",
        "stateId",
        "priority",
        "estimate",
        "dueDate",
        "labelIds",
        "teamId",
        "projectId",
        "parentId",
      ],
      targets: [
        { at: "input.parentId", kind: "own_issue" },
        { at: "input.teamId", kind: "team" },
        { at: "input.projectId", kind: "project" },
      ],
      needs: ["input.parentId"],
    }),
    commentCreate: rule({
      args: ["input"],
      input: ["id", "body", "issueId", "parentId", "doNotSubscribeToIssue", "quotedText"],
      targets: [
        { at: "input.issueId", kind: "issue" },
        { at: "input.parentId", kind: "comment" },
      ],
      needs: ["input.issueId", "input.parentId"],
    }),
    commentUpdate: rule({ args: ["id", "input"], input: ["body", "quotedText"], ...BY_COMMENT_ID }),
    commentResolve: rule({
      args: ["id", "resolvingCommentId"],
      targets: [
        { at: "id", kind: "comment" },
        { at: "resolvingCommentId", kind: "comment" },
      ],
      needs: ["id"],
    }),
    commentUnresolve: rule({ args: ["id"], ...BY_COMMENT_ID }),
    reactionCreate: rule({
      args: ["input"],
      input: ["id", "emoji", "issueId", "commentId"],
      targets: [
        { at: "input.issueId", kind: "issue" },
        { at: "input.commentId", kind: "comment" },
      ],
      needs: ["input.issueId", "input.commentId"],
    }),
    attachmentCreate: rule({
      args: ["input"],
      input: ["id", "issueId", "title", "subtitle", "url", "iconUrl", "metadata", "groupBySource"],
      ...BY_INPUT_ISSUE,
    }),
    attachmentUpdate: rule({
      args: ["id", "input"],
      input: ["title", "subtitle", "iconUrl", "metadata"],
      targets: [{ at: "id", kind: "attachment" }],
      needs: ["id"],
    }),
    attachmentLinkURL: rule({ args: ["issueId", "url", "title", "id"], ...BY_ISSUE_ID }),
    attachmentLinkGitHubPR: rule({ args: ["issueId", "url", "title", "id", "linkKind"], ...BY_ISSUE_ID }),
    attachmentLinkGitHubIssue: rule({ args: ["issueId", "url", "title", "id"], ...BY_ISSUE_ID }),
    attachmentLinkGitLabMR: rule({
      args: ["issueId", "url", "title", "id", "number", "projectPathWithNamespace"],
      ...BY_ISSUE_ID,
    }),
    issueRelationCreate: rule({
      args: ["input"],
      input: ["id", "issueId", "relatedIssueId", "type"],
      // Linear closes the `issueId` of a duplicate, so that must be the run's own.
      either: (values) =>
        values.get("input.type") === "duplicate" ? ["input.issueId"] : ["input.issueId", "input.relatedIssueId"],
    }),
    fileUpload: rule({ args: ["contentType", "filename", "size"] }),
  }),
);
