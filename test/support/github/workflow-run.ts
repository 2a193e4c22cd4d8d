import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { WorkflowJob, WorkflowStep } from "../pipeline-files";

/** The values that expressions can use: `github`, `vars`, `inputs`, `needs`, `steps`. */
export type Contexts = Readonly<Record<string, unknown>>;

/** An action that a test simulates. It may change the environment of later steps. */
export type SimulatedAction = (inputs: {
  readonly with: Readonly<Record<string, string>>;
  readonly workspace: string;
  readonly environment: Record<string, string | undefined>;
  readonly contexts: Contexts;
}) => Promise<void>;

/** The inputs of a job run. */
export interface JobOptions {
  readonly job: WorkflowJob;
  /** The directory in which the job's steps run. */
  readonly workspace: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly contexts: Contexts;
  /** Simulated actions, keyed by `uses` without the version. */
  readonly actions: Readonly<Record<string, SimulatedAction>>;
}

/** The result of a job. */
export interface JobRun {
  readonly result: "success" | "failure" | "skipped";
  /** The exit code of the failed step. */
  readonly code?: number;
  readonly outputs: Readonly<Record<string, string>>;
  /** The output of all steps. */
  readonly log: string;
  /** The job's summary. */
  readonly summary: string;
  /** The names of the steps that ran. */
  readonly ran: readonly string[];
}

/**
 * Runs a GitHub Actions job as a runner does: each step's `run` in bash, unmodified; outputs and summary through files;
 * conditions and expressions evaluated. Actions are simulated.
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
  for (const [name, text] of Object.entries(job.env ?? {})) own[name] = fillExpressions(text, all, workspace);
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
      const stepInputs = Object.entries(step.with ?? {}).map(([key, text]) => [
        key,
        fillExpressions(String(text), all, workspace),
      ]);
      await action({ with: Object.fromEntries(stepInputs), workspace, environment: own, contexts: all });
      continue;
    }
    const output = join(files, `output-${index}`);
    const page = join(files, `summary-${index}`);
    await Promise.all([writeFile(output, ""), writeFile(page, "")]);
    const run = await runStep(step, workspace, {
      ...own,
      ...Object.fromEntries(
        Object.entries(step.env ?? {}).map(([key, text]) => [key, fillExpressions(text, all, workspace)]),
      ),
      GITHUB_OUTPUT: output,
      GITHUB_STEP_SUMMARY: page,
      RUNNER_TEMP: files,
    });
    log += run.output;
    summary += await readFile(page, "utf8");
    if (step.id !== undefined)
      Object.assign(steps[step.id]?.outputs ?? {}, parseOutputs(await readFile(output, "utf8")));
    if (run.code !== 0) code ??= run.code;
  }
  const outputs = Object.fromEntries(
    Object.entries(job.outputs ?? {}).map(([name, text]) => [name, fillExpressions(text, all, workspace)]),
  );
  const result = code === undefined ? "success" : "failure";
  return { result, ...(code === undefined ? {} : { code }), outputs, log, summary, ran };
}

/** Runs a script as GitHub does when no shell is specified. */
export async function runStep(
  { run = "" }: Pick<WorkflowStep, "run">,
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

interface ExpressionScope {
  readonly contexts: Contexts;
  readonly workspace: string;
  readonly failed: boolean;
}

/** Evaluates a condition. A condition without a status function is false once a step has failed. */
function isTrue(condition: string, scope: ExpressionScope): boolean {
  const expression = condition.replace(/^\s*\$\{\{(.*)\}\}\s*$/s, "$1");
  if (scope.failed && !/\b(?:success|failure|always|cancelled)\(\)/.test(expression)) return false;
  return Boolean(evaluateExpression(expression, scope));
}

function fillExpressions(text: string, contexts: Contexts, workspace: string): string {
  return text.replace(/\$\{\{(.*?)\}\}/g, (_, expression: string) =>
    String(evaluateExpression(expression, { contexts, workspace, failed: false }) ?? ""),
  );
}

/** The operators that the workflows use mean the same in JavaScript; a missing value compares as an empty string. */
function evaluateExpression(expression: string, { contexts, workspace, failed }: ExpressionScope): unknown {
  const scope: Record<string, unknown> = {
    ...Object.fromEntries(Object.entries(contexts).map(([name, content]) => [name, wrapLenient(content)])),
    success: () => !failed,
    failure: () => failed,
    always: () => true,
    cancelled: () => false,
    hashFiles: (path: string) => (existsSync(join(workspace, path)) ? "a hash" : ""),
  };
  return new Function(...Object.keys(scope), `return (${expression});`)(...Object.values(scope));
}

function wrapLenient(content: unknown): unknown {
  if (typeof content !== "object" || content === null) return content;
  return new Proxy(content, { get: (target, key) => wrapLenient(Reflect.get(target, key) ?? "") });
}

function parseOutputs(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line !== "");
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}
