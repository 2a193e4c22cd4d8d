import * as pulumi from "@pulumi/pulumi";
import { InvalidArgumentError } from "../client/errors";
import type { ListKind } from "../model/list-arguments";
import { encodeListContent } from "../model/list-check";
import { excerpt } from "../model/text";
import { isElementPath } from "./ignored-changes";

/** The arguments that all lists share, in addition to their content. */
export interface ListArgs {
  /**
   * Patterns of entries that the list never changes unless it declares them, in any mode: `partner.example`,
   * `*@board.example`, `192.0.2.0/24`. The allow/deny list also accepts `allow:*.partner.example`.
   */
  readonly ignore?: pulumi.Input<readonly pulumi.Input<string>[]> | undefined;
  /**
   * Patterns of required entries. At least one declared entry must match each pattern, and a matching entry is never
   * removed.
   */
  readonly protect?: pulumi.Input<readonly pulumi.Input<string>[]> | undefined;
  /** The maximum number of removals in one run. Replaces the default limits. */
  readonly maxRemovals?: pulumi.Input<number> | undefined;
  /**
   * The maximum fraction of the list that one run may remove, from 0 to 1. Default: 0.3, but removals of fewer than 10
   * entries are always allowed. Only 1 allows emptying the list.
   */
  readonly maxRemovalFraction?: pulumi.Input<number> | undefined;
  /** The exact number of removals that you reviewed and confirm. Allows one run to exceed the limits once. */
  readonly confirmRemovals?: pulumi.Input<number> | undefined;
}

/**
 * Encodes the content as a map by key, in the program, if it is plain and valid. Pulumi's options, transforms and mocks then address elements
 * by the same keys as the state. It is also much faster: passing thousands of objects through the engine takes longer than everything else.
 * Encodes an output once it resolves. Returns other content unchanged, so that `check` reports the problem.
 *
 * @throws {InvalidArgumentError} if `ignoreChanges` names an element of an array that can't be encoded yet.
 */
export function encodePlainContent(kind: ListKind, content: unknown, ignoredPaths: readonly string[] = []): unknown {
  const encode = (resolvedContent: unknown): unknown => encodePlainContent(kind, resolvedContent, ignoredPaths);
  if (pulumi.Output.isInstance(content)) return content.apply(encode);
  if (content instanceof Promise) return content.then(encode);
  if (isPlainInput(content)) return encodeListContent(kind, content) ?? content;
  // Pulumi tracks secrets by key, so under a new key the value would become plain text.
  if (hasRenamedKey(kind, content)) return (pulumi.output(content) as pulumi.Output<unknown>).apply(encode);
  const ineffectivePath = Array.isArray(content) ? ignoredPaths.find((path) => isElementPath(kind, path)) : undefined;
  if (ineffectivePath === undefined) return content;
  throw new InvalidArgumentError(
    `ignoreChanges: ${excerpt(ineffectivePath, 300)} has no effect, because ${kind.property} is an array with values that aren't known yet. Write ${kind.property} as a map, with the keys of its elements. Nothing was changed.`,
  );
}

/** Whether a map has an output or secret under a key that encoding would change. */
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
 * Returns the label by which `check` identifies the resource: a number that is unique in the program, and the name for
 * messages. The name alone isn't unique, because resources with different parents may share it.
 */
export function buildResourceLabel(name: string): string {
  nameCount += 1;
  return `${nameCount}:${name}`;
}

/** Returns whether a value contains no output or promise, down to the depth of a list. */
function isPlainInput(value: unknown, depth = 3): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (pulumi.Output.isInstance(value) || value instanceof Promise || depth === 0) return false;
  return Object.values(value).every((inner) => isPlainInput(inner, depth - 1));
}
