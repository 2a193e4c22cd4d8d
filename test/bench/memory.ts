import { readdirSync, readFileSync } from "node:fs";

/** The peak memory of each process of a Pulumi run (`VmHWM`), in bytes. */
export interface Peaks {
  /** The provider process, whether dynamic or native. */
  readonly provider: number;
  readonly program: number;
  /** The command itself. In Pulumi, the CLI is the engine. */
  readonly command: number;
}

const INTERVAL_MS = 100;

/** Watches a process and its descendants. Returns undefined if there is no /proc, which only Linux has. */
export function watchPeaks(started: number | undefined): { stop(): Peaks } | undefined {
  if (process.platform !== "linux" || started === undefined) return undefined;
  const peaks = { provider: 0, program: 0, command: 0 };
  const samplePeaks = (): void => {
    for (const pid of listProcessTree(started)) {
      const role = pid === started ? "command" : getRole(pid);
      if (role !== undefined) peaks[role] = Math.max(peaks[role], readPeakMemory(pid));
    }
  };
  const timer = setInterval(samplePeaks, INTERVAL_MS);
  return {
    stop() {
      clearInterval(timer);
      return peaks;
    },
  };
}

/**
 * Watches all descendants of this process except the sandbox: their peak total memory (proportional set size) and the
 * peak memory of a rollout's coordinator. Returns undefined if there is no /proc.
 */
export function watchTree(): { stop(): { coordinator: number; all: number } } | undefined {
  if (process.platform !== "linux") return undefined;
  const peaks = { coordinator: 0, all: 0 };
  const sampleTotal = (): void => {
    let all = 0;
    for (const pid of listProcessTree(process.pid)) {
      const command = readFileOrEmpty(`/proc/${pid}/cmdline`);
      if (pid === process.pid || command.includes("service-process")) continue;
      const bytes = Number(/^Pss:\s*(\d+) kB/m.exec(readFileOrEmpty(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * 1024;
      all += bytes;
      if (/dist\/commands\/main\.js\0rollout/.test(command)) peaks.coordinator = Math.max(peaks.coordinator, bytes);
    }
    peaks.all = Math.max(peaks.all, all);
  };
  const timer = setInterval(sampleTotal, TREE_INTERVAL_MS);
  return {
    stop() {
      clearInterval(timer);
      return peaks;
    },
  };
}

/** Adding up all processes costs more than reading one process's high-water mark, so this interval is longer. */
const TREE_INTERVAL_MS = 250;

function getRole(pid: number): keyof Peaks | undefined {
  const command = readFileOrEmpty(`/proc/${pid}/cmdline`);
  if (/@pulumi\/pulumi\/cmd\/dynamic-provider|pulumi-resource-email-security/.test(command)) return "provider";
  if (command.includes("@pulumi/pulumi/cmd/run")) return "program";
  return undefined;
}

function readPeakMemory(pid: number): number {
  return Number(/^VmHWM:\s*(\d+) kB/m.exec(readFileOrEmpty(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;
}

function listProcessTree(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    // The name in parentheses is followed by the state, then the parent's process ID.
    const parent = Number(/\) \S (\d+) [^)]*$/.exec(readFileOrEmpty(`/proc/${name}/stat`))?.[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const samples: number[] = [];
  const waiting = [root];
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    samples.push(pid);
    waiting.push(...(children.get(pid) ?? []));
  }
  return samples;
}

/** Returns an empty string if the process has just exited. */
export function readFileOrEmpty(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
