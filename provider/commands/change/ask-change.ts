import { refang } from "../../settings/refang";
import { parseTerm } from "../../settings/term";
import { printable } from "../../settings/text";
import type { ChangeOptions, ListWord } from "./change-options";

/** What a person has answered. */
export interface Answered {
  readonly list: ListWord;
  readonly values: readonly string[];
  readonly options: ChangeOptions;
}

/** Asks what is to be added, question by question; undefined when the person goes away. */
export async function askWhatToAdd(options: ChangeOptions): Promise<Answered | undefined> {
  const prompts = await import("@clack/prompts");
  const { isCancel, text } = prompts;
  const today = new Date().toISOString().slice(0, 10);
  const gone = (): undefined => {
    prompts.cancel("Nothing was written.");
    return undefined;
  };
  prompts.intro("Add to the settings files");
  const list = await prompts.select<ListWord>({
    message: "Which list?",
    options: [
      { value: "deny", label: "deny", hint: "block a sender" },
      { value: "allow", label: "allow", hint: "let a sender through" },
      { value: "vip", label: "vip", hint: "protect a person" },
    ],
  });
  if (isCancel(list)) return gone();
  const values = await text({
    message: list === "vip" ? "Which mailboxes?" : "Which domains, addresses or mailboxes?",
    placeholder: list === "vip" ? "jane.doe@acme.example" : "evil.example hxxps://bad[.]example/path",
    validate: (given) => refusalOfValues(given ?? "", list),
  });
  if (isCancel(values)) return gone();
  const until = await text({
    message: "For how long?",
    placeholder: "30d, 6w, 2026-12-31 or never; nothing says no end",
    defaultValue: options.for ?? "",
    validate: (given) => {
      if (!given) return undefined;
      const parsed = parseTerm(given, today);
      return parsed.ok ? undefined : parsed.reason;
    },
  });
  if (isCancel(until)) return gone();
  const facts: Record<string, string> = {};
  for (const [name, message] of QUESTIONS) {
    const answer = await text({
      message,
      placeholder: "Enter leaves it away",
      defaultValue: options[name] ?? "",
      validate: refusalOfText,
    });
    if (isCancel(answer)) return gone();
    if (answer !== "") facts[name] = answer;
  }
  const term = parseTerm(until, today);
  return {
    list,
    values: split(values),
    options: { ...options, ...facts, ...(until !== "" && term.ok ? { for: term.value } : {}) },
  };
}

/** Asks whether what was shown is meant. */
export async function isConfirmed(message = "Write it?"): Promise<boolean> {
  const prompts = await import("@clack/prompts");
  const answer = await prompts.confirm({ message, initialValue: false });
  if (answer === true) return true;
  prompts.cancel("Nothing was written.");
  return false;
}

const QUESTIONS = [
  ["ticket", "On what ticket?"],
  ["comment", "Why? The service keeps it as the comment."],
  ["owner", "Who answers for it?"],
] as const;

function split(values: string): string[] {
  return values.split(/[\s,;]+/).filter((one) => one !== "");
}

function refusalOfValues(given: string, list: ListWord): string | undefined {
  const all = split(given);
  if (all.length === 0) return "Write one or more, with spaces between.";
  for (const one of all) {
    const read = refang(one);
    if (!read.ok) return printable(read.reason);
    if (list === "vip" && read.value.entryType !== "email_address") return `${printable(one)} is no mailbox`;
  }
  return undefined;
}

function refusalOfText(given: string | undefined): string | undefined {
  if (!given) return undefined;
  return printable(given) === given && given.trim() === given
    ? undefined
    : "One line of plain text, without white space around.";
}
