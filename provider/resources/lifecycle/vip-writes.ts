import { type AddVipResult, EmailSecurityError, NotFoundError, type VipEmployeeRow } from "../../client";
import type { VipEmployeeInputs } from "../../settings/arguments";
import { LIST_LAG_MS } from "../../settings/assumptions";
import { sameComment } from "../../settings/comparable";
import { canonicalMailbox, parseMailbox } from "../../settings/entry-value";
import { describeDetails } from "../../settings/standing-text";
import { excerpt, harmless, quote } from "../../settings/text";
import type { Tenant } from "../../tenant";
import {
  AutoDetectedError,
  commentAdvice,
  ExcludedError,
  NotAppliedError,
  NotListedError,
  VipAliasError,
} from "./errors";
import { type DeclaredThing, isDefined, PartialFailure } from "./lifecycle";

/*
 * The writes by which a mailbox comes to be a VIP as declared. One VIP and a whole list go through the same, so that
 * they can't disagree.
 */

/**
 * Makes the mailbox a VIP with the declared comment: observes, adds, edits the comment, and reads back. Told that no
 * row is stored for it, it observes anew and does not try the comment before an explicit add.
 */
export async function ensureVip(
  inputs: VipEmployeeInputs,
  tenant: Tenant,
  storedInfo: { readonly storedRow: boolean } = { storedRow: true },
): Promise<VipEmployeeRow> {
  const existingRow = await (storedInfo.storedRow
    ? tenant.findVip(inputs.email)
    : tenant.findVipAnew(inputs.email));
  const row = existingRow ?? (await addAndReadVip(inputs, tenant));
  if (sameComment(row.comment, inputs.comment)) return row;
  if (storedInfo.storedRow || existingRow === undefined) {
    try {
      return await writeComment(inputs, tenant);
    } catch (error) {
      if (error instanceof NotFoundError) {
        // Tried again below, once the mailbox was added explicitly.
      } else if (existingRow === undefined && error instanceof EmailSecurityError) {
        const { comment: _sent, ...rest } = inputs;
        const { comment } = row;
        const added = { ...rest, ...(comment === undefined ? {} : { comment: harmless(comment) }) };
        throw new PartialFailure(canonicalMailbox(inputs.email), added, error);
      } else throw error;
    }
  }
  // "An auto-detected employee has no stored row …; that employee must be added explicitly first." (reference)
  await addAndReadVip(inputs, tenant);
  try {
    return await writeComment(inputs, tenant);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    throw new AutoDetectedError(
      `${inputs.email} is a VIP by automatic detection, and the service stores no comment for it (it answered 404 to the comment, before and after the mailbox was added explicitly). It is a VIP all the same. Leave \`comment\` out of the declaration, and keep the reason in a comment of the program.`,
      { cause: error },
    );
  }
}

/** What follows an addition: where it fails, the mailbox is a VIP all the same, and must not be forgotten. */
async function addToStateOnFailure<T>(inputs: VipEmployeeInputs, followUp: Promise<T>): Promise<T> {
  try {
    return await followUp;
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
    throw new PartialFailure(canonicalMailbox(inputs.email), { ...inputs }, error);
  }
}

/**
 * Adds the mailbox and reads it back. The list may lag behind the answer, so it is read again for a while; where it still shows
 * nothing, the mailbox goes into state all the same, so that it is not forgotten.
 */
async function addAndReadVip(inputs: VipEmployeeInputs, tenant: Tenant): Promise<VipEmployeeRow> {
  const addResult = await tenant.addVip(inputs.email, inputs.comment);
  const aliasError = buildAliasError(addResult, inputs.email);
  const [added] = aliasError?.added ?? [];
  const stateInputs =
    aliasError === undefined ? inputs : added === undefined ? undefined : { ...inputs, email: added };
  const refetch = () => tenant.findVipAnew(inputs.email);
  const rowPromise = aliasError === undefined ? tenant.readUntil(refetch, isDefined) : refetch();
  const row = await (stateInputs === undefined ? rowPromise : addToStateOnFailure(stateInputs, rowPromise));
  if (row !== undefined) return row;
  const error = aliasError ?? buildNotListedError(inputs.email, addResult);
  if (stateInputs === undefined) throw error;
  throw new PartialFailure(canonicalMailbox(stateInputs.email), { ...stateInputs }, error);
}

