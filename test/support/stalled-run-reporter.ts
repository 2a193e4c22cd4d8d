import { relative } from "node:path";
import type { Reporter, TestCase, TestModule } from "vitest/node";

/** Longer than any test or hook may take. The longest is a page of the documentation, with 15 minutes. */
const STALLED_AFTER_MS = 20 * 60_000;

/**
 * Ends a run in which no test or file has ended for 20 minutes, and prints what was running. Vitest itself waits
 * forever for a test that blocks its process, and the pipeline's own timeout names no file.
 */
export default class StalledRunReporter implements Reporter {
  readonly #stalledAfterMs: number;
  readonly #running = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ stalledAfterMs = STALLED_AFTER_MS } = {}) {
    this.#stalledAfterMs = stalledAfterMs;
  }

  onTestModuleStart(module: TestModule): void {
    this.#running.set(module.id, formatModule(module));
    this.#restart();
  }

  onTestCaseReady(test: TestCase): void {
    this.#running.set(test.module.id, `${formatModule(test.module)} > ${test.fullName}`);
  }

  onTestCaseResult(test: TestCase): void {
    this.#running.set(test.module.id, formatModule(test.module));
    this.#restart();
  }

  onTestModuleEnd(module: TestModule): void {
    this.#running.delete(module.id);
    this.#restart();
  }

  onTestRunEnd(): void {
    clearTimeout(this.#timer);
  }

  #restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const minutes = Math.round(this.#stalledAfterMs / 60_000);
      const running = [...this.#running.values()].map((name) => `  ${name}`);
      console.error(
        `\nThe run is stopped, because no test has ended for ${minutes} minutes. Running:\n${running.join("\n")}`,
      );
      process.exit(1);
    }, this.#stalledAfterMs);
  }
}

function formatModule(module: TestModule): string {
  return `${module.project.name}  ${relative(process.cwd(), module.moduleId)}`;
}
