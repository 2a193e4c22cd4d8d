import { Diff } from "diff";
import { Lexer } from "yaml";

type AnyMethod = (this: unknown, ...args: never[]) => unknown;

const SEARCHES = ["find", "findIndex", "findLast", "some", "every", "map", "filter", "flatMap"];

/**
 * Counts the steps of some work: elements visited by array methods, characters read by YAML's parser and by regular
 * expressions, and lines compared for a patch. Unlike time, the count is the same on every machine, so a test can
 * assert how it grows.
 */
export function countSteps(work: () => void): number {
  let steps = 0;
  const countText = (method: AnyMethod): AnyMethod =>
    function (this: unknown, ...args) {
      steps += String(args[0]).length;
      return method.apply(this, args);
    };
  const countElements = (method: AnyMethod): AnyMethod =>
    function (this: unknown, ...args) {
      const [visit, ...rest] = args as unknown as [AnyMethod, ...never[]];
      const countStep: AnyMethod = function (this: unknown, ...args) {
        steps += 1;
        return visit.apply(this, args);
      };
      return method.apply(this, [countStep as never, ...rest]);
    };
  const countCall = (method: AnyMethod): AnyMethod =>
    function (this: unknown, ...args) {
      steps += 1;
      return method.apply(this, args);
    };
  const restore = [
    ...SEARCHES.map((name) => replaceMethod(Array.prototype, name, countElements)),
    replaceMethod(RegExp.prototype, "test", countText),
    replaceMethod(Lexer.prototype, "lex", countText),
    replaceMethod(Diff.prototype, "equals", countCall),
  ];
  try {
    work();
    return steps;
  } finally {
    for (const item of restore) item();
  }
}

function replaceMethod(prototype: object, name: string, replacement: (method: AnyMethod) => AnyMethod): () => void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name) as PropertyDescriptor;
  Object.defineProperty(prototype, name, { ...descriptor, value: replacement(descriptor.value) });
  return () => Object.defineProperty(prototype, name, descriptor);
}
