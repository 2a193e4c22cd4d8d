/**
 * Renders a head and as many items as fit: in their first form, then in shorter forms. `more` summarizes the rest.
 *
 * @param variants the items in each form; rendered only if they fit.
 */
export function renderWithinLimit(
  header: string,
  variants: readonly (readonly (() => string)[])[],
  maxBytes: number,
  describeHidden: (hiddenCount: number) => string,
): string {
  const total = variants[0]?.length ?? 0;
  const parts = [header];
  let remainingBytes = maxBytes - getByteLength(header);
  let shownCount = 0;
  for (const [index, items] of variants.entries()) {
    // If not all items fit, half of the space is for shorter forms.
    const reservedBytes =
      index === variants.length - 1 || fits(items, remainingBytes)
        ? HIDDEN_NOTE_BYTES
        : Math.max(HIDDEN_NOTE_BYTES, maxBytes / 2);
    while (shownCount < total) {
      const text = items[shownCount]?.() ?? "";
      if (getByteLength(text) + (shownCount === total - 1 ? 0 : reservedBytes) > remainingBytes) break;
      parts.push(text);
      remainingBytes -= getByteLength(text);
      shownCount++;
    }
  }
  if (shownCount < total) parts.push(`\n${describeHidden(total - shownCount)}`);
  return parts.join("");
}

function fits(items: readonly (() => string)[], maxBytes: number): boolean {
  let remainingBytes = maxBytes - HIDDEN_NOTE_BYTES;
  return items.every((item) => {
    remainingBytes -= getByteLength(item());
    return remainingBytes >= 0;
  });
}

const HIDDEN_NOTE_BYTES = 1_200;

export function getByteLength(text: string): number {
  return Buffer.byteLength(text);
}
