import { type AddVipResult, EmailSecurityError, NotFoundError, type VipEmployeeRow } from "../../client";
import type { VipEmployeeInputs } from "../../model/arguments";
import { LIST_LAG_MS } from "../../model/assumptions";
import { getDetailValues, isSameEntryState } from "../../model/entry-fields";
import { describeDetails } from "../../model/entry-state-text";
import { canonicalizeMailbox, parseMailbox } from "../../model/entry-value";
import { omitUndefined } from "../../model/omit-undefined";
import { excerpt, quote, sanitizeMultiline } from "../../model/text";
import { readConfirmed, type TenantCache } from "../../tenant";
import {
  AutoDetectedError,
  ExcludedError,
  formatCommentAdvice,
  NotAppliedError,
  NotListedError,
  VipAliasError,
} from "./errors";
import { type DeclarationItem, isDefined, PartialFailureError } from "./lifecycle";

/*
 * The writes that make a mailbox a VIP as declared. The resources for one VIP and for a whole list share them, so both
 * behave the same.
 */

/**
 * Makes the mailbox a VIP with the declared comment: reads the list, adds the mailbox, reads it back, and edits the
 * comment.
 *
 * @param options `storedRow: false` means that the service stores no row for the mailbox. The list is then refetched,
 * and an existing VIP is added explicitly before its comment is edited. `isInState` means that the state contains the
 * VIP. Otherwise an earlier run may have removed a VIP that the list still shows. The list is then refetched, except
 * before an edit of the comment, which returns 404 in that case.
 * @throws {AutoDetectedError} if the service stores no comment for an automatically detected VIP.
 * @throws {PartialFailureError} if the mailbox is a VIP now and a later step failed.
 */
export async function ensureVip(
  inputs: VipEmployeeInputs,
  tenant: TenantCache,
  { storedRow = true, isInState }: { readonly storedRow?: boolean; readonly isInState: boolean },
): Promise<VipEmployeeRow> {
  const existingRow = storedRow
    ? await readConfirmed(
        tenant,
        "vips",
        () => tenant.findVip(inputs.email),
        (row) => row !== undefined && !isInState && isSameEntryState(row, inputs),
      )
    : await tenant.refetchVip(inputs.email);
  const row = existingRow ?? (await addAndReadVip(inputs, tenant));
  if (isSameEntryState(row, inputs)) return row;
  if (storedRow || existingRow === undefined) {
    try {
      return await writeVipComment(inputs, tenant);
    } catch (error) {
      if (error instanceof NotFoundError) {
        // Add the mailbox explicitly below, then retry.
      } else if (existingRow === undefined && error instanceof EmailSecurityError) {
        const details = Object.entries(getDetailValues(row)).map(
          ([name, text]) => [name, text === undefined ? undefined : sanitizeMultiline(text)] as const,
        );
        const added = omitUndefined({ ...inputs, ...Object.fromEntries(details) });
        throw new PartialFailureError(canonicalizeMailbox(inputs.email), added, error);
      } else throw error;
    }
  }
  // "An auto-detected employee has no stored row …; that employee must be added explicitly first." (reference)
  await addAndReadVip(inputs, tenant);
  try {
    return await writeVipComment(inputs, tenant);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    throw new AutoDetectedError(
      `${inputs.email} is a VIP by automatic detection, and the service stores no comment for it (it returned 404 for the comment, before and after the mailbox was added explicitly). It is still a VIP. Remove \`comment\` from the declaration, and keep the reason in a comment of the program.`,
      { cause: error },
    );
  }
}

/** Awaits a step after an addition. If it fails, the mailbox is a VIP nevertheless, so the state must contain it. */
async function addToStateOnFailure<T>(inputs: VipEmployeeInputs, followUp: Promise<T>): Promise<T> {
  try {
    return await followUp;
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
    throw new PartialFailureError(canonicalizeMailbox(inputs.email), { ...inputs }, error);
  }
}

/**
 * Adds the mailbox and reads it back. The list may lag behind the response, so it is refetched for a while. If it still
 * doesn't show the mailbox, the state holds the mailbox nevertheless.
 */
