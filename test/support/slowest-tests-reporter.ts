import { relative } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

const SHOWN = 12;

/**
 * Prints the slowest test files at the end of a run, each with its slowest test: where to look first when a run becomes
 * slow.
 */
export default class LongestReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map((module) => ({ module, ms: sumDurations(module) }));
    if (files.length <= SHOWN) return;
    const longest = files.toSorted((a, b) => b.ms - a.ms).slice(0, SHOWN);
    const lines = longest.map(({ module, ms }) => {
      const file = `${formatDuration(ms)}  ${module.project.name.padEnd(11)}  ${relative(process.cwd(), module.moduleId)}`;
      const [test] = [...module.children.allTests()].toSorted((a, b) => getDuration(b) - getDuration(a));
      return test === undefined
        ? file
        : `${file}, ${formatDuration(getDuration(test)).trim()} of it: ${shortenName(test.name)}`;
    });
    console.log(`\n What took longest of ${files.length} files:\n${lines.join("\n")}\n`);
  }
}

function sumDurations(module: TestModule): number {
  const { collectDuration, setupDuration, duration } = module.diagnostic();
  return collectDuration + setupDuration + duration;
}

function getDuration(test: { diagnostic(): { duration: number } | undefined }): number {
  return test.diagnostic()?.duration ?? 0;
}

function shortenName(name: string): string {
  return name.length <= 60 ? name : `${name.slice(0, 59)}…`;
}

function formatDuration(ms: number): string {
  return `${(ms / 1_000).toFixed(1).padStart(7)} s`;
}
