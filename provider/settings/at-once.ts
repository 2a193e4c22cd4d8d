/**
 * Does a work for each of some things, so many at once, in their order. Where one fails, whoever did it begins no other, and
 * its failure is thrown.
 */
export async function eachAtOnce<T>(
  things: Iterable<T>,
  atOnce: number,
  work: (thing: T) => Promise<void>,
): Promise<void> {
  const waiting = [...things].values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const thing of waiting) await work(thing);
    }),
  );
}
