import { Argument, Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT } from "../../cli/exit-codes";

export const SHELLS = ["bash", "zsh", "fish"] as const;

/** The hidden subcommand that a shell script calls: `email-security complete -- WORD…`. */
const COMPLETE_COMMAND = "complete";

/** Builds `email-security completion SHELL`, which prints a script that completes subcommands, options and files. */
export function createCompletionCommand(): Command {
  return addHelp(
    new Command("completion")
      .description("Print a script that completes commands, options and files in a shell")
      .addArgument(new Argument("<shell>", "Shell to generate the script for").choices(SHELLS))
      .action(async (shell: (typeof SHELLS)[number]) => {
        const { script } = await import("@bomb.sh/tab");
        const text = captureLog(() => script(shell, "email-security", "email-security")).join("\n");
        // A shell may read its startup file twice, and `readonly` fails the second time.
        console.log(shell === "bash" ? text.replace(/^(\s*)readonly /gm, "$1") + BASH_FALLBACK : text);
      }),
    {
      examples: [
        { purpose: "Set up bash, in ~/.bashrc: source <(email-security completion bash)", line: "completion bash" },
        {
          purpose: "Set up zsh, in ~/.zshrc after compinit: source <(email-security completion zsh)",
          line: "completion zsh",
        },
        { purpose: "Set up fish, in ~/.config/fish/completions/email-security.fish", line: "completion fish" },
      ],
      exits: { [EXIT.clean]: "The script is printed", [EXIT.error]: "Unknown shell" },
    },
  );
}

/** Extends the library's script for bash: falls back to file names, and works without bash-completion. */
const BASH_FALLBACK = `
complete -o default -F __email_security_complete email-security
declare -F _get_comp_words_by_ref > /dev/null || _get_comp_words_by_ref() {
    words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD
    cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]}
}`;

export function createCompleteCommand(createProgram: () => Command): Command {
  return new Command(COMPLETE_COMMAND).argument("[words...]").action(async (words: string[]) => {
    const { default: tab } = await import("@bomb.sh/tab/commander");
    // The library adds a subcommand of its own, which users don't need.
    const completions = tab(createProgram(), { completionCommandName: "completion" });
    const completionEntry = completions.commands.get("completion");
    if (completionEntry !== undefined) completionEntry.description = createCompletionCommand().description();
    const lines = captureCompletions(() => completions.parse(words));
    process.stdout.write(lines.map((line) => `${line}\n`).join(""));
  });
}

/** The directive that makes the shell complete file names. */
const FILE_COMPLETION = ":0";

/** Captures the library's output, or falls back to file names if it has no candidates. */
function captureCompletions(callback: () => void): string[] {
  const lines = captureLog(callback);
  return lines.length > 1 ? lines : [FILE_COMPLETION];
}

function captureLog(callback: () => void): string[] {
  const { log } = console;
  const lines: string[] = [];
  console.log = (line: string) => lines.push(line);
  try {
    callback();
  } finally {
    console.log = log;
  }
  return lines;
}
