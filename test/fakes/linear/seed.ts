/** A small board to look at: tickets in several states, one blocked by another. */
import type { Board } from "./board.ts";

export function seedBoard(board: Board): void {
  const first = board.createIssue({
    title: "Write a greeting",
    description: "Create `greeting.txt` with one friendly line.",
    priority: 2,
    labels: ["docs"],
  });
  board.createIssue({
    title: "Translate the greeting",
    description: "Add a German line to `greeting.txt`.",
    priority: 1,
    labels: ["docs", "i18n"],
    blockedBy: [first.id],
  });
  board.createIssue({
    title: "Count the words",
    description: "Write the number of words to `count.txt`.",
    priority: 3,
  });
  board.createIssue({ title: "An idea for later", state: "Backlog" });
  board.createIssue({ title: "Something finished", state: "Done" });
}
