/** Dialogs and the buttons that open them. The browser's own dialog keeps the focus inside and gives it back. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { messageOf, useServices } from "./hooks.ts";

export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    // Closing, not vanishing, is what gives the focus back.
    return () => element?.close();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

/** Something that a person can do, asked once more before it is done. */
export interface Action {
  readonly label: string;
  /** Of the dialog, as a question or an order. */
  readonly title: string;
  /** What will happen. */
  readonly consequence: string;
  readonly path: string;
  /** Asks for a text, which goes along as `text`. */
  readonly textLabel?: string;
  readonly isDanger?: boolean;
}

interface Accepted {
  readonly message: string;
}

/** Sends, and says what the daemon says. Resolves whether it was accepted. */
export function useSend(): (path: string, body?: Readonly<Record<string, unknown>>) => Promise<boolean> {
  const { client, say } = useServices();
  return async (path, body) => {
    try {
      const { message } = await client.post<Accepted>(path, body);
      say(message);
      return true;
    } catch (error) {
      say(messageOf(error), true);
      return false;
    }
  };
}

export function ActionButton({ action }: { readonly action: Action }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class={action.isDanger === true ? "danger" : ""} onClick={() => setOpen(true)}>
        {action.label}
      </button>
      {isOpen && <ActionDialog action={action} onClose={() => setOpen(false)} />}
    </>
  );
}

function ActionDialog({ action, onClose }: { readonly action: Action; readonly onClose: () => void }) {
  const send = useSend();
  const [text, setText] = useState("");
  const [isSending, setSending] = useState(false);
  const { label, title, consequence, path, textLabel, isDanger = false } = action;
  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    setSending(true);
    const isAccepted = await send(path, textLabel === undefined ? {} : { text });
    setSending(false);
    // A text that was refused is kept to be mended.
    if (isAccepted || textLabel === undefined) onClose();
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <p>{consequence}</p>
        {textLabel !== undefined && (
          <label class="field">
            {textLabel}
            <textarea rows={4} required value={text} onInput={(event) => setText(event.currentTarget.value)} />
          </label>
        )}
        <div class="buttons">
          <button type="button" class="quiet" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={isDanger ? "danger filled" : "filled"} disabled={isSending}>
            {label}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
