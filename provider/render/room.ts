/**
 * Renders a head and as many items as fit: in their first form, then in shorter forms. `more` summarizes the rest.
 *
 * @param forms the items in each form; rendered only if they fit.
 */
export function filled(
  head: string,
  forms: readonly (readonly (() => string)[])[],
  room: number,
  more: (rest: number) => string,
): string {
  const total = forms[0]?.length ?? 0;
  const parts = [head];
  let left = room - bytesOf(head);
  let shown = 0;
  for (const [index, items] of forms.entries()) {
    // If not all items fit, half of the space is for shorter forms.
    const kept = index === forms.length - 1 || fits(items, left) ? MORE : Math.max(MORE, room / 2);
    while (shown < total) {
      const text = items[shown]?.() ?? "";
      if (bytesOf(text) + (shown === total - 1 ? 0 : kept) > left) break;
      parts.push(text);
      left -= bytesOf(text);
      shown++;
    }
  }
  if (shown < total) parts.push(`\n${more(total - shown)}`);
  return parts.join("");
}

function fits(items: readonly (() => string)[], room: number): boolean {
  let left = room - MORE;
  return items.every((item) => {
    left -= bytesOf(item());
    return left >= 0;
  });
}

/** The maximum size of the summary. */
const MORE = 1_200;

/** Returns the size in UTF-8. */
export function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}
