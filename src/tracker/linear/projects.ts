/** The projects that a credential can see, for a person to choose one from. */
import { z } from "zod";
import { AppError } from "../../domain/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { Accounts } from "./accounts.ts";
import { LinearClient } from "./client.ts";
import { PROJECTS_DOCUMENT } from "./documents.ts";
import type { LinearProvider } from "./provider.ts";

/** More than anybody chooses from; the newest come first. */
const PROJECTS_SHOWN = 50;

export interface LinearProject {
  readonly name: string;
  /** What `tracker.provider.project_slug` wants. */
  readonly slug: string;
}

const answerSchema = z.object({
  projects: z.object({ nodes: z.array(z.object({ name: z.string(), slugId: z.string() })) }),
});

/** Throws an AppError of the tracker's categories. */
export async function listProjects(
  where: Pick<LinearProvider, "endpoint" | "credential">,
  clock: Clock,
): Promise<readonly LinearProject[]> {
  const client = new LinearClient({ endpoint: where.endpoint, account: new Accounts(clock).of(where), clock });
  try {
    const data = await client.query({
      document: PROJECTS_DOCUMENT,
      variables: { first: PROJECTS_SHOWN },
      lane: "aside",
    });
    const answer = answerSchema.safeParse(data);
    if (!answer.success) {
      throw new AppError("tracker_response", "Linear's list of projects has another shape than it had", {
        reason: "shape",
      });
    }
    return answer.data.projects.nodes.map(({ name, slugId }) => ({ name, slug: slugId }));
  } finally {
    client.close();
  }
}
