import type { Transition } from "../model/danger";
import { EmailSecurityError } from "../model/email-security-error";
import type { RefangedValue } from "../model/refang";
import type { pickTextFields } from "../settings-files/element-fields";
import type { FileLocation } from "../settings-files/finding";
import type { SectionName, SettingsElement } from "../settings-files/settings-editor";
import type { DeclaredEntry, DeclaredVip } from "../settings-files/settings-model";
import type { ElementReview } from "../settings-files/settings-schema";

/** The metadata that a person provides for added, moved or extended elements, as in a settings file. */
export type EntryMetadata = ReturnType<typeof pickTextFields>;

export type ListChange =
  | {
      readonly action: "add";
      readonly section: SectionName;
      readonly values: readonly RefangedValue[];
      /** The verdict scope. Default: the service's default. */
      readonly scope?: string;
      readonly metadata: EntryMetadata;
    }
  | {
      readonly action: "remove" | "extend" | "keep";
      readonly values: readonly RefangedValue[];
      /** The section of the values. Default: found for each value, if unambiguous. */
      readonly section?: SectionName;
      readonly scope?: string;
      readonly metadata: EntryMetadata;
      /** The decision and its reviewer; kept elements get this review. */
      readonly reviewed?: ElementReview;
    }
  | {
      readonly action: "move";
      readonly values: readonly RefangedValue[];
      readonly to: "allow" | "deny";
      readonly scope?: string;
      readonly metadata: EntryMetadata;
    };

export interface ChangeStep {
  readonly value: RefangedValue;
  readonly section: SectionName;
  readonly description: string;
  /** Explanations of existing declarations, one sentence each. */
  readonly notes: readonly string[];
  /** The existing declaration, if one is changed. */
  readonly element?: SettingsElement;
  /** Whether there is nothing to do. */
  readonly isDone: boolean;
  /** Whether the existing declaration differs from the request, so that a person must decide. */
  readonly isUnresolved: boolean;
}

export function createTransitionGetter(change: ListChange): (step: ChangeStep) => Transition {
  return ({ section }) => {
    const list = section === "vips" ? "vip" : section;
    if (change.action === "add") return { to: list };
    if (change.action === "move") return { from: change.to === "allow" ? "deny" : "allow", to: change.to };
    return change.action === "remove" ? { from: list } : { from: list, to: list };
  };
}

export type DeclaredItem = DeclaredEntry | DeclaredVip;

export class ChangeRejectedError extends EmailSecurityError {
  constructor(reasons: readonly string[]) {
    const lines = reasons.slice(0, MAX_REASONS).map((reason) => `  ${reason.replaceAll("\n", "\n  ")}`);
    const moreLines = reasons.length > MAX_REASONS ? [`  … and ${reasons.length - MAX_REASONS} more`] : [];
    super("ERR_CHANGE_REJECTED", ["Nothing was written:", ...lines, ...moreLines].join("\n"));
  }
}

const MAX_REASONS = 50;

export function getSection(element: DeclaredItem): SectionName {
  return element.kind === "vip" ? "vips" : element.list;
}

export function getListName(section: SectionName): string {
  return section === "vips" ? "vip" : section;
}

/** Returns all locations of a declaration, including overridden ones. */
export function getDeclarationLocations(element: DeclaredItem): readonly FileLocation[] {
  return [element.location, ...element.overrides];
}
