import type { SettingsClient } from "../../client";
import type { Step } from "../../gitops/list-change";
import { evidenceOf, gatherEvidence } from "../../plan/evidence";
import { observe } from "../../plan/observed";
import { otherTenantTold } from "../../plan/same-tenant";
import { counted } from "../../render/words";
import { withCode } from "../../settings/email-security-error";
import { excerpt, printable } from "../../settings/text";
import { mailTold, sentences } from "../suggest/suggest-words";

/** What the tenant says of values: a sentence or more each, by canonical value; or why nothing can be told. */
export interface TenantTold {
  readonly of: ReadonlyMap<string, readonly string[]>;
  /** What could not be looked at. */
  readonly missing: readonly string[];
}

const DAYS = 30;

/**
 * Asks the tenant's service what it holds of the values already, and what its mail of the last 30 days says of them: the lists, and
 * pages of threats and reports, within the bounds of {@link gatherEvidence}. Never throws: what can't be read is told, and nothing of another tenant.
 *
 * @param ownDomains those of the files.
 */
export async function tenantTold(
  client: SettingsClient,
  steps: readonly Step[],
  ownDomains: readonly string[],
): Promise<TenantTold> {
  let observed: Awaited<ReturnType<typeof observe>>;
  try {
    observed = await observe(client);
  } catch (error) {
    return { of: new Map(), missing: [`Did not look at the tenant: ${firstLine(error)}`] };
  }
  const mailboxes = [...observed.vips.values()].map(({ email }) => email);
  const other = otherTenantTold(mailboxes, { ownDomains });
  if (other !== undefined) return { of: new Map(), missing: [`Nothing is told of the tenant. ${other}`] };
  const base = await gatherEvidence({ client, days: DAYS, vips: observed.vips.keys() });
  const window = `in the last ${DAYS} days`;
  const rows = Map.groupBy(observed.rows, ({ value }) => value.toLowerCase());
  const of = new Map(
    steps.map(({ value: { canonical, entryType }, section, isDone }) => {
      const held = (rows.get(canonical) ?? []).map(
        ({ list, created_by, created_at }) =>
          `The tenant has it on its ${excerpt(String(list))} list${byText(created_by, created_at)}.`,
      );
      const vip = observed.vips.has(canonical) ? ["The tenant has it as a VIP."] : [];
      const isThere = section === "vips" ? vip.length > 0 : held.length > 0;
      // What the files have already may not have been rolled out.
      const missing = isDone && !isThere ? ["The tenant does not have it."] : [];
      const kind = section === "vips" ? "vip" : "entry";
      const evidence = evidenceOf(base, { kind, value: canonical, entryType });
      const mail =
        kind === "entry"
          ? mailTold({ base, window }, evidence)
          : vipMail(evidence?.threats, evidence?.reports);
      return [canonical, [...held, ...vip, ...missing, mail]] as const;
    }),
  );
  return { of, missing: base.summary.missing.map((one) => printable(one)) };
}

function vipMail(threats: number | undefined, reports = 0): string {
  if (threats === undefined) return "What the service detected could not be read.";
  return sentences(
    `${counted(threats, "threat")} ${threats === 1 ? "was" : "were"} sent to it in the last ${DAYS} days.`,
    reports === 0 ? "" : `It reported mail ${counted(reports, "time")}.`,
  );
}

function byText(by: string | null | undefined, at: string | null | undefined): string {
  const day = /^\d{4}-\d{2}-\d{2}/.exec(at ?? "")?.[0];
  return (by ? `, by ${excerpt(by)}` : "") + (day === undefined ? "" : `, since ${day}`);
}

function firstLine(error: unknown): string {
  const [line = ""] = withCode(error).split("\n");
  return excerpt(line, 300);
}
