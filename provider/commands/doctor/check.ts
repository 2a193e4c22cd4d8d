import type { Contact } from "./contact";

/** `warn`: it works, and something is to be looked at. `skipped`: what it needs is missing already. */
export type Health = "ok" | "warn" | "fail" | "skipped";

/** What was found of one thing. */
export interface Observation {
  readonly health: Health;
  /** In a sentence, without what is to be done. */
  readonly found: string;
  /** What to do, where something is to be done. */
  readonly advice?: string;
}

/** One thing that is looked at. */
export interface Check {
  /** A stable name, in kebab case. */
  readonly name: string;
  /** Without these it says nothing: when one of them has failed or was left out, it is left out. */
  readonly needs?: readonly string[];
  look(context: Patient): Observation | Promise<Observation>;
}

/** What the checks look at, and what they tell each other. */
export interface Patient {
  readonly environment: NodeJS.ProcessEnv;
  readonly packageVersion: string;
  /** The working folder. */
  readonly folder: string;
  /** Settings files or folders; undefined for those that lint looks for by itself. */
  readonly files: readonly string[] | undefined;
  /** Milliseconds since 1970, as this machine has it. */
  readonly now: () => number;
  /** How the service answered a first request, made once. Only after the address was found good. */
  contact(): Promise<Contact>;
}

export const ok = (message: string): Observation => ({ health: "ok", found: message });
export const warn = (message: string, advice: string): Observation => ({
  health: "warn",
  found: message,
  advice,
});
export const fail = (message: string, advice: string): Observation => ({
  health: "fail",
  found: message,
  advice,
});
export const skipped = (message: string): Observation => ({ health: "skipped", found: message });
