/**
 * Does a work for each of some things, so many at once, in their order. Where one fails, whoever did it begins no other, and
 * its failure is thrown.
 */
export async function eachAtOnce<T>(
  items: Iterable<T>,
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items].values();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}
