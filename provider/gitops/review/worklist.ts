import type { Place } from "../../files/finding";
import type { EvidenceBase } from "../../plan/evidence";
import type { Observed } from "../../plan/observed";
import { REVIEW_KINDS, type Reason } from "./review-kinds";

/** One thing that stands, or a person who is targeted, with all reasons to look at it. */
export interface ReviewItem {
  readonly list: "allow" | "deny" | "vip";
  /** The value or mailbox, in canonical form; as the service tells it of what no file declares. */
  readonly value: string;
  /** Of entries. */
  readonly scope?: string;
  /** Where it is declared; undefined of what no file declares. */
  readonly place?: Place;
  /** Whether the file is included, and others may include it too. */
  readonly isShared?: boolean;
  readonly comment?: string;
  readonly ticket?: string;
  readonly owner?: string;
  readonly expires?: string;
  /** The worst first. */
  readonly reasons: readonly Reason[];
}

/** What is to be looked at, and what of it could not be asked. */
export interface Review {
  /** The worst first. */
  readonly items: readonly ReviewItem[];
  /** What of the mail could not be read, so that there may be more to look at: a printable sentence each. */
  readonly unread: readonly string[];
  /** Sentences: what nobody was asked, or nobody tells. Printable. */
  readonly notAsked: readonly string[];
}

/** The version of a review as JSON. */
export const REVIEW_FORMAT = 1;

/** A review, and what it is of. Plain data. */
export interface ReviewReport extends Review {
  readonly format: typeof REVIEW_FORMAT;
  /** The settings file, as it was named. */
  readonly file: string;
  /** The service's host; undefined where the tenant was not asked. */
  readonly host?: string;
  /** The day (UTC) by which it was judged. */
  readonly today: string;
}

/** What the tenant holds, and what its mail says. */
export interface Asked {
  readonly observed: Observed;
  readonly base: EvidenceBase;
}

/** An item with its reasons in order, the worst first. */
export function withReasons(item: Omit<ReviewItem, "reasons">, reasons: readonly Reason[]): ReviewItem {
  return { ...item, reasons: reasons.toSorted((one, other) => rank(one) - rank(other)) };
}

/** For sorting: the worst first, then by value. */
export function byRank(one: ReviewItem, other: ReviewItem): number {
  const [{ reasons: a }, { reasons: b }] = [one, other];
  return rank(a[0]) - rank(b[0]) || (one.value < other.value ? -1 : Number(one.value > other.value));
}

function rank(reason: Reason | undefined): number {
  return reason === undefined ? REVIEW_KINDS.length : REVIEW_KINDS.indexOf(reason.kind);
}
