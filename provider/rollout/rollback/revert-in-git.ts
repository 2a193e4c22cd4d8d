import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type Place, placeText } from "../../files/finding";
import { inspectSettings, type ReadCache } from "../../files/read-settings";
import { pathInRepository, repositoryOfFile } from "../../files/repository";
import { gitIn } from "../../gitops/git";
import { leanEnvironment } from "../../machine/child-environment";
import { type Change, changeTransition, type Plan } from "../../plan/plan";
import { cutByDanger } from "../../settings/danger";
import { isSameStanding } from "../../settings/entry-fields";
import { excerpt } from "../../settings/text";
import type { Journal } from "../journal/journal";
import type { Advice } from "../model/rollout-report";

// Unlike `gitops/git.ts`, which commits, signs and pushes, this only reads. So git gets a smaller environment.
const run = promisify(execFile);
const git = (repository: string, ...args: string[]) =>
  run("git", ["-C", repository, ...args], { env: leanEnvironment(process.env, "git") });

/** The maximum number of tenants whose files are searched. The first ones already cover the files that all of them include. */
const MOST_TENANTS = 100;
const SHOWN = 5;

/**
 * Lists the remaining work in the settings files after a rollback: the lines that still declare the undone changes, and the commits that
 * added these lines. Empty if there are no such lines.
 */
export async function revertInGit(journal: Journal, id: string): Promise<readonly Advice[]> {
  const lines = await stillDeclared(journal, id);
  if (lines.size === 0) return [];
  const { shown: told, more } = cutByDanger([...lines], SHOWN, ([, { change }]) => changeTransition(change));
  const named = told.map(([place, { what }]) => `${place} (${what})`);
  const shown = `${named.join(", ")}${more === undefined ? "" : `, … and ${more}`}`;
  const why = `What was rolled back still stands in ${shown}. A rollout that would bring it again is refused, unless its digest is given; take it out there.`;
  const repositories = new Set([...lines.keys()].map((place) => repositoryOfFile(fileOf(place))));
  const [repository] = repositories;
  if (repository === undefined || repositories.size > 1) return [{ why }];
  const commits = await commitsOf(repository, [...lines.keys()]);
  if (commits === undefined) return [{ why }];
  const brought = commits.map(({ hash, subject }) => `${hash} (${excerpt(subject, 60)})`).join(", ");
  return [
    {
      why: `${why} It came by ${brought}. Where something else in there is to stay, or this ends in a conflict, take out these lines by hand:`,
      command: `${gitIn(repository)} revert --no-edit ${commits.map(({ hash }) => hash).join(" ")}`,
    },
  ];
}

interface StillDeclared {
  readonly what: string;
  readonly change: Change;
}

/** Finds the lines of the files that still declare changes of a rollout. */
async function stillDeclared(journal: Journal, id: string): Promise<ReadonlyMap<string, StillDeclared>> {
  const lines = new Map<string, StillDeclared>();
  const cache: ReadCache = new Map();
  const touched = (await journal.tenants(id)).filter(({ attempt }) => attempt > 0);
  for (const { name, target } of touched.slice(0, MOST_TENANTS)) {
    const plan = await journal.plan(id, name);
    const { settings } = inspectSettings(target.settings, { cache });
    if (plan === undefined || settings === undefined) continue;
    const entries = new Map(settings.entries.map((one) => [one.key, one]));
    const vips = new Map(settings.vips.map((one) => [one.key, one]));
    const { changes = [] } = JSON.parse(plan) as Partial<Plan>;
    for (const change of changes) {
      const { kind, key, value, before, after } = change;
      if (after === undefined) continue;
      const entry = kind === "entry" ? entries.get(key) : undefined;
      const declared = kind === "entry" ? entry : vips.get(key);
      if (declared === undefined || (entry !== undefined && entry.list !== after.list)) continue;
      const isMove = before?.list !== after.list;
      if (before !== undefined && !isMove && !isSameStanding(declared, after)) continue;
      const what = `${kind === "vip" ? "VIP" : after.list} ${excerpt(value, 80)}`;
      lines.set(placeKey(declared.place), { what, change });
    }
  }
  return lines;
}

function fileOf(place: string): string {
  return place.slice(0, place.lastIndexOf(":"));
}

function placeKey({ file, line }: Place): string {
  return placeText({ file, line, column: 1 }).replace(/:1$/, "");
}

interface Commit {
  readonly hash: string;
  readonly subject: string;
  readonly atS: number;
}

/** The commits that added some lines, newest first. Undefined if a line is not committed, or the files are in no repository. */
async function commitsOf(
  repository: string,
  lines: readonly string[],
): Promise<readonly Commit[] | undefined> {
  const found = new Map<string, Commit>();
  try {
    for (const place of lines) {
      const line = place.slice(place.lastIndexOf(":") + 1);
      const path = pathInRepository(repository, fileOf(place));
      const { stdout } = await git(
        ...[repository, "blame", "--porcelain", "-L", `${line},${line}`, "--", path],
      );
      const [hash = ""] = stdout.split(" ");
      if (/^0*$/.test(hash)) return undefined;
      const atS = Number(/^committer-time (\d+)$/m.exec(stdout)?.[1]);
      const short = (await git(repository, "rev-parse", "--short", hash)).stdout.trim();
      found.set(hash, { hash: short, subject: /^summary (.*)$/m.exec(stdout)?.[1] ?? "", atS });
    }
  } catch {
    return undefined;
  }
  return [...found.values()].sort((one, other) => other.atS - one.atS);
}
