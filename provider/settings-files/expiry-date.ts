import type { DeclaredElement } from "./settings-model";

/** Sorts after all dates. */
export const NO_EXPIRY = "9999-12-31";

/** Returns the last day of a declaration for comparison: {@link NO_EXPIRY} if it doesn't expire. */
export function getExpiryDate({ expires }: Pick<DeclaredElement, "expires">): string {
  return expires === undefined || expires === "never" ? NO_EXPIRY : expires;
}
