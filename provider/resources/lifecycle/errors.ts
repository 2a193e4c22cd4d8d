import type { AllowDenyEntryRow } from "../../client";
import { EmailSecurityError } from "../../settings/email-security-error";
import { describeDetails } from "../../settings/standing-text";
import { describeTextChange, excerpt, quote } from "../../settings/text";

/** What was declared exists already with other arguments, and nobody said to take it over. `ERR_EXISTS` */
export class AlreadyExistsError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_EXISTS", message, options);
  }
}

/** How a list that removes what nobody declares comes to remove what no preview has shown. */
export const PRUNED_BY_NEXT_RUN =
  "This list removes it once a refresh has shown it: run again with a refresh.";

/** What exists otherwise is in the way of a list that removes it in the next run. `ERR_EXISTS` */
export class PrunedByNextRunError extends AlreadyExistsError {
  constructor(cause: AlreadyExistsError) {
    super(`${cause.message} ${PRUNED_BY_NEXT_RUN}`, { cause });
  }
}

/** The service did not do what it answered success to. `ERR_NOT_APPLIED` */
export class NotAppliedError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_NOT_APPLIED", message, options);
  }
}

/** An entry landed on the other list than asked for. It was undone, or the message says that it could not be. `ERR_WRONG_LIST` */
export class WrongListError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_WRONG_LIST", message, options);
  }
}

/** An entry is no longer where the state says, so deleting it would delete something else than was shown. `ERR_MOVED` */
export class MovedError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_MOVED", message, options);
  }
}

/** The mailbox was added and the list does not show it: it may be excluded, or the list lags. `ERR_EXCLUDED` */
export class ExcludedError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_EXCLUDED", message, options);
  }
}

/** The service says that a mailbox is a VIP already, and its list does not show it. `ERR_NOT_LISTED` */
export class NotListedError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_NOT_LISTED", message, options);
  }
}

/** A declared address is an alias: the service answers with another mailbox. `ERR_VIP_ALIAS` */
export class VipAliasError extends EmailSecurityError {
  /** The mailboxes that the service names in place of the alias. */
  readonly primaries: readonly string[];
  /** Those of them that this run has made VIPs. */
  readonly added: readonly string[];

  constructor(
    message: string,
    { primaries, added }: { readonly primaries: readonly string[]; readonly added: readonly string[] },
  ) {
    super("ERR_VIP_ALIAS", message);
    this.primaries = primaries;
    this.added = added;
  }
}

/** A VIP by automatic detection has no stored row that could hold a comment. `ERR_AUTO_DETECTED` */
export class AutoDetectedError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_AUTO_DETECTED", message, options);
  }
}

/** What is to be deleted belongs to another tenant than this run reaches, and the program doesn't declare it here. `ERR_OTHER_TENANT` */
export class OtherTenantError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_OTHER_TENANT", message, options);
  }
}

/** Two `Provider`s of a program reach one tenant and contradict each other there. `ERR_SAME_TENANT` */
export class SameTenantProvidersError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_SAME_TENANT", message, options);
  }
}

/** A run would remove more of a list than it may. `ERR_GUARD` */
export class GuardError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_GUARD", message, options);
  }
}

/** What a run would do is not what was reviewed. `ERR_PLAN_MOVED` */
export class PlanMovedError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_PLAN_MOVED", message, options);
  }
}

/** Some of a whole list could not be brought to what is declared. `ERR_LIST_NOT_APPLIED` */
export class ListNotAppliedError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_LIST_NOT_APPLIED", message, options);
  }
}

/** An id for an import means nothing, or several things, or something that no program can declare. `ERR_IMPORT` */
export class NotImportableError extends EmailSecurityError {
  constructor(message: string, options?: ErrorOptions) {
    super("ERR_IMPORT", message, options);
  }
}

/** Names an entry of the service as a person would look for it: what, where, who made it, when. */
export function describeEntry(entry: AllowDenyEntryRow): string {
  const scopeText = entry.verdict_scope === undefined ? "" : `, scope ${quote(entry.verdict_scope)}`;
  const creatorText = !entry.created_by ? "" : `, made by ${excerpt(entry.created_by)}`;
  const timeText = !entry.created_at ? "" : ` at ${excerpt(entry.created_at)}`;
  return `${excerpt(entry.value, 300)} on the ${excerpt(entry.list)} list (id ${excerpt(entry.id)}${scopeText}, ${describeDetails(entry)}${creatorText}${timeText})`;
}

/** What to do about a comment that the service changes: running again alone never ends that. */
export function commentAdvice(sent: string | undefined, stored: string | undefined): string {
  return `The service ${describeTextChange(sent ?? "", stored ?? "")}. It does so on every run: declare the comment as the service keeps it, or none, then run again with a refresh. If somebody else changed it meanwhile, running again is enough.`;
}
