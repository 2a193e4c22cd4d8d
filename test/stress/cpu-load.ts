import { Worker } from "node:worker_threads";

/** Busy for up to two seconds, then idle for up to half a second, so that processes get their cores in bursts. */
const PROGRAM = `
const pause = new Int32Array(new SharedArrayBuffer(4));
for (;;) {
  const end = performance.now() + Math.random() * 2_000;
  while (performance.now() < end);
  Atomics.wait(pause, 0, 0, Math.random() * 500);
}`;

/** Keeps cores busy until it is disposed. */
export class CpuLoad implements AsyncDisposable {
  readonly #workers: readonly Worker[];

  constructor(threads: number) {
    this.#workers = Array.from({ length: threads }, () => new Worker(PROGRAM, { eval: true }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}
