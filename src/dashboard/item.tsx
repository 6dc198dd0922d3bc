/** What an event stands for: a message, a command with its output, a diff. All of it is text of an agent, and shown as text. */
import type { RunEvent } from "./data.ts";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { formatCount, pathWithin, plainCommand, words } from "./format.ts";

/** Of the ticket whose events are shown; null where it isn't known. */
export const WorkspaceContext = createContext<string | null>(null);

type Fields = Readonly<Record<string, unknown>>;

function text(fields: Fields, name: string): string {
  const value = fields[name];
  return typeof value === "string" ? value : "";
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

export function Item({ event }: { readonly event: RunEvent }) {
  const { item, message } = event;
  if (item === null) return message === null ? null : <p class="said">{message}</p>;
  const data = fieldsOf(item.data);
  switch (item.kind) {
    case "message":
    case "reasoning":
    case "plan":
      return <p class="said">{text(data, "text")}</p>;
    case "command":
      return <Command data={data} />;
    case "file_change":
      return <FileChange changes={data["changes"]} />;
    case "tool_call":
      return (
        <p class="said">
          <code>{text(data, "tool")}</code> {data["ok"] === false && "failed"}
        </p>
      );
    case "question":
      return (
        <p class="said">
          {text(data, "summary")} <code>{text(data, "subject")}</code>
        </p>
      );
    case "answer":
    default:
      // Also of kinds to come: a daemon that was updated under an open page may tell more.
      return message === null ? null : <p class="said">{message}</p>;
  }
}

function Command({ data }: { readonly data: Fields }) {
  const output = text(data, "output_tail");
  const code = data["exit_code"];
  const line = (
    <>
      <code>{plainCommand(text(data, "command"))}</code>
      {typeof code === "number" && code !== 0 && <span class="error"> exit {code}</span>}
    </>
  );
  if (output === "") return <p class="said">{line}</p>;
  return (
    <details>
      <summary>{line}</summary>
      <pre>{output}</pre>
    </details>
  );
}

function FileChange({ changes }: { readonly changes: unknown }) {
  const workspace = useContext(WorkspaceContext);
  const pathOf = (file: Fields): string => pathWithin(text(file, "path"), workspace);
  const files = Array.isArray(changes) ? changes.map(fieldsOf) : [];
  return (
    <details>
      <summary>
        {formatCount(files.length)} {files.length === 1 ? "file" : "files"}: <code>{files.map(pathOf).join(", ")}</code>
      </summary>
      {files.map((file, index) => (
        <div key={index}>
          <p>
            {words(text(file, "change"))} <code>{pathOf(file)}</code>
          </p>
          <pre>{text(file, "diff")}</pre>
        </div>
      ))}
    </details>
  );
}
