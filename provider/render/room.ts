/**
 * A head, and as many items as have room: in their first form, then in the next shorter one. What has none is told by `more`.
 *
 * @param forms of each form all items; they are made only when there is room for them.
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
    // Where not all can be told, half is left for naming more of them.
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

/** What telling the rest takes, at most. */
const MORE = 1_200;

/** What it takes in UTF-8. */
export function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}
