import { z } from "zod";

/** A count that may be missing or null; both are read as undefined. */
export const optionalCount = z
  .number()
  .int()
  .nonnegative()
  .nullish()
  .transform((count) => count ?? undefined);
