import type { Finding, Place } from "../files/finding";
import type { List } from "../settings/assumptions";
import type { Transition } from "../settings/danger";

/** The version of the format of a plan. */
export const PLAN_FORMAT = 1;

/**
 * What a run would do to a tenant, and all that a person needs to judge it. Plain data: it is the JSON that `plan` writes.
 * Times are ISO 8601 in UTC.
 */
export interface Plan {
  readonly format: typeof PLAN_FORMAT;
  /** When the tenant was read. */
  readonly createdAt: string;
  readonly tenant: PlanTenant;
  readonly source: PlanSource;
  /** What was reviewed: over the tenant, what is declared, and what the tenant holds of what changes. */
  readonly digest: string;
  /**
   * What holds for all that is declared, each as JSON by its path: the policy, the options of the lists, own domains. Absent
   * in a plan of an earlier release.
   */
  readonly rules?: Readonly<Record<string, string>>;
  /** What changes, the most important first. */
  readonly changes: readonly Change[];
  /** Why the run would be refused; empty when it would not be. Each is text of one or several lines. */
  readonly guards: readonly Guard[];
  /** What the tenant holds and nobody declares; it stays as it is. */
  readonly unmanaged: readonly Unmanaged[];
  /** What the files declared until a day that is past. */
  readonly expired: readonly Expired[];
  /** What lint says of what is declared, those of changes among it. */
  readonly findings: readonly Finding[];
  readonly counts: PlanCounts;
  readonly evidence: EvidenceSummary;
  /** Absent where there is no evidence. */
  readonly backtest?: Backtest;
}

export interface PlanTenant {
  /** The service's host: `mail-security.example`. */
  readonly host: string;
  /** What the tenant is called here: the folder or file of its settings, or the stack. */
  readonly name: string;
}

export interface PlanSource {
  /** Settings files, or the `pulumi preview` of any program. */
  readonly kind: "files" | "preview";
  /** The files, the one asked for first; or the one that held the preview. */
  readonly files: readonly string[];
  /** The stack whose state was read, so that removals are known; absent when none was. */
  readonly stack?: string;
  /** The name of the `TenantSettings` in the stack, where it has several. */
  readonly resource?: string;
}

export interface PlanCounts {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** Declared, and as declared at the tenant. */
  readonly unchanged: number;
  readonly unmanaged: number;
}

/** An entry or a VIP as it is or will be. */
export interface Standing {
  /** Only of entries. */
  readonly list?: List;
  readonly comment?: string;
  readonly acceptRisk?: string;
  /** Who made it and when, as the service tells it (`created_by`, `added_by`); only of what is there. */
  readonly by?: string;
  readonly at?: string;
}

interface Subject {
  readonly kind: "entry" | "vip";
  /** As in a keyed list: the canonical value or mailbox, with what tells it from others of the same value. */
  readonly key: string;
  /** The canonical value or mailbox. */
  readonly value: string;
  /** The same in its own script, where the canonical form is punycode. */
  readonly unicode?: string;
  /** Only of entries: `domain`, `ip`, `email_address`, or what else the service holds. */
  readonly entryType?: string;
  readonly verdictScope?: string;
}

/** A change, as far as its danger goes. */
export interface ChangedLists {
  readonly kind: "entry" | "vip";
  readonly before?: { readonly list?: string };
  readonly after?: { readonly list?: string };
}

/** Returns what a run does to an entry or VIP. */
export function changeTransition({ kind, before, after }: ChangedLists): Transition {
  const listOf = (one: ChangedLists["before"]): string | undefined =>
    one && (kind === "vip" ? "vip" : one.list);
  return { from: listOf(before), to: listOf(after) };
}

/** Returns what an entry or VIP is that nobody declares. */
export function unmanagedTransition({ kind, before }: Unmanaged): Transition {
  return { to: kind === "vip" ? "vip" : before.list };
}

/** Returns what became of an entry or VIP whose last day is past. */
export function expiredTransition({ kind, list, isThere }: Expired): Transition {
  return isThere ? { to: kind === "vip" ? "vip" : list, isLingering: true } : {};
}

/** An entry that another may take the place of. */
export interface Replaced {
  readonly key: string;
  readonly before: Standing;
}

export type Sign = "add" | "change" | "remove";

/** One entry or VIP that a run would add, change or remove. */
export interface Change extends Subject {
  readonly sign: Sign;
  /** As the tenant holds it; absent for an addition. */
  readonly before?: Standing;
  /** As it is declared; absent for a removal. */
  readonly after?: Standing;
  /**
   * Why, where the files do not say it in their place: "expired on 2026-10-31", "no longer declared"; and that somebody changed it
   * at the tenant, or took it away, since the stack's last run.
   */
  readonly why?: string;
  /**
   * Entries of the same value and list in another scope: where the service holds one entry of a value only, the addition takes
   * the place of one of these (`adopt: true`). Where it holds several, they stay.
   */
  readonly mayReplace?: readonly Replaced[];
  /** What the files say beside it. */
  readonly ticket?: string;
  readonly owner?: string;
  readonly approvedBy?: string;
  readonly expires?: string;
  /** Why what speaks against it is accepted: the `acceptRisk` of what is declared, or of what expired. */
  readonly accepted?: string;
  /** Which line declares it (or, of what expired, declared it), and what that takes the place of. */
  readonly place?: Place;
  readonly overrides?: readonly Place[];
  /** The resource that declares it, of a program. */
  readonly resource?: string;
  readonly findings: readonly Finding[];
  /** What the tenant's mail says; absent where there is no evidence at all. */
  readonly evidence?: Evidence;
  /** How bad it looks: the order of changes, and what is shown first. */
  readonly alarm: Alarm;
}

