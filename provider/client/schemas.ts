import { z } from "zod";
import type { EntryType, List, VerdictScope } from "../settings/assumptions";

/*
 * The shapes of the reference's section "Resources and their fields". Read leniently: unknown fields pass, optional
 * ones may be missing or null; a field that is acted on must be there.
 */

/** A string that may be missing or null; both are read as undefined. */
const optionalText = z
  .string()
  .nullish()
  .transform((text) => text ?? undefined);

const optionalCount = z
  .number()
  .int()
  .nonnegative()
  .nullish()
  .transform((count) => count ?? undefined);

/** A mailbox that may be missing, null or empty: all three are a row without one. */
const optionalMailbox = optionalText.transform((email) => (email?.trim() ? email : undefined));

/** An entry of the allow/deny list (reference, table "Allow/deny entry"). */
export const allowDenyEntry = z.object({
  id: z.string().min(1),
  list: z.string().transform((list) => list as List | (string & {})),
  entry_type: z.string().transform((type) => type as EntryType | (string & {})),
  value: z.string(),
  verdict_scope: optionalText.transform((scope) => scope as VerdictScope | undefined),
  comment: optionalText,
  created_at: optionalText,
  created_by: optionalText,
});
export type AllowDenyEntryRow = z.infer<typeof allowDenyEntry>;

/** A row of the VIP list (reference, table "VIP employee (list row)"). A row without a mailbox is a real VIP. */
export const vipEmployee = z.object({
  email: optionalMailbox,
  full_name: optionalText,
  job_title: optionalText,
  department: optionalText,
  comment: optionalText,
  added_by: optionalText,
  date_added: optionalText,
  updated_at: optionalText,
  source: optionalText,
});
export type VipEmployeeRow = z.infer<typeof vipEmployee>;

/** The answer of the comment edit (reference, "VIP stored row"): no directory fields. */
export const vipStoredRow = z.object({
  email: optionalMailbox,
  comment: optionalText,
  added_by: optionalText,
  date_added: optionalText,
  updated_at: optionalText,
  source: optionalText,
});
export type VipStoredRow = z.infer<typeof vipStoredRow>;

const addresses = z
  .array(z.string())
  .nullish()
  .transform((list) => list ?? []);

/** The answer of adding VIPs (reference, "Other result shapes"). */
export const addVipResult = z.object({ added: addresses, already_vip: addresses, not_in_org: addresses });
export type AddVipResult = z.infer<typeof addVipResult>;

/** The answer of removing VIPs: how many exclusions were written. */
export const removeVipResult = z.object({ affected: optionalCount });
export type RemoveVipResult = z.infer<typeof removeVipResult>;

/** The answer of deleting an entry. */
export const deleteEntryResult = z.object({
  id: optionalText,
  deleted: z
    .boolean()
    .nullish()
    .transform((deleted) => deleted ?? undefined),
  deleted_at: optionalText,
  deleted_by: optionalText,
});
export type DeleteEntryResult = z.infer<typeof deleteEntryResult>;

/** One page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly page: number | undefined;
  readonly page_size: number | undefined;
  readonly total: number | undefined;
}

/** The success envelope: `results` of the given shape (reference, section "Response envelopes"). */
export function envelope<T extends z.ZodType>(results: T): z.ZodType<z.infer<T>> {
  return z.object({ results }).transform((body) => (body as { results: z.infer<T> }).results);
}

/** The envelope of the two settings lists: page data inside `results`, no top-level `pagination`. */
export function settingsPage<T extends z.ZodType>(item: T): z.ZodType<Page<z.infer<T>>> {
  return envelope(
    z.object({ items: z.array(item), page: optionalCount, page_size: optionalCount, total: optionalCount }),
  ).transform((page) => page as Page<z.infer<T>>);
}
