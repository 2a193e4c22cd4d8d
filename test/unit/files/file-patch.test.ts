import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import fc from "fast-check";
import { expect, it } from "vitest";
import { patchBetween } from "../../../provider/files/file-patch";

it("is the patch of the whole texts, wherever they differ", () => {
  const line = fc.constantFrom("", "a", "b", "c", "  - d.example");
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 20 }),
      fc.array(line, { maxLength: 3 }),
      fc.array(line, { minLength: 1, maxLength: 3 }),
      fc.array(line, { maxLength: 20 }),
      fc.constantFrom("\n", "\r\n"),
      fc.boolean(),
      (above, old, now, below, lineEnd, isOpen) => {
        // Each line is one of its own, so that there is one way alone to tell what differs.
        const textOf = (...lines: string[]): string => lines.join(lineEnd) + (isOpen ? "" : lineEnd);
        const numbered = (lines: string[], name: string) => lines.map((one, at) => `${one} ${name}${at}`);
        const [first, last] = [numbered(above, "above"), numbered(below, "below")];
        const before = textOf(...first, ...numbered(old, "old"), ...last);
        const after = textOf(...first, ...numbered(now, "now"), ...last);
        const whole = createTwoFilesPatch("a/x", "b/x", before, after, undefined, undefined, {
          headerOptions: FILE_HEADERS_ONLY,
        });
        expect(patchBetween("x", before, after)).toBe(whole);
      },
    ),
    { numRuns: 300 },
  );
});
