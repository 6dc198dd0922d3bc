/** A plan as Linear shows it in a session: steps with a status, made from the agent's own lines. */

/** One step; the words for the status are Linear's. */
export interface PlanStep {
  readonly content: string;
  readonly status: "pending" | "inProgress" | "completed" | "canceled";
}

const MAX_STEPS = 50;
const MAX_STEP_CHARS = 300;
const STEP = /^\[([A-Za-z_]+)\] (.+)$/;

function statusOf(word: string): PlanStep["status"] {
  switch (word.toLowerCase().replaceAll("_", "")) {
    case "completed":
      return "completed";
    case "inprogress":
      return "inProgress";
    case "canceled":
    case "cancelled":
      return "canceled";
    default:
      return "pending";
  }
}

/** The steps of a text with a step a line, such as `[inProgress] Find the cause`; other lines are left out. */
export function planSteps(text: string): readonly PlanStep[] {
  const found = text.split("\n").flatMap((line): PlanStep[] => {
    const [, status, content] = STEP.exec(line.trim()) ?? [];
    return status === undefined || content === undefined
      ? []
      : [{ content: content.slice(0, MAX_STEP_CHARS), status: statusOf(status) }];
  });
  return found.slice(0, MAX_STEPS);
}
