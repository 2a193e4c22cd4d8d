import { isPlainDomain } from "../model/entry-value";
import { isPlainText } from "../model/text";
import { isValidDay } from "./element-fields";
import { isMapping } from "./element-identity";
import type { PolicySubject } from "./settings-schema";

/**
 * Returns whether an element needs no validation, like most elements of allow and deny lists: a plain domain with plain metadata. The
 * schema checks all other elements.
 */
export function isTrivialElement(element: unknown, section: PolicySubject): boolean {
  if (section === "vips" || !isMapping(element)) return false;
  for (const key in element) {
    const text = element[key];
    if (key === "seen") {
      if (!isTrivialSeen(text)) return false;
    } else if (key === "reviewed" ? !isTrivialReview(text) : typeof text !== "string" || !isTrivialText(key, text)) {
      return false;
    }
  }
  return Object.hasOwn(element, "value");
}

function isTrivialText(key: string, text: string): boolean {
  switch (key) {
    case "value":
      return isPlainDomain(text);
    case "comment":
    case "ticket":
    case "owner":
    case "approvedBy":
      return text.length <= 200 && ALPHANUMERIC.test(text) && isPlainText(text);
    case "expires":
      return text === "never" || NON_LEAP_DAY.test(text) || isIsoDate(text);
    default:
      return false;
  }
}

function isTrivialReview(review: unknown): boolean {
  if (!isMapping(review)) return false;
  const { on, by, reason = by, ...others } = review;
  return (
    typeof on === "string" &&
    isIsoDate(on) &&
    [by, reason].every((text) => typeof text === "string" && isTrivialText("comment", text)) &&
    Object.keys(others).length === 0
  );
}

function isTrivialSeen(seen: unknown): boolean {
  if (!isMapping(seen)) return false;
  const { first, last = first, ...others } = seen;
  return [first, last].every((day) => typeof day === "string" && isIsoDate(day)) && Object.keys(others).length === 0;
}

const ALPHANUMERIC = /[A-Za-z0-9]/;

/** Every day except 29 February. */
const NON_LEAP_DAY =
  /^\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)$/;

function isIsoDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && isValidDay(text);
}
