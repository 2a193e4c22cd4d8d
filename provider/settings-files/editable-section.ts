import type { SettingsElement } from "../model/entry-fields";
import type { FieldValue } from "./edit-element";
import type { ElementFieldName } from "./element-fields";
import type { ElementReview } from "./settings-schema";

export type SectionName = "vips" | "allow" | "deny";

/** An edit of one element in a settings file. `value`, as written or in canonical form, identifies the element. */
export type Edit =
  | {
      readonly action: "add";
      readonly section: SectionName;
      readonly element: SettingsElement;
      /** A YAML comment above it. Omitted if there is no space for one, as in JSON. */
      readonly yamlComment?: string;
      readonly reviewed?: ElementReview;
    }
  | {
      readonly action: "remove";
      readonly section: SectionName;
      readonly value: string;
      /** The verdict scope, if the section has the value in several scopes. */
      readonly scope?: string;
    }
  | {
      readonly action: "set";
      readonly section: SectionName;
      readonly value: string;
      readonly scope?: string;
      readonly key: ElementFieldName;
      /** Undefined removes the key. */
      readonly newValue: string | undefined;
    }
  | {
      readonly action: "set";
      readonly section: SectionName;
      readonly value: string;
      readonly scope?: string;
      readonly key: "reviewed";
      readonly newValue: ElementReview | undefined;
    };

export interface EditableSection {
  readonly name: SectionName;
  /** The range of the file that the section replaces. */
  readonly start: number;
  readonly end: number;
  add(element: Readonly<Record<string, FieldValue>>, yamlComment: string | undefined): void;
  remove(value: string, scope: string | undefined): void;
  set(value: string, scope: string | undefined, key: string, newValue: FieldValue | undefined): void;
  render(): string;
}

/** Returns all fields of an added element. */
export function buildElementFields({
  element,
  reviewed,
}: Extract<Edit, { readonly action: "add" }>): Readonly<Record<string, FieldValue>> {
  return reviewed === undefined ? { ...element } : { ...element, reviewed };
}
