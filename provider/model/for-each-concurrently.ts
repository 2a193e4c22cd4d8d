/** Processes items in order with limited concurrency. After a failure, it starts no further items and throws the failure. */
export async function forEachConcurrently<T>(
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
