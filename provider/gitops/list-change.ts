import type { Element, Section } from "../files/edit";
import type { textsOf } from "../files/element-fields";
import type { Place } from "../files/finding";
import type { DeclaredEntry, DeclaredVip } from "../files/settings";
import type { Reviewed } from "../files/settings-schema";
import type { Transition } from "../settings/danger";
import { EmailSecurityError } from "../settings/email-security-error";
import type { Refanged } from "../settings/refang";

/** What a person says of what is added, moved or extended, as a settings file holds it. */
export type Facts = ReturnType<typeof textsOf>;

/** A change of the lists that somebody asks for. */
export type ListChange =
  | {
      readonly do: "add";
      readonly section: Section;
      readonly values: readonly Refanged[];
      /** The verdict scope. Default: as the service has it. */
      readonly scope?: string;
      readonly facts: Facts;
    }
  | {
      readonly do: "remove" | "extend" | "keep";
      readonly values: readonly Refanged[];
      /** Where the values are. Default: wherever each is, if that is one place. */
      readonly section?: Section;
      readonly scope?: string;
      readonly facts: Facts;
      /** The decision, of who looked at it; what stays holds it from then on. */
      readonly reviewed?: Reviewed;
    }
  | {
      readonly do: "move";
      readonly values: readonly Refanged[];
      readonly to: "allow" | "deny";
      readonly scope?: string;
      readonly facts: Facts;
    };

/** One value of a change. */
export interface Step {
  readonly value: Refanged;
  readonly section: Section;
  /** What happens: "deny evil.example until 2026-12-23". */
  readonly what: string;
  /** What is there already and why, a sentence each. */
  readonly told: readonly string[];
  /** What the files declare of it, where something is changed that stands. */
  readonly element?: Element;
  /** Whether there is nothing to do. */
  readonly isDone: boolean;
  /** Whether what stands is not what was asked for, and is left to the person. */
  readonly isLeft: boolean;
}

/** Returns what a step of a change does to what the files declare. */
export function stepTransition(change: ListChange): (step: Step) => Transition {
  return ({ section }) => {
    const list = section === "vips" ? "vip" : section;
    if (change.do === "add") return { to: list };
    if (change.do === "move") return { from: change.to === "allow" ? "deny" : "allow", to: change.to };
    return change.do === "remove" ? { from: list } : { from: list, to: list };
  };
}

/** Something that stands in the files. */
export type Declaration = DeclaredEntry | DeclaredVip;

/** A change is refused, with every reason; nothing is written. */
export class ChangeRefusedError extends EmailSecurityError {
  constructor(reasons: readonly string[]) {
    const shown = reasons.slice(0, SHOWN).map((reason) => `  ${reason.replaceAll("\n", "\n  ")}`);
    const more = reasons.length > SHOWN ? [`  … and ${reasons.length - SHOWN} more`] : [];
    super("ERR_CHANGE_REFUSED", ["Nothing was written:", ...shown, ...more].join("\n"));
  }
}

const SHOWN = 50;

/** The section in which something is declared. */
export function sectionOf(one: Declaration): Section {
  return one.kind === "vip" ? "vips" : one.list;
}

/** A list as the command line calls it. */
export function listName(section: Section): string {
  return section === "vips" ? "vip" : section;
}

/** Where something is declared, and where else. */
export function placesOf(one: Declaration): readonly Place[] {
  return [one.place, ...one.overrides];
}