async function addAndReadVip(inputs: VipEmployeeInputs, tenant: TenantCache): Promise<VipEmployeeRow> {
  const addResult = await tenant.addVip(inputs.email, inputs.comment);
  const aliasError = buildAliasError(addResult, inputs.email);
  const [added] = aliasError?.addedMailboxes ?? [];
  const stateInputs = aliasError === undefined ? inputs : added === undefined ? undefined : { ...inputs, email: added };
  const refetch = () => tenant.refetchVip(inputs.email);
  const rowPromise = aliasError === undefined ? tenant.readUntil(refetch, isDefined) : refetch();
  const row = await (stateInputs === undefined ? rowPromise : addToStateOnFailure(stateInputs, rowPromise));
  if (row !== undefined) return row;
  const error = aliasError ?? buildNotListedError(inputs.email, addResult);
  if (stateInputs === undefined) throw error;
  throw new PartialFailureError(canonicalizeMailbox(stateInputs.email), { ...stateInputs }, error);
}

function buildNotListedError(email: string, { already_vip: alreadyVips }: AddVipResult): EmailSecurityError {
  const seconds = LIST_LAG_MS / 1_000;
  if (alreadyVips.length > 0) {
    return new NotListedError(
      `The service reported that ${email} is already a VIP, but its list did not show it for ${seconds} s. The list may lag behind (eventual consistency), or the address is an alias of another VIP. The mailbox is in the stack's state. Run again in a minute; if it fails again, check the mailbox in the service's console, and declare the address shown there.`,
    );
  }
  return new ExcludedError(
    `${email} was added and the service reported success, but its list did not show it as a VIP for ${seconds} s. Either the list lags behind (eventual consistency), or the mailbox is still excluded. The mailbox is in the stack's state. Run again in a minute; if it fails again, clear the exclusion in the service's console, then run again.`,
  );
}

/** Builds the error for an alias if the service responds with other mailboxes than the requested one. */
function buildAliasError({ added, already_vip: alreadyVips }: AddVipResult, email: string): VipAliasError | undefined {
  const mailbox = canonicalizeMailbox(email);
  const reportedMailboxes = [...added, ...alreadyVips].map(canonicalizeMailbox);
  if (reportedMailboxes.length === 0 || reportedMailboxes.includes(mailbox)) return undefined;
  const primaries = [...new Set(reportedMailboxes)];
  const newMailboxes = new Set(added.map(canonicalizeMailbox));
  // A program can't declare an invalid mailbox, so the state must not hold one.
  const addedMailboxes = primaries.filter(
    (mailboxName) => newMailboxes.has(mailboxName) && parseMailbox(mailboxName).ok,
  );
  const primariesText = primaries.map((mailboxName) => excerpt(mailboxName)).join(", ");
  const outcomeText =
    newMailboxes.size > 0
      ? `the service made ${primariesText} a VIP instead, which is now in the stack's state`
      : `${primariesText} is already a VIP, so nothing was changed`;
  return new VipAliasError(
    `${email} can't be a VIP under this address: it is an alias, and ${outcomeText}. Declare ${primariesText} instead of ${email}, then run again.`,
    { primaries, added: addedMailboxes },
  );
}

/**
 * Writes the declared comment.
 *
 * @throws {NotFoundError} if the service stores no row for the mailbox.
 * @throws {NotAppliedError} if the service reports success but stores another comment.
 */
export async function writeVipComment(inputs: VipEmployeeInputs, tenant: TenantCache): Promise<VipEmployeeRow> {
  const row = await tenant.editVipComment(inputs.email, inputs.comment ?? "");
  if (isSameEntryState(row, inputs)) return row;
  throw new NotAppliedError(
    `The service reported success for the comment of ${inputs.email}, but stores ${quote(row.comment ?? "")} instead of ${quote(inputs.comment ?? "")}. ${formatCommentAdvice(inputs.comment, row.comment)}`,
  );
}

const VIP_PREFIX = "vip ";

/** Returns the mailbox of a key from {@link buildVipDeclarationKey}. Undefined for other keys. */
export function parseVipDeclarationKey(key: string): string | undefined {
  return key.startsWith(VIP_PREFIX) ? key.slice(VIP_PREFIX.length) : undefined;
}

export function buildVipDeclarationKey(email: string): string {
  return `${VIP_PREFIX}${canonicalizeMailbox(email)}`;
}

/** Builds the declaration of a VIP, for the comparison with the program's other declarations. */
export function buildVipDeclaration(inputs: VipEmployeeInputs, property: string): DeclarationItem {
  const email = canonicalizeMailbox(inputs.email);
  return {
    key: buildVipDeclarationKey(email),
    subject: buildVipDeclarationKey(email),
    property,
    name: email,
    description: `${email} with ${describeDetails(inputs)}${inputs.onDelete === "keep" ? ' and onDelete "keep"' : ""}`,
    target: { value: email },
  };
}
