/** What can be done to the daemon and to one ticket, as buttons. */
import { ActionButton, type Action } from "./dialog.tsx";
import { useServices } from "./hooks.ts";

const PAUSE: Action = {
  label: "Pause",
  title: "Pause dispatch?",
  consequence: "Nothing new starts until you resume, also over a restart. Agents that run go on.",
  path: "/api/v1/pause",
};
const RESUME: Action = {
  label: "Resume",
  title: "Resume dispatch?",
  consequence: "Tickets start again, and limits are tried at once.",
  path: "/api/v1/resume",
};
const DRAIN: Action = {
  label: "Drain",
  title: "Drain the daemon?",
  consequence: "Nothing new starts until you resume or restart. Agents that run go on to their own ends.",
  path: "/api/v1/drain",
};
const REFRESH: Action = {
  label: "Refresh",
  title: "Read the tracker now?",
  consequence: "The tracker is asked for its tickets at once, instead of at the next poll.",
  path: "/api/v1/refresh",
};

/** Those that make sense as things stand. */
export function DaemonControls({ isHeld }: { readonly isHeld: boolean }) {
  if (!useServices().client.hasToken) return null;
  const actions = isHeld ? [RESUME, REFRESH] : [PAUSE, DRAIN, REFRESH];
  return (
    <div class="buttons" role="group" aria-label="Daemon">
      {actions.map((action) => (
        <ActionButton key={action.label} action={action} />
      ))}
    </div>
  );
}

/** `status` is the claim's, null for a ticket that isn't claimed. */
function actionsOf(identifier: string, status: string | null): readonly Action[] {
  const path = (verb: string): string => `/api/v1/issues/${encodeURIComponent(identifier)}/${verb}`;
  const steer: Action = {
    label: "Steer",
    title: `Say something to the agent of ${identifier}`,
    consequence: "It goes into the running turn, else into the next one.",
    path: path("steer"),
    textLabel: "Message",
  };
  const interrupt: Action = {
    label: "Interrupt",
    title: `Interrupt the turn of ${identifier}?`,
    consequence: "The turn ends; the run goes on with the next one.",
    path: path("interrupt"),
  };
  const stop: Action = {
    label: "Stop",
    title: `Stop ${identifier}?`,
    consequence:
      "Its run ends, and the ticket is blocked until you retry or release it, or until it changes in the tracker.",
    path: path("stop"),
    isDanger: true,
  };
  const retry: Action = {
    label: "Retry",
    title: `Retry ${identifier} now?`,
    consequence: "It is due now, its attempt kept; it starts with the next free slot.",
    path: path("retry"),
  };
  const release: Action = {
    label: "Release",
    title: `Release ${identifier}?`,
    consequence:
      "Its claim is forgotten, a run of it ends, and it is eligible again at the next poll. The workspace stays.",
    path: path("release"),
    isDanger: true,
  };
  const reset: Action = {
    label: "Reset",
    title: `Reset ${identifier}?`,
    consequence: "As release, and the next run starts over on a fresh thread.",
    path: path("reset"),
    isDanger: true,
  };
  if (status === "running") return [steer, interrupt, stop, release, reset];
  if (status === "retrying" || status === "blocked") return [retry, steer, release, reset];
  return status === null ? [retry] : [];
}

export function IssueControls({ identifier, status }: { readonly identifier: string; readonly status: string | null }) {
  if (!useServices().client.hasToken) return null;
  return (
    <div class="buttons" role="group" aria-label={`Act on ${identifier}`}>
      {actionsOf(identifier, status).map((action) => (
        <ActionButton key={action.label} action={action} />
      ))}
    </div>
  );
}
