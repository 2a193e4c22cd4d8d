import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Step, WorkflowJob } from "../pipeline-files";

/** What expressions see: `github`, `vars`, `inputs`, `needs`, `steps`. */
export type Contexts = Readonly<Record<string, unknown>>;

/** An action that a test simulates. It may change the environment of the steps that follow. */
export type SimulatedAction = (given: {
  readonly with: Readonly<Record<string, string>>;
  readonly workspace: string;
  readonly environment: Record<string, string | undefined>;
  readonly contexts: Contexts;
}) => Promise<void>;

/** How a job is run. */
export interface JobOptions {
  readonly job: WorkflowJob;
  /** The folder in which its steps run. */
  readonly workspace: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly contexts: Contexts;
  /** By `uses`, without the version. */
  readonly actions: Readonly<Record<string, SimulatedAction>>;
}

/** What a job came to. */
export interface JobRun {
  readonly result: "success" | "failure" | "skipped";
  /** The exit code of the step that failed. */
  readonly code?: number;
  readonly outputs: Readonly<Record<string, string>>;
  /** What the steps printed. */
  readonly log: string;
  /** The job's summary. */
  readonly summary: string;
  /** The names of the steps that were run. */
  readonly ran: readonly string[];
}

/**
 * Runs a job of GitHub Actions as a runner does: the very `run` of each step in bash, outputs and summary by files,
 * conditions and expressions evaluated; actions are simulated.
 */
export async function runJob({ job, workspace, environment, contexts, actions }: JobOptions): Promise<JobRun> {
  const ids = job.steps.flatMap(({ id }) => (id === undefined ? [] : [id]));
  const steps = Object.fromEntries(ids.map((id) => [id, { outputs: {} as Record<string, string> }]));
  const all = { ...contexts, steps };
  const skipped = { result: "skipped", outputs: {}, log: "", summary: "", ran: [] } as const;
  if (job.if !== undefined && !isTrue(job.if, { contexts: all, workspace, failed: false })) return skipped;

  const files = `${workspace}.runner`;
  await mkdir(files);
  const own: Record<string, string | undefined> = { ...environment };
  for (const [name, text] of Object.entries(job.env ?? {})) own[name] = filled(text, all, workspace);
  let log = "";
  let summary = "";
  let code: number | undefined;
  const ran: string[] = [];
  for (const [index, step] of job.steps.entries()) {
    const failed = code !== undefined;
    if (!isTrue(step.if ?? "success()", { contexts: all, workspace, failed })) continue;
    ran.push(step.name ?? step.uses ?? "");
    if (step.uses !== undefined) {
      const name = step.uses.replace(/@.*$/, "");
      const action = actions[name];
      if (action === undefined) throw new Error(`no action ${name} is simulated`);
      const given = Object.entries(step.with ?? {}).map(([key, text]) => [key, filled(String(text), all, workspace)]);
      await action({ with: Object.fromEntries(given), workspace, environment: own, contexts: all });
      continue;
    }
    const output = join(files, `output-${index}`);
    const page = join(files, `summary-${index}`);
    await Promise.all([writeFile(output, ""), writeFile(page, "")]);
    const run = await runStep(step, workspace, {
      ...own,
      ...Object.fromEntries(Object.entries(step.env ?? {}).map(([key, text]) => [key, filled(text, all, workspace)])),
      GITHUB_OUTPUT: output,
      GITHUB_STEP_SUMMARY: page,
      RUNNER_TEMP: files,
    });
    log += run.output;
    summary += await readFile(page, "utf8");
    if (step.id !== undefined) Object.assign(steps[step.id]?.outputs ?? {}, outputsIn(await readFile(output, "utf8")));
    if (run.code !== 0) code ??= run.code;
  }
  const outputs = Object.fromEntries(
    Object.entries(job.outputs ?? {}).map(([name, text]) => [name, filled(text, all, workspace)]),
  );
  const result = code === undefined ? "success" : "failure";
  return { result, ...(code === undefined ? {} : { code }), outputs, log, summary, ran };
}

/** Runs one script as GitHub does when no shell is named. */
export async function runStep(
  { run = "" }: Pick<Step, "run">,
  directory: string,
  environment: NodeJS.ProcessEnv,
): Promise<{ code: number; output: string }> {
  return await new Promise((resolve, reject) => {
    const child = spawn("bash", ["--noprofile", "--norc", "-e", "-c", run], {
      cwd: directory,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? -1, output }));
  });
}

interface Scope {
  readonly contexts: Contexts;
  readonly workspace: string;
  readonly failed: boolean;
}

/** A condition. Where it asks nothing of how the job goes, a step that failed before keeps it from being true. */
function isTrue(condition: string, scope: Scope): boolean {
  const expression = condition.replace(/^\s*\$\{\{(.*)\}\}\s*$/s, "$1");
  if (scope.failed && !/\b(?:success|failure|always|cancelled)\(\)/.test(expression)) return false;
  return Boolean(evaluated(expression, scope));
}

function filled(text: string, contexts: Contexts, workspace: string): string {
  return text.replace(/\$\{\{(.*?)\}\}/g, (_, expression: string) =>
    String(evaluated(expression, { contexts, workspace, failed: false }) ?? ""),
  );
}

/** The operators that the workflows use mean the same in JavaScript; what is missing compares as an empty text. */
function evaluated(expression: string, { contexts, workspace, failed }: Scope): unknown {
  const scope: Record<string, unknown> = {
    ...Object.fromEntries(Object.entries(contexts).map(([name, content]) => [name, lenient(content)])),
    success: () => !failed,
    failure: () => failed,
    always: () => true,
    cancelled: () => false,
    hashFiles: (path: string) => (existsSync(join(workspace, path)) ? "a hash" : ""),
  };
  return new Function(...Object.keys(scope), `return (${expression});`)(...Object.values(scope));
}

function lenient(content: unknown): unknown {
  if (typeof content !== "object" || content === null) return content;
  return new Proxy(content, { get: (target, key) => lenient(Reflect.get(target, key) ?? "") });
}

function outputsIn(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line !== "");
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}
