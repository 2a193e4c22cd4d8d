import * as pulumi from "@pulumi/pulumi";
import { InvalidArgumentError } from "../client/errors";
import type { ListKind } from "../settings/list-arguments";
import { keyedContent } from "../settings/list-check";
import { excerpt } from "../settings/text";
import { namesElement } from "./ignored-changes";

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
export function keyedWherePlain(kind: ListKind, content: unknown, ignored: readonly string[] = []): unknown {
  const keyed = (known: unknown): unknown => keyedWherePlain(kind, known, ignored);
  if (pulumi.Output.isInstance(content)) return content.apply(keyed);
  if (content instanceof Promise) return content.then(keyed);
  if (isPlain(content)) return keyedContent(kind, content) ?? content;
  // Pulumi keeps a secret as one by its key: under another it would be in the clear.
  if (isKeyedOtherwise(kind, content)) return (pulumi.output(content) as pulumi.Output<unknown>).apply(keyed);
  const unheard = Array.isArray(content) ? ignored.find((path) => namesElement(kind, path)) : undefined;
  if (unheard === undefined) return content;
  throw new InvalidArgumentError(
    `ignoreChanges: ${excerpt(unheard, 300)} ignores nothing, for ${kind.property} is an array with values that come later. Write ${kind.property} as a map, by the keys of its elements. Nothing was changed.`,
  );
}

/** Whether a map has a key of a value that comes later, or is secret, which is another one in the keyed form. */
function isKeyedOtherwise(kind: ListKind, content: unknown): boolean {
  if (typeof content !== "object" || content === null || Array.isArray(content)) return false;
  const texts = ["deny", ""];
  return Object.entries(content).some(
    ([key, value]) =>
      !isPlain(value) &&
      texts.every((text) => !Object.hasOwn(keyedContent(kind, { [key]: text }) ?? {}, key)),
  );
}

let count = 0;

/**
 * What check is told of the resource: a number that no other resource of the program has, for a name may stand in a
 * program more than once, under different parents; and the name, for people.
 */
export function ownName(name: string): string {
  count += 1;
  return `${count}:${name}`;
}

/** Whether all of it is known now: no output and no promise in it, at the depth that a list has. */
function isPlain(value: unknown, depth = 3): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (pulumi.Output.isInstance(value) || value instanceof Promise || depth === 0) return false;
  return Object.values(value).every((one) => isPlain(one, depth - 1));
}
