import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { formatGitCommand } from "../../gitops/git";
import { truncateByDanger } from "../../model/danger";
import { isSameEntryState } from "../../model/entry-fields";
import { excerpt, formatFirstItems, quote } from "../../model/text";
import { getChangeTransition, type Plan, type PlanChange } from "../../plan/plan";
import { type FileLocation, formatLocation } from "../../settings-files/finding";
import { inspectSettings, type SettingsReadCache } from "../../settings-files/read-settings";
import { findFileRepository, getRepositoryPath } from "../../settings-files/repository";
import { minimalEnv } from "../../system/child-environment";
import type { Journal } from "../journal/journal";
import { readRollbackProgress } from "../journal/rollback-progress";
import type { TenantRecord } from "../journal/rollout-record";
import type { Advice } from "../model/rollout-report";

// Unlike `gitops/git.ts`, which commits, signs and pushes, this only reads, so git gets a smaller environment.
const execFileAsync = promisify(execFile);
const runGitCommand = (repository: string, ...args: string[]) =>
  execFileAsync("git", ["-C", repository, ...args], { env: minimalEnv(process.env, "git") });

/** The maximum number of tenants whose files are searched. The first ones already cover the files that all of them include. */
const MAX_TENANTS = 100;
const MAX_LINES = 5;

/**
 * Lists the remaining work in the settings files after a rollback: the lines that still declare the undone changes, and the commits that
 * added these lines. Empty if there are no such lines.
 */
export async function buildGitRevertAdvice(journal: Journal, id: string): Promise<readonly Advice[]> {
  const { changedTenants, remainingTenants } = await readRollbackProgress(journal, id);
  const remainingNames = new Set(remainingTenants.map(({ name }) => name));
  const rolledBackTenants = changedTenants.filter(({ name }) => !remainingNames.has(name));
  const lines = await findDeclaredLines(journal, id, rolledBackTenants);
  if (lines.size === 0) return [];
  const { visible: visibleLines, hiddenText } = truncateByDanger([...lines], MAX_LINES, ([, { change }]) =>
    getChangeTransition(change),
  );
  const lineTexts = visibleLines.map(([location, { text }]) => `${location} (${text})`);
  const linesText = `${lineTexts.join(", ")}${hiddenText === undefined ? "" : `, … and ${hiddenText}`}`;
  const reason = `The settings that were rolled back are still in ${linesText}. A rollout that would apply them again is rejected, unless its digest is given. Remove them there.`;
  if (remainingTenants.length > 0) {
    const names = formatFirstItems(remainingTenants, ({ name }) => quote(name));
    return [{ reason: `${reason} The rollback left out ${names}: keep what they still declare.` }];
  }
  const repositories = new Set([...lines.keys()].map((location) => findFileRepository(getFileOfLocation(location))));
  const [repository] = repositories;
  if (repository === undefined || repositories.size > 1) return [{ reason }];
  const commits = await findCommits(repository, [...lines.keys()]);
  if (commits === undefined) return [{ reason }];
  const commitsText = commits.map(({ hash, subject }) => `${hash} (${excerpt(subject, 60)})`).join(", ");
  return [
    {
      reason: `${reason} They come from ${commitsText}. If other changes of these commits must stay, or this ends in a conflict, remove the lines by hand:`,
      command: `${formatGitCommand(repository)} revert --no-edit ${commits.map(({ hash }) => hash).join(" ")}`,
    },
  ];
}

interface DeclaredLine {
  readonly text: string;
  readonly change: PlanChange;
}

async function findDeclaredLines(
  journal: Journal,
  id: string,
  tenants: readonly TenantRecord[],
): Promise<ReadonlyMap<string, DeclaredLine>> {
  const lines = new Map<string, DeclaredLine>();
  const cache: SettingsReadCache = new Map();
  for (const { name, target } of tenants.slice(0, MAX_TENANTS)) {
    const plan = await journal.readPlan(id, name);
    const { settings } = inspectSettings(target.settings, { cache });
    if (plan === undefined || settings === undefined) continue;
    const entries = new Map(settings.entries.map((element) => [element.key, element]));
    const vips = new Map(settings.vips.map((element) => [element.key, element]));
    const { changes = [] } = JSON.parse(plan) as Partial<Plan>;
    for (const change of changes) {
      const { kind, key, value, before, after } = change;
      if (after === undefined) continue;
      const entry = kind === "entry" ? entries.get(key) : undefined;
      const declared = kind === "entry" ? entry : vips.get(key);
      if (declared === undefined || (entry !== undefined && entry.list !== after.list)) continue;
      const isMove = before?.list !== after.list;
      if (before !== undefined && !isMove && !isSameEntryState(declared, after)) continue;
      const text = `${kind === "vip" ? "VIP" : after.list} ${excerpt(value, 80)}`;
      lines.set(formatLineKey(declared.location), { text, change });
    }
  }
  return lines;
}

function getFileOfLocation(location: string): string {
  return location.slice(0, location.lastIndexOf(":"));
}

function formatLineKey({ file, line }: FileLocation): string {
  return formatLocation({ file, line, column: 1 }).replace(/:1$/, "");
}

interface SettingsCommit {
  readonly hash: string;
  readonly subject: string;
  readonly atS: number;
}

/**
 * Returns the commits that added some lines, newest first. Undefined if a line is not committed, or the files are in no
 * repository.
 */
async function findCommits(
  repository: string,
  lines: readonly string[],
): Promise<readonly SettingsCommit[] | undefined> {
  const commitsByHash = new Map<string, SettingsCommit>();
  try {
    for (const location of lines) {
      const line = location.slice(location.lastIndexOf(":") + 1);
      const path = getRepositoryPath(repository, getFileOfLocation(location));
      const { stdout } = await runGitCommand(
        ...[repository, "blame", "--porcelain", "-L", `${line},${line}`, "--", path],
      );
      const [hash = ""] = stdout.split(" ");
      if (/^0*$/.test(hash)) return undefined;
      const committedAtS = Number(/^committer-time (\d+)$/m.exec(stdout)?.[1]);
      const shortHash = (await runGitCommand(repository, "rev-parse", "--short", hash)).stdout.trim();
      commitsByHash.set(hash, {
        hash: shortHash,
        subject: /^summary (.*)$/m.exec(stdout)?.[1] ?? "",
        atS: committedAtS,
      });
    }
  } catch {
    return undefined;
  }
  return [...commitsByHash.values()].sort((a, b) => b.atS - a.atS);
}
