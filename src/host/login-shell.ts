/** How a command string is run: by bash with the user's login profile, which reaches neither the pipes nor the environment. */

/** Carried by everything that a run starts, so that it can be found again wherever it went. */
export const MARKER_VARIABLE = "SYMPHONY_RUN_MARKER";

/** Carried by everything that any daemon of one ledger starts, whatever the run: what is left of a killed one is found by it. */
export const OWNER_VARIABLE = "SYMPHONY_LEDGER_ID";

/**
 * Variables of the profile that a command keeps besides PATH: directories of tool chains, never credentials. Everything else
 * that a profile exports stays a plain shell variable, which the command may use and its children don't see.
 */
const KEPT_FROM_PROFILE = [
  "ASDF_DATA_DIR",
  "ASDF_DIR",
  "BUN_INSTALL",
  "CARGO_HOME",
  "CONDA_DEFAULT_ENV",
  "CONDA_EXE",
  "CONDA_PREFIX",
  "DENO_INSTALL",
  "DOTNET_ROOT",
  "FNM_DIR",
  "FNM_MULTISHELL_PATH",
  "GEM_HOME",
  "GEM_PATH",
  "GOBIN",
  "GOPATH",
  "GOROOT",
  "HOMEBREW_CELLAR",
  "HOMEBREW_PREFIX",
  "HOMEBREW_REPOSITORY",
  "JAVA_HOME",
  "MISE_DATA_DIR",
  "NVM_BIN",
  "NVM_DIR",
  "NVM_INC",
  "PNPM_HOME",
  "PYENV_ROOT",
  "PYENV_VIRTUALENV_INIT",
  "RBENV_ROOT",
  "RUSTUP_HOME",
  "SDKMAN_DIR",
  "VIRTUAL_ENV",
  "VOLTA_HOME",
] as const;

/**
 * What `bash -lc "$SYMPHONY_COMMAND"` means, with two differences. The profile runs with stdin from /dev/null and stdout on
 * stderr (bash keeps the real ones on close-on-exec descriptors meanwhile, so a daemon that the profile starts can't hold
 * them), and afterwards the environment is again the one that was given, plus PATH and the list above, in the directory that was
 * given. The profile is sourced here because `bash -l` would read it before any line of ours, with the real pipes.
 * Works in bash 3.2 (macOS). A single plain command replaces the shell, as in `bash -c`, and here also after assignments: a shell for
 * each agent that only waits for it is a few megabytes and a process.
 */
const SCRIPT = String.raw`
builtin export -n SYMPHONY_SHELL SYMPHONY_COMMAND SYMPHONY_FUNCTIONS SYMPHONY_BASH_ENV SYMPHONY_HELD
if [ -n "$SYMPHONY_HELD" ]; then builtin read -r __symphony_name || builtin exit 125; fi
if [ -n "$SYMPHONY_BASH_ENV" ]; then builtin export BASH_ENV="$SYMPHONY_BASH_ENV"; fi
__symphony_cwd=$PWD
__symphony_env=$(builtin declare -px)
{
  if [ -r /etc/profile ]; then . /etc/profile; fi
  if [ -r ~/.bash_profile ]; then . ~/.bash_profile
  elif [ -r ~/.bash_login ]; then . ~/.bash_login
  elif [ -r ~/.profile ]; then . ~/.profile
  fi
  if [ -n "$SYMPHONY_BASH_ENV" ] && [ -r "$SYMPHONY_BASH_ENV" ]; then . "$SYMPHONY_BASH_ENV"; fi
} </dev/null >&2
builtin set +aefu
IFS=$' \t\n'
__symphony_path=$PATH
for __symphony_name in $(builtin compgen -e; builtin declare -xF); do
  case " $SYMPHONY_FUNCTIONS ${KEPT_FROM_PROFILE.join(" ")} " in
    *" $__symphony_name "*) ;;
    *) builtin export -n "$__symphony_name" 2>/dev/null; builtin export -nf "$__symphony_name" 2>/dev/null ;;
  esac
done
builtin eval "$__symphony_env" 2>/dev/null
builtin set -f
IFS=:
for __symphony_name in $PATH; do
  case ":$__symphony_path:" in
    *":$__symphony_name:"*) ;;
    *) __symphony_path=$__symphony_path:$__symphony_name ;;
  esac
done
builtin set +f
IFS=$' \t\n'
builtin export PATH="$__symphony_path"
builtin cd "$__symphony_cwd" >/dev/null || builtin exit 126
builtin export -n OLDPWD
builtin unset SYMPHONY_SHELL SYMPHONY_FUNCTIONS SYMPHONY_HELD __symphony_path __symphony_name __symphony_cwd __symphony_env
if [[ $SYMPHONY_COMMAND =~ ^[A-Za-z0-9_./=:,@%+\ -]+[[:space:]]*$ ]]; then
  builtin set -- $SYMPHONY_COMMAND
  while [[ $1 =~ ^[A-Za-z_][A-Za-z0-9_]*= ]]; do builtin export "$1"; builtin shift; done
  if [ "$(builtin type -t -- "$1")" = file ]; then builtin exec -- "$@"; fi
  builtin set --
fi
builtin eval "$SYMPHONY_COMMAND"
`;

/** Names of the shell functions that an environment carries: they are given, and stay. */
function givenFunctions(env: Readonly<Record<string, string>>): string {
  return Object.keys(env)
    .map((name) => /^BASH_FUNC_(.+)%%$/.exec(name)?.[1])
    .filter((name) => name !== undefined)
    .join(" ");
}

/** What to start for a command; `env` is the given one with the run's marker. */
export interface ShellInvocation {
  readonly file: "bash";
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Wraps a command string of the workflow file, unmodified: it travels in the environment and is never spliced into a script. A held
 * one begins with the first line of its stdin, which isn't the command's, and ends with 125 when there is none.
 */
export function loginShell({
  command,
  env,
  marker,
  held = false,
}: {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
  readonly marker: string;
  readonly held?: boolean;
}): ShellInvocation {
  // Bash would read BASH_ENV before the script's first line, with the real pipes.
  const { BASH_ENV: bashEnv = "", ...rest } = env;
  return {
    file: "bash",
    // The script comes by the environment so that a process list stays readable.
    args: ["-c", 'builtin eval "$SYMPHONY_SHELL"'],
    env: {
      ...rest,
      [MARKER_VARIABLE]: marker,
      SYMPHONY_SHELL: SCRIPT,
      SYMPHONY_COMMAND: command,
      SYMPHONY_FUNCTIONS: givenFunctions(env),
      SYMPHONY_BASH_ENV: bashEnv,
      SYMPHONY_HELD: held ? "1" : "",
    },
  };
}