/**
 * `danger`: an allow that let malicious mail through in the backtest, or whose sender has malicious verdicts; the end of a
 * deny of such a sender; a finding of risk. `warning`: a finding, or other evidence against it; what an allow for graymail
 * alone would let through is what it is for. `accepted`: what would be a danger or be held against it, with an
 * `acceptRisk` that says why it is meant. `none`: nothing speaks against it.
 */
export type Alarm = "danger" | "accepted" | "warning" | "none";

/** The code of a refusal by `--fail-on`: only a person's copy of a plan has it, never the plan's JSON. */
export const FAIL_ON_GUARD = "fail-on";

export interface Guard {
  /** `removal-guard`, `protect`, `plan-check`. */
  readonly code: string;
  readonly message: string;
}

export interface Unmanaged extends Subject {
  readonly before: Standing;
}

export interface Expired extends Subject {
  readonly list?: List;
  readonly expires: string;
  readonly place?: Place;
  /** Whether the tenant still holds it. */
  readonly isThere: boolean;
  /** That it is there, and the next run leaves it: the stack has never declared it, so it may be somebody else's. */
  readonly stays?: true;
}

/** What the evidence rests on. */
export interface EvidenceSummary {
  /** The look-back window in days. */
  readonly days: number;
  /** Threats and reports that were looked at. */
  readonly threats: number;
  readonly reports: number;
  /** Until when, and from when on it is complete: later than the window's start where a bound cut it off. */
  readonly from?: string;
  readonly until: string;
  /** Whether it is all that the window holds. */
  readonly complete: boolean;
  /** Why something is missing, a sentence each: no permission, a timeout, a bound. Empty when nothing is. */
  readonly missing: readonly string[];
}

/** Something counted under a name: verdicts, actions. */
export interface Count {
  readonly name: string;
  readonly count: number;
}

/** A person or mailbox that was the target, and how often. */
export interface Recipient {
  readonly email: string;
  readonly isVip: boolean;
  readonly count: number;
}

/**
 * What the tenant's own mail says of one entry or VIP. Of a domain: mail from it and from below it. Of a mailbox: mail from
 * it. Of a VIP: threats sent to it. Nothing can be said of an IP address: the service does not tell a threat's.
 */
export interface Evidence {
  /** Whether anything can be said of this kind of value. */
  readonly applies: boolean;
  readonly threats: number;
  /** The most frequent first. */
  readonly verdicts: readonly Count[];
  readonly actions: readonly Count[];
  /** When the last one was detected, as the service tells it. */
  readonly last?: string;
  /** VIPs first, then by count; at most 10. */
  readonly recipients: readonly Recipient[];
  /** How many mailboxes in all, and how many of them are VIPs'. */
  readonly recipientCount: number;
  readonly vipCount: number;
  /** What users reported of it, and what the analysis said. */
  readonly reports: number;
  readonly reportVerdicts: readonly Count[];
  readonly lastReport?: string;
  /** The senders that the threats of a whole domain came from, where they are few: at most 5; else how many. */
  readonly senders: readonly Count[];
  readonly senderCount: number;
}

/** The window's threats, replayed against the lists as they would be. An estimate. */
export interface Backtest {
  /** How many threats were replayed. */
  readonly threats: number;
  /** Of each new or changed allow, what would have come through; those with the most, and with VIPs, first. */
  readonly allows: readonly BacktestAllow[];
  /** Of each new or changed deny, what it would have stopped that was not stopped. */
  readonly denies: readonly BacktestDeny[];
  /** Denies, as they would be, that no threat in the window came under: keys, sorted. */
  readonly unmatchedDenies: readonly string[];
  /** How many denies there would be. */
  readonly denyCount: number;
}

export interface BacktestAllow {
  readonly key: string;
  /** Threats that were stopped and would have come through. */
  readonly letThrough: number;
  readonly verdicts: readonly Count[];
  /** VIPs first. At most 10. */
  readonly recipients: readonly Recipient[];
  readonly recipientCount: number;
  readonly vipCount: number;
  /** At most 3, malicious ones and those to VIPs first. */
  readonly examples: readonly BacktestExample[];
}

export interface BacktestExample {
  readonly id: string;
  readonly time?: string;
  readonly sender?: string;
  readonly recipient?: string;
  readonly subject?: string;
  readonly verdict?: string;
}

export interface BacktestDeny {
  readonly key: string;
  /** Threats that came under it. */
  readonly matched: number;
  /** Of these, those that had reached a mailbox and stayed: no action, or undone. */
  readonly stopped: number;
  readonly recipients: readonly Recipient[];
  readonly recipientCount: number;
  readonly vipCount: number;
}
