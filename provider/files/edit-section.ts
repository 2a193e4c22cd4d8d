import type { Element } from "../settings/entry-fields";
import type { Said } from "./edit-element";
import type { ElementFieldName } from "./element-fields";
import type { Reviewed } from "./settings-schema";

/** The sections of a settings file that declare something. */
export type Section = "vips" | "allow" | "deny";

/** One change of a settings file. An element is named by its value, as somebody wrote it or in canonical form. */
export type Edit =
  | {
      readonly do: "add";
      readonly section: Section;
      readonly element: Element;
      /** A comment of YAML above it. Not written where there is no place for one, as within JSON. */
      readonly note?: string;
      /** The decision that it stays, which stands within it. */
      readonly reviewed?: Reviewed;
    }
  | {
      readonly do: "remove";
      readonly section: Section;
      readonly value: string;
      /** The verdict scope, where the section has the value in several. */
      readonly scope?: string;
    }
  | {
      readonly do: "set";
      readonly section: Section;
      readonly value: string;
      readonly scope?: string;
      readonly key: ElementFieldName;
      /** Undefined takes the key away. */
      readonly to: string | undefined;
    }
  | {
      readonly do: "set";
      readonly section: Section;
      readonly value: string;
      readonly scope?: string;
      readonly key: "reviewed";
      readonly to: Reviewed | undefined;
    };

/** One section, as it is edited. */
export interface SectionText {
  readonly name: Section;
  /** What of the file it takes the place of. */
  readonly start: number;
  readonly end: number;
  add(element: Readonly<Record<string, Said>>, note: string | undefined): void;
  remove(value: string, scope: string | undefined): void;
  set(value: string, scope: string | undefined, key: string, to: Said | undefined): void;
  text(): string;
}

/** All that an element which is added says. */
export function elementOf({
  element,
  reviewed,
}: Extract<Edit, { readonly do: "add" }>): Readonly<Record<string, Said>> {
  return reviewed === undefined ? { ...element } : { ...element, reviewed };
}
