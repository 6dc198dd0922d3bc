/** The GraphQL documents that the adapter sends. Nested lists are small on purpose: Linear charges for what is asked for. */

/** Issues of a list per page. */
export const ISSUE_PAGE = 50;
/** Ids per request of a refresh. */
export const ID_BATCH = 50;
/** Relations read with each issue; an issue that has more is asked again, alone with its like. */
export const RELATIONS_WITH_ISSUE = 5;
/** Relations of the second reading, and issues in one such request: 30 * 50 rows stay under Linear's cap of 10,000 points. */
export const RELATIONS_MORE = 50;
export const RELATIONS_BATCH = 30;
/** Labels per request: Linear's largest page. */
export const LABEL_PAGE = 250;

/** `type` is `blocks` for the relation that counts, and the blocker stands on its `issue` side. */
const RELATIONS = `nodes { type issue { id identifier state { name } } } pageInfo { hasNextPage endCursor }`;

const ISSUE_FRAGMENT = `
fragment SymphonyIssue on Issue {
  id identifier title description priority branchName url createdAt updatedAt archivedAt trashed labelIds
  state { id name type }
  team { id key }
  project { id }
  assignee { id }
  delegate { id }
  inverseRelations(first: $relations) { ${RELATIONS} }
}`;

/** Where issues are listed: the whole workspace under a filter, or a custom view. */
export type IssueRoot = "workspace" | "view";

const PAGE = `nodes { ...SymphonyIssue } pageInfo { hasNextPage endCursor }`;

/** A list of issues under an alias, through the view where there is one. No order is asked for: Linear's own, by creation, never shifts. */
function listing(root: IssueRoot, alias: string, args: string, more = ""): string {
  if (root === "workspace") return `${alias}: issues(${args}) ${more}{ ${PAGE} }`;
  return `${alias}: customView(id: $view) ${more}{ issues(${args}) { ${PAGE} } }`;
}

/** Arguments of a list of issues by id: the ids typed as the specification wants them (section 11.2), beside the scope's own filters. */
const TRACKED = "filter: { id: { in: $ids }, and: $scope }, first: $tracked, includeArchived: true";

function header(root: IssueRoot, name: string, variables: string): string {
  return `query ${name}(${variables}${root === "view" ? ", $view: String!" : ""})`;
}

/** One page of candidates. */
export function candidatesDocument(root: IssueRoot): string {
  const variables = "$filter: IssueFilter!, $first: Int!, $after: String, $relations: Int!";
  return `${header(root, "SymphonyCandidates", variables)} {
  ${listing(root, "candidates", "filter: $filter, first: $first, after: $after")}
}${ISSUE_FRAGMENT}`;
}

/** The first page of candidates and the tracked issues in one request. */
export function tickDocument(root: IssueRoot): string {
  const variables =
    "$filter: IssueFilter!, $first: Int!, $relations: Int!, $scope: [IssueFilter!]!, $ids: [ID!]!, $tracked: Int!";
  return `${header(root, "SymphonyTick", variables)} {
  ${listing(root, "candidates", "filter: $filter, first: $first")}
  ${listing(root, "tracked", TRACKED)}
}${ISSUE_FRAGMENT}`;
}

/** Issues by id. */
export function issuesByIdDocument(root: IssueRoot): string {
  const variables = "$scope: [IssueFilter!]!, $ids: [ID!]!, $tracked: Int!, $relations: Int!";
  return `${header(root, "SymphonyIssuesById", variables)} {
  ${listing(root, "tracked", TRACKED)}
}${ISSUE_FRAGMENT}`;
}

/** What has changed in the scope since a time, the tracked issues, and the states of issues that block others. */
export const DELTA_DOCUMENT = `query SymphonyDelta(
  $changedFilter: IssueFilter!, $first: Int!, $scope: [IssueFilter!]!, $ids: [ID!]!, $tracked: Int!, $withTracked: Boolean!,
  $relations: Int!, $watched: [ID!]!, $watchedCount: Int!, $withWatched: Boolean!
) {
  changed: issues(filter: $changedFilter, first: $first, orderBy: updatedAt, includeArchived: true) {
    nodes { id updatedAt archivedAt trashed state { name } } pageInfo { hasNextPage endCursor }
  }
  ${listing("workspace", "tracked", TRACKED, "@include(if: $withTracked) ")}
  watched: issues(filter: { id: { in: $watched } }, first: $watchedCount, includeArchived: true) @include(if: $withWatched) {
    nodes { id state { name } } pageInfo { hasNextPage endCursor }
  }
}${ISSUE_FRAGMENT}`;

/** Relations of issues that have more than came with them. */
export const RELATIONS_DOCUMENT = `query SymphonyRelations($ids: [ID!]!, $first: Int!, $relations: Int!) {
  issues(filter: { id: { in: $ids } }, first: $first, includeArchived: true) {
    nodes { id inverseRelations(first: $relations) { ${RELATIONS} } }
  }
}`;

/** Further pages of one issue's relations. */
export const MORE_RELATIONS_DOCUMENT = `query SymphonyMoreRelations($id: String!, $relations: Int!, $after: String!) {
  issue(id: $id) { id inverseRelations(first: $relations, after: $after) { ${RELATIONS} } }
}`;

/** Names of labels by id. */
export const LABELS_DOCUMENT = `query SymphonyLabels($ids: [ID!]!, $first: Int!) {
  issueLabels(filter: { id: { in: $ids } }, first: $first) { nodes { id name } }
}`;

/** Workflow states per request: more than the teams of one scope have. */
export const STATE_PAGE = 100;

/** Which of the configured states there are, and a look at what there is. */
export const STATES_DOCUMENT = `query SymphonyStates($named: WorkflowStateFilter!, $all: WorkflowStateFilter!, $first: Int!) {
  named: workflowStates(filter: $named, first: $first) { nodes { name } pageInfo { hasNextPage endCursor } }
  all: workflowStates(filter: $all, first: $first) { nodes { name } pageInfo { hasNextPage endCursor } }
}`;

/** Whose credential it is. */
export const VIEWER_DOCUMENT = `query SymphonyViewer { viewer { id app } }`;

/** What there is to choose a scope from. */
export const PROJECTS_DOCUMENT = `query SymphonyProjects($first: Int!) {
  projects(first: $first) { nodes { name slugId } }
}`;

/** Opens an agent session on an issue. */
export const SESSION_DOCUMENT = `mutation SymphonySession($input: AgentSessionCreateOnIssue!) {
  agentSessionCreateOnIssue(input: $input) { success agentSession { id } }
}`;

/** Changes a session's plan or links. */
export const SESSION_UPDATE_DOCUMENT = `mutation SymphonySessionUpdate($id: String!, $input: AgentSessionUpdateInput!) {
  agentSessionUpdate(id: $id, input: $input) { success }
}`;

/** Says something in a session. */
export const ACTIVITY_DOCUMENT = `mutation SymphonyActivity($input: AgentActivityCreateInput!) {
  agentActivityCreate(input: $input) { success agentActivity { id } }
}`;
