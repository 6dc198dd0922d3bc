/** `symphony completion SHELL`: a script for the shell, made from the command tree itself, so that it knows every command and option. */
import { AppError, assertNever } from "../domain/errors.ts";
import type { Command, Option } from "commander";

export type Shell = "bash" | "zsh" | "fish";

/** One command, the program itself first. */
interface Node {
  /** The words that lead to it; none for the program. */
  readonly path: readonly string[];
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly Option[];
  /** It takes a file by itself. */
  readonly takesFile: boolean;
}

/** The script. Throws AppError `usage` for a command whose name a shell would read as more than a word. */
export function completionScript(program: Command, shell: Shell): string {
  const nodes = nodesOf(program, []);
  const odd = nodes.flatMap(({ path }) => path).find((word) => !/^[\w-]+$/.test(word));
  if (odd !== undefined) throw new AppError("usage", `the command ${odd} can't be completed`, { odd });
  switch (shell) {
    case "bash":
      return bashScript(nodes);
    case "zsh":
      return zshScript(nodes);
    case "fish":
      return fishScript(nodes);
    default:
      return assertNever(shell);
  }
}

function nodesOf(command: Command, path: readonly string[]): readonly Node[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command).filter((child) => child.name() !== "help");
  const node: Node = {
    path,
    commands: commands.map((child) => ({ name: child.name(), description: help.subcommandDescription(child) })),
    options: help.visibleOptions(command),
    takesFile: command.registeredArguments.some((argument) => ["workflow", "file"].includes(argument.name())),
  };
  return [node, ...commands.flatMap((child) => nodesOf(child, [...path, child.name()]))];
}

function flagsOf({ short, long }: Option): readonly string[] {
  return [short, long].filter((flag) => flag !== undefined);
}

/** Values that are a file or folder. */
function takesPath(option: Option): boolean {
  return /<(path|file|dir)>/.test(option.flags);
}

function takesValue(option: Option): boolean {
  return option.required || option.optional;
}

/** In single quotes, for any of the three shells; a quote inside becomes a typographic one. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "’").replaceAll("\\", "/")}'`;
}

/** The walk from the words that stand before the cursor to the command that they lead to: every step of it as a pattern. */
function steps(nodes: readonly Node[]): string {
  return nodes.flatMap(({ path, commands }) => commands.map(({ name }) => `"${path.join(" ")} ${name}"`)).join(" | ");
}

/** What may follow an option, as cases on "command:option". */
function valueCases(nodes: readonly Node[], words: (choices: readonly string[]) => string, files: string): string[] {
  return nodes.flatMap(({ path, options }) =>
    options.filter(takesValue).map((option) => {
      const patterns = flagsOf(option).map((flag) => `"${path.join(" ")}:${flag}"`);
      const open = takesPath(option) ? files : ":";
      const values = option.argChoices === undefined ? open : words(option.argChoices);
      return `    ${patterns.join(" | ")}) ${values}; return ;;`;
    }),
  );
}

function bashScript(nodes: readonly Node[]): string {
  const values = valueCases(
    nodes,
    (choices) => `mapfile -t COMPREPLY < <(compgen -W "${choices.join(" ")}" -- "$current")`,
    `mapfile -t COMPREPLY < <(compgen -f -- "$current")`,
  );
  const wordCases = nodes.map(({ path, commands, options, takesFile }) => {
    const names = [...commands.map(({ name }) => name), ...options.flatMap(flagsOf)].join(" ");
    return `    "${path.join(" ")}") words="${names}"${takesFile ? " files=1" : ""} ;;`;
  });
  return `# bash completion of symphony: source <(symphony completion bash)
_symphony() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" at="" words="" files="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${steps(nodes)}) at="\${at:+$at }\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at:$previous" in
${values.join("\n")}
  esac
  case "$at" in
${wordCases.join("\n")}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"; [[ -z "$files" ]] || compgen -f -- "$current")
}
complete -o filenames -F _symphony symphony
`;
}

function zshScript(nodes: readonly Node[]): string {
  const described = (name: string, description: string): string => quote(`${name}:${description.replaceAll(":", ",")}`);
  const values = valueCases(nodes, (choices) => `compadd -- ${choices.join(" ")}`, "_files");
  const wordCases = nodes.map(({ path, commands, options, takesFile }) => {
    const names = commands.map(({ name, description }) => described(name, description));
    const flags = options.flatMap((option) => flagsOf(option).map((flag) => described(flag, option.description)));
    return `    "${path.join(" ")}") names=(${names.join(" ")}); flags=(${flags.join(" ")})${takesFile ? "; files=1" : ""} ;;`;
  });
  return `#compdef symphony
# zsh completion of symphony: symphony completion zsh > a folder of $fpath/_symphony
_symphony() {
  local at="" files="" i
  local -a names flags
  for ((i = 2; i < CURRENT; i++)); do
    case "$at \${words[i]}" in
      ${steps(nodes)}) at="\${at:+$at }\${words[i]}" ;;
    esac
  done
  case "$at:\${words[CURRENT-1]}" in
${values.join("\n")}
  esac
  case "$at" in
${wordCases.join("\n")}
  esac
  (( \${#names} )) && _describe command names
  _describe -o option flags
  [[ -z "$files" ]] || _files
}
if [[ "$funcstack[1]" == _symphony ]]; then _symphony "$@"; else compdef _symphony symphony; fi
`;
}

function fishScript(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, commands, options, takesFile }) => {
    const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`);
    const names = commands.map(({ name }) => name).join(" ");
    const none = names === "" ? [] : [`not __fish_seen_subcommand_from ${names}`];
    const where = `complete -c symphony -n ${quote([...seen, ...none].join("; and "))}`;
    return [
      ...commands.map(({ name, description }) => `${where} -f -a ${name} -d ${quote(description)}`),
      ...options.map((option) => `${where} ${fishOption(option)}`),
      ...(takesFile ? [`${where} -F`] : []),
    ];
  });
  return `# fish completion of symphony: symphony completion fish > ~/.config/fish/completions/symphony.fish
complete -c symphony -f
${lines.join("\n")}
`;
}

function fishOption(option: Option): string {
  const names = [
    ...(option.short === undefined ? [] : [`-s ${option.short.slice(1)}`]),
    ...(option.long === undefined ? [] : [`-l ${option.long.slice(2)}`]),
  ].join(" ");
  const choices = option.argChoices === undefined ? "" : ` -a ${quote(option.argChoices.join(" "))}`;
  const value = takesValue(option) ? ` -r${takesPath(option) ? " -F" : ""}${choices}` : "";
  return `${names}${value} -d ${quote(option.description)}`;
}
