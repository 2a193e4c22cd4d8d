import type { AllowDenyEntryRow } from "../../client";
import { createErrorClass, EmailSecurityError } from "../../model/email-security-error";
import { describeDetails } from "../../model/entry-state-text";
import { inferEntryType } from "../../model/entry-value";
import { describeTextChange, excerpt, quote } from "../../model/text";

/** The declared object exists with other arguments, and adoption wasn't requested. `ERR_EXISTS` */
export class AlreadyExistsError extends createErrorClass("ERR_EXISTS") {}

/** Explains how a pruning list comes to remove an object that no preview has shown. */
export const PRUNE_ADVICE = "This list removes it after a refresh: run again with a refresh.";

/** A different existing object conflicts with a list that will remove it in the next run. `ERR_EXISTS` */
export class PrunedByNextRunError extends AlreadyExistsError {
  constructor(cause: AlreadyExistsError) {
    super(`${cause.message} ${PRUNE_ADVICE}`, { cause });
  }
}

/** The service reported success but didn't apply the change. `ERR_NOT_APPLIED` */
export class NotAppliedError extends createErrorClass("ERR_NOT_APPLIED") {}

/** An entry was created on the wrong list. It was undone, or the message says why not. `ERR_WRONG_LIST` */
export class WrongListError extends createErrorClass("ERR_WRONG_LIST") {}

/** An entry no longer matches the state, so deleting it would delete something other than shown. `ERR_MOVED` */
export class StaleEntryError extends createErrorClass("ERR_MOVED") {}

/** An entry of a list was moved or changed after it was shown. `ERR_MOVED` */
export class EntryChangedError extends StaleEntryError {
  readonly row: AllowDenyEntryRow;

  constructor(change: "moved" | "changed", row: AllowDenyEntryRow) {
    super(
      `was ${change} in the meantime: it is now ${describeExistingEntry(row)}. The preview did not show its removal, so it was kept. Refresh, then run again.`,
    );
    this.row = row;
  }
}

/** The mailbox was added but isn't listed: it may be excluded, or the list lags. `ERR_EXCLUDED` */
export class ExcludedError extends createErrorClass("ERR_EXCLUDED") {}

/** The service reports that a mailbox is a VIP already, but its list doesn't show it. `ERR_NOT_LISTED` */
export class NotListedError extends createErrorClass("ERR_NOT_LISTED") {}

/** A declared address is an alias: the service returns another mailbox. `ERR_VIP_ALIAS` */
export class VipAliasError extends EmailSecurityError {
  /** The mailboxes that the service names instead of the alias. */
  readonly primaryMailboxes: readonly string[];
  /** The mailboxes among them that this run added as VIPs. */
  readonly addedMailboxes: readonly string[];

  constructor(
    message: string,
    { primaries, added }: { readonly primaries: readonly string[]; readonly added: readonly string[] },
  ) {
    super("ERR_VIP_ALIAS", message);
    this.primaryMailboxes = primaries;
    this.addedMailboxes = added;
  }
}

/** An automatically detected VIP has no stored row that could hold a comment. `ERR_AUTO_DETECTED` */
export class AutoDetectedError extends createErrorClass("ERR_AUTO_DETECTED") {}

/**
 * The object to delete belongs to a different tenant than the run's, and the program doesn't declare it here.
 * `ERR_OTHER_TENANT`
 */
export class OtherTenantError extends createErrorClass("ERR_OTHER_TENANT") {}

/** Two `Provider`s of a program reach the same tenant with contradicting declarations. `ERR_SAME_TENANT` */
export class SameTenantProvidersError extends createErrorClass("ERR_SAME_TENANT") {}

/** A run would remove more of a list than the removal guard allows. `ERR_GUARD` */
export class RemovalGuardError extends createErrorClass("ERR_GUARD") {}

/** A run's changes differ from the reviewed plan. `ERR_PLAN_STALE` */
export class PlanStaleError extends createErrorClass("ERR_PLAN_STALE") {}

/** Some items of a list could not be changed to their declarations. `ERR_LIST_NOT_APPLIED` */
export class ListNotAppliedError extends createErrorClass("ERR_LIST_NOT_APPLIED") {}

/** An import id is invalid or ambiguous, or names something that can't be declared. `ERR_IMPORT` */
export class NotImportableError extends createErrorClass("ERR_IMPORT") {}

/** Describes an entry by the details a person would look for: value, list, creator, time, and a type that the value does not imply. */
export function describeExistingEntry(entry: AllowDenyEntryRow): string {
  const impliedType = inferEntryType(entry.value);
  const hasImpliedType = impliedType === undefined || entry.entry_type === impliedType;
  const typeText = hasImpliedType ? "" : `, type ${quote(entry.entry_type)}`;
  const scopeText = entry.verdict_scope === undefined ? "" : `, scope ${quote(entry.verdict_scope)}`;
  const creatorText = !entry.created_by ? "" : `, created by ${excerpt(entry.created_by)}`;
  const timeText = !entry.created_at ? "" : ` at ${excerpt(entry.created_at)}`;
  return `${excerpt(entry.value, 300)} on the ${excerpt(entry.list)} list (id ${excerpt(entry.id)}${typeText}${scopeText}, ${describeDetails(entry)}${creatorText}${timeText})`;
}

/** Returns the advice for a comment that the service changes, which another run alone never resolves. */
export function formatCommentAdvice(sent: string | undefined, stored: string | undefined): string {
  return `The service ${describeTextChange(sent ?? "", stored ?? "")}. It does so on every run: declare the comment as the service stores it, or omit it, then run again with a refresh. If somebody else changed it in the meantime, running again is enough.`;
}
