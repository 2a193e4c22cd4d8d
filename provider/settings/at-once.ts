/** Processes items in order with limited concurrency. After a failure no further item is started, and the failure is thrown. */
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
