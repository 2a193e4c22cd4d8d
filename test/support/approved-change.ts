import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkApprovals } from "../../provider/commands/lint/check-approvals";
import { lintFiles } from "../../provider/settings-files/lint-files";
import { createSettingsRepository, type SettingsRepository } from "./settings-repository";

/*
 * Changes in real repositories, together with a response in GitHub's format. Dana is the author of all commits, unless
 * a test says otherwise.
 */

/** The date against which expiry is judged. */
export const TODAY = "2026-11-23";

const POLICY =
  "policy: { requireApproval: [allow], approvers: { Tomas Lindqvist: tomas-l, Mei Chen: mei, Dana Reyes: dana } }\n";

/** The baseline before a change. */
export const BASELINE = `version: 1\n${POLICY}`;

/** Formats a tenant's allow entry as YAML. */
export const formatAllowEntry = (fields: Record<string, string>, value = "partner.example"): string =>
  `  - ${JSON.stringify({ value, comment: "Contract", acceptRisk: "all of it", ...fields })}\n`;

/** Formats a tenant's file that includes the baseline. */
export const formatTenantFile = (...entries: string[]): string =>
  `version: 1\ninclude: [baseline.yaml]\n${entries.length === 0 ? "" : `allow:\n${entries.join("")}`}`;

/** An entry from before the change. */
export const old = formatAllowEntry({ approvedBy: "Somebody Gone" }, "old.example");

/** Creates a repository whose branch `change` adds these files to those of main. */
export function change(files: Readonly<Record<string, string | undefined>>): Disposable & {
  readonly history: SettingsRepository;
  readonly head: string;
} {
  const history = createSettingsRepository();
  history.commit("Begin", { "settings/baseline.yaml": BASELINE, "settings/acme.yaml": formatTenantFile(old) });
  history.git("switch", "--quiet", "--create", "change");
  const head = history.commit("Change", files);
  return { history, head, [Symbol.dispose]: () => history[Symbol.dispose]() };
}

/** A review as a test has it. */
export interface ReviewFields {
  readonly login: string;
  readonly commit: string;
  readonly state?: string;
}

/** Returns the findings for a change, given a response in GitHub's format. */
export async function check(
  history: SettingsRepository,
  inputs: readonly ReviewFields[],
  options: { author?: string; base?: string } = {},
) {
  const reviews = inputs.map(({ login, commit, state = "APPROVED" }) => ({
    user: { login },
    state,
    commit_id: commit,
    submitted_at: "2026-11-23T08:00:00Z",
  }));
  const file = join(history.path, "reviews.json");
  writeFileSync(file, JSON.stringify(reviews));
  const linted = lintFiles([history.at("settings")], { today: TODAY, ownDomains: [] });
  const { findings, ...counts } = await checkApprovals(linted, {
    file,
    base: "main",
    author: "dana",
    today: TODAY,
    ...options,
  });
  return {
    ...counts,
    lines: findings.map(({ code, level, message, place }) => {
      const location = `${place?.file.replace(`${history.path}/`, "")}:${place?.line}`;
      return `${location} ${level} ${code}: ${message}`;
    }),
  };
}

/** A change that adds an entry with an `approvedBy`. */
export const buildApprovedChange = (approvedBy: string) => ({
  "settings/acme.yaml": formatTenantFile(old, formatAllowEntry({ approvedBy })),
});
