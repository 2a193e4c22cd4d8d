import * as pulumi from "@pulumi/pulumi";
import { InvalidArgumentError } from "../client/errors";
import type { ListKind } from "../settings/list-arguments";
import { encodeListContent } from "../settings/list-check";
import { excerpt } from "../settings/text";
import { isElementPath } from "./ignored-changes";

/** What every list takes beside its content. */
export interface ListArgs {
  /**
   * Patterns of what is never touched unless it is declared, whatever the mode: `partner.example`,
   * `*@board.example`, `192.0.2.0/24`; on the allow/deny list also `allow:*.partner.example`.
   */
  readonly ignore?: pulumi.Input<readonly pulumi.Input<string>[]> | undefined;
  /** Patterns of what must be declared: each by at least one, and none that they name is ever removed. */
  readonly protect?: pulumi.Input<readonly pulumi.Input<string>[]> | undefined;
  /** The most that one run may remove. Where it is given, it holds instead of the defaults. */
  readonly maxRemovals?: pulumi.Input<number> | undefined;
  /**
   * The largest share of the list that one run may remove, 0 to 1. Default: 0.3, and fewer than 10 are never too many.
   * Only 1 lets a list be emptied.
   */
  readonly maxRemovalFraction?: pulumi.Input<number> | undefined;
  /** The exact number of removals that was looked at and is meant: lets one run go beyond the limits, once. */
  readonly confirmRemovals?: pulumi.Input<number> | undefined;
}

/**
 * The content in its keyed form already in the program, where it is plain and without a mistake: by its keys Pulumi's options,
 * transforms and mocks name an element, as state does, and thousands of objects would cost more on their way through the
 * engine than all the rest. What comes later, as an output, is keyed then. Anything else goes as it is, for check to tell.
 *
 * @throws {InvalidArgumentError} where `ignoreChanges` names an element of an array that can't be keyed yet.
 */
export function encodePlainContent(kind: ListKind, content: unknown, ignoredPaths: readonly string[] = []): unknown {
  const encode = (resolvedContent: unknown): unknown => encodePlainContent(kind, resolvedContent, ignoredPaths);
  if (pulumi.Output.isInstance(content)) return content.apply(encode);
  if (content instanceof Promise) return content.then(encode);
  if (isPlainInput(content)) return encodeListContent(kind, content) ?? content;
  // Pulumi keeps a secret as one by its key: under another it would be in the clear.
  if (hasRenamedKey(kind, content)) return (pulumi.output(content) as pulumi.Output<unknown>).apply(encode);
  const ineffectivePath = Array.isArray(content) ? ignoredPaths.find((path) => isElementPath(kind, path)) : undefined;
  if (ineffectivePath === undefined) return content;
  throw new InvalidArgumentError(
    `ignoreChanges: ${excerpt(ineffectivePath, 300)} ignores nothing, for ${kind.property} is an array with values that come later. Write ${kind.property} as a map, by the keys of its elements. Nothing was changed.`,
  );
}

/** Whether a map has a key of a value that comes later, or is secret, which is another one in the keyed form. */
function hasRenamedKey(kind: ListKind, content: unknown): boolean {
  if (typeof content !== "object" || content === null || Array.isArray(content)) return false;
  const sampleTexts = ["deny", ""];
  return Object.entries(content).some(
    ([key, value]) =>
      !isPlainInput(value) &&
      sampleTexts.every((text) => !Object.hasOwn(encodeListContent(kind, { [key]: text }) ?? {}, key)),
  );
}

let nameCount = 0;

/**
 * What check is told of the resource: a number that no other resource of the program has, for a name may stand in a
 * program more than once, under different parents; and the name, for people.
 */
export function buildResourceLabel(name: string): string {
  nameCount += 1;
  return `${nameCount}:${name}`;
}

/** Whether all of it is known now: no output and no promise in it, at the depth that a list has. */
function isPlainInput(value: unknown, depth = 3): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (pulumi.Output.isInstance(value) || value instanceof Promise || depth === 0) return false;
  return Object.values(value).every((inner) => isPlainInput(inner, depth - 1));
}
