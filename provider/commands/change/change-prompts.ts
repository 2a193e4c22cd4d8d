import { parseTerm } from "../../model/expiry-term";
import { refang } from "../../model/refang";
import { sanitizeLine } from "../../model/text";
import type { ChangeOptions, ListName } from "./change-options";

export interface AddAnswers {
  readonly list: ListName;
  readonly values: readonly string[];
  readonly options: ChangeOptions;
}

/** Prompts for the values to add. Undefined if the user cancels. */
export async function promptForAddition(options: ChangeOptions): Promise<AddAnswers | undefined> {
  const prompts = await import("@clack/prompts");
  const { isCancel, text } = prompts;
  const today = new Date().toISOString().slice(0, 10);
  const cancel = (): undefined => {
    prompts.cancel("Nothing was written.");
    return undefined;
  };
  prompts.intro("Add to the settings files");
  const list = await prompts.select<ListName>({
    message: "Which list?",
    options: [
      { value: "deny", label: "deny", hint: "block a sender" },
      { value: "allow", label: "allow", hint: "deliver mail from a sender" },
      { value: "vip", label: "vip", hint: "protect a person" },
    ],
  });
  if (isCancel(list)) return cancel();
  const values = await text({
    message: list === "vip" ? "Which mailboxes?" : "Which domains, addresses or mailboxes?",
    placeholder: list === "vip" ? "jane.doe@acme.example" : "evil.example hxxps://bad[.]example/path",
    validate: (input) => validateValueInput(input ?? "", list),
  });
  if (isCancel(values)) return cancel();
  const termInput = await text({
    message: "For how long?",
    placeholder: "30d, 6w, 2026-12-31 or never; leave empty for no expiry",
    defaultValue: options.for ?? "",
    validate: (input) => {
      if (!input) return undefined;
      const parsed = parseTerm(input, today);
      return parsed.ok ? undefined : parsed.reason;
    },
  });
  if (isCancel(termInput)) return cancel();
  const details: Record<string, string> = {};
  for (const [name, message] of QUESTIONS) {
    const answer = await text({
      message,
      placeholder: "Press Enter to skip",
      defaultValue: options[name] ?? "",
      validate: validateDetailInput,
    });
    if (isCancel(answer)) return cancel();
    if (answer !== "") details[name] = answer;
  }
  const term = parseTerm(termInput, today);
  return {
    list,
    values: splitValues(values),
    options: { ...options, ...details, ...(termInput !== "" && term.ok ? { for: term.value } : {}) },
  };
}

export async function promptConfirmation(message = "Write it?"): Promise<boolean> {
  const prompts = await import("@clack/prompts");
  const answer = await prompts.confirm({ message, initialValue: false });
  if (answer === true) return true;
  prompts.cancel("Nothing was written.");
  return false;
}

const QUESTIONS = [
  ["ticket", "Which ticket?"],
  ["comment", "Why? The service keeps it as the comment."],
  ["owner", "Who is responsible for it?"],
] as const;

function splitValues(values: string): string[] {
  return values.split(/[\s,;]+/).filter((value) => value !== "");
}

function validateValueInput(input: string, list: ListName): string | undefined {
  const values = splitValues(input);
  if (values.length === 0) return "Enter one or more, separated by spaces.";
  for (const value of values) {
    const parsed = refang(value);
    if (!parsed.ok) return sanitizeLine(parsed.reason);
    if (list === "vip" && parsed.value.entryType !== "email_address") return `${sanitizeLine(value)} isn't a mailbox`;
  }
  return undefined;
}

function validateDetailInput(input: string | undefined): string | undefined {
  if (!input) return undefined;
  return sanitizeLine(input) === input && input.trim() === input
    ? undefined
    : "Enter one line of plain text, without leading or trailing white space.";
}
