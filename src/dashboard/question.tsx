/** A question or approval that waits for a person, and the box to answer it. */
import { useState } from "preact/hooks";
import type { Question } from "./data.ts";
import { useSend } from "./dialog.tsx";
import { useServices } from "./hooks.ts";
import { Age, Until } from "./parts.tsx";
import { words } from "./format.ts";

export function QuestionBox({ question, identifier }: { readonly question: Question; readonly identifier: string }) {
  const { client } = useServices();
  const { kind, summary, subject, detail, askedAt, deadlineAt } = question;
  return (
    <div class="question">
      <p class="asked">
        <strong>{kind === "question" ? "Question" : `Approval: ${words(kind)}`}</strong>, asked{" "}
        <Age since={new Date(askedAt).toISOString()} /> ago
        {deadlineAt !== null && (
          <>
            , times out <Until at={new Date(deadlineAt).toISOString()} />
          </>
        )}
      </p>
      <p class="said">{summary}</p>
      {subject !== null && subject !== summary && <pre>{subject}</pre>}
      <details>
        <summary>As the agent asked it</summary>
        <pre>{detail}</pre>
      </details>
      {client.hasToken ? (
        <AnswerForm question={question} identifier={identifier} />
      ) : (
        <p class="hint">
          Answer from a terminal with <code>symphony answer</code>, or unlock this page.
        </p>
      )}
    </div>
  );
}

function AnswerForm({ question, identifier }: { readonly question: Question; readonly identifier: string }) {
  const send = useSend();
  const [text, setText] = useState("");
  const [isSending, setSending] = useState(false);
  const takesText = question.kind === "question" || question.kind === "elicitation";
  async function answer(body: Readonly<Record<string, unknown>>): Promise<void> {
    setSending(true);
    const isAccepted = await send(`/api/v1/questions/${encodeURIComponent(question.id)}/answer`, body);
    setSending(false);
    if (isAccepted) setText("");
  }
  function submit(event: Event): void {
    event.preventDefault();
    void answer(takesText && text.trim() !== "" ? { text } : {});
  }
  return (
    <form class="answer" onSubmit={submit}>
      {takesText && (
        <label class="field">
          Your answer to {identifier}
          <textarea
            rows={1}
            required={question.kind === "question"}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
      )}
      <div class="buttons">
        <button type="submit" class="filled" disabled={isSending}>
          {takesText ? "Answer" : "Accept"}
        </button>
        {question.kind !== "question" && (
          <button type="button" disabled={isSending} onClick={() => void answer({ accept: false })}>
            Decline
          </button>
        )}
      </div>
    </form>
  );
}