function buildNotListedError(email: string, { already_vip: alreadyVips }: AddVipResult): EmailSecurityError {
  const seconds = LIST_LAG_MS / 1_000;
  if (alreadyVips.length > 0) {
    return new NotListedError(
      `The service answered that ${email} is a VIP already, but its list did not show it for ${seconds} s. The list may lag behind (eventual consistency). The mailbox is in the stack's state. Run again in a minute; if it fails again, look at the mailbox in the service's console.`,
    );
  }
  return new ExcludedError(
    `${email} was added and the service answered success, but its list did not show it as a VIP for ${seconds} s. Either the list lags behind (eventual consistency), or an exclusion of the mailbox still stands. The mailbox is in the stack's state. Run again in a minute; if it fails again, clear the exclusion in the service's console, then run again.`,
  );
}

/** The error about an alias, where the service answers with other mailboxes than the one that was asked for. */
function buildAliasError(
  { added, already_vip: alreadyVips }: AddVipResult,
  email: string,
): VipAliasError | undefined {
  const mailbox = canonicalMailbox(email);
  const reportedMailboxes = [...added, ...alreadyVips].map(canonicalMailbox);
  if (reportedMailboxes.length === 0 || reportedMailboxes.includes(mailbox)) return undefined;
  const primaries = [...new Set(reportedMailboxes)];
  const newMailboxes = new Set(added.map(canonicalMailbox));
  // What is no mailbox can't be declared, so state is no place for it.
  const addedMailboxes = primaries.filter(
    (mailboxName) => newMailboxes.has(mailboxName) && parseMailbox(mailboxName).ok,
  );
  const primariesText = primaries.map((mailboxName) => excerpt(mailboxName)).join(", ");
  const outcomeText =
    newMailboxes.size > 0
      ? `the service made ${primariesText} a VIP instead, which is now in the stack's state`
      : `${primariesText} is a VIP already, and nothing was changed`;
  return new VipAliasError(
    `${email} can't be a VIP under this address: it is an alias, and ${outcomeText}. Declare ${primariesText} in place of ${email}, then run again.`,
    { primaries, added: addedMailboxes },
  );
}

/** @throws {NotFoundError} when no row is stored for the mailbox. */
export async function writeComment(inputs: VipEmployeeInputs, tenant: Tenant): Promise<VipEmployeeRow> {
  const row = await tenant.editVipComment(inputs.email, inputs.comment ?? "");
  if (sameComment(row.comment, inputs.comment)) return row;
  throw new NotAppliedError(
    `The service answered success to the comment of ${inputs.email}, but holds ${quote(row.comment ?? "")} instead of ${quote(inputs.comment ?? "")}. ${commentAdvice(inputs.comment, row.comment)}`,
  );
}

const VIP_PREFIX = "vip ";

/** The mailbox of a key of {@link keyOfVip}; undefined for the key of something else. */
export function mailboxOf(key: string): string | undefined {
  return key.startsWith(VIP_PREFIX) ? key.slice(VIP_PREFIX.length) : undefined;
}

/** What a declared VIP is known by among all that the program declares. */
export function keyOfVip(email: string): string {
  return `${VIP_PREFIX}${canonicalMailbox(email)}`;
}

/** A declared VIP, as the program's other declarations are compared with it. */
export function declaredVip(inputs: VipEmployeeInputs, property: string): DeclaredThing {
  const email = canonicalMailbox(inputs.email);
  return {
    key: keyOfVip(email),
    subject: keyOfVip(email),
    property,
    name: email,
    claim: `${email} with ${describeDetails(inputs)}${inputs.onDelete === "keep" ? ' and onDelete "keep"' : ""}`,
    target: { value: email },
  };
}
