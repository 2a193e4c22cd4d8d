import type { Tolerance } from "./target";

/** How many of so many tenants may fail: a percentage rounded down, so that it is never more than was said. */
export function toleratedOf(tolerance: Tolerance, tenants: number): number {
  return "count" in tolerance ? tolerance.count : Math.floor(partOf(tolerance.percent, tenants));
}

/** How many of so many tenants are taken: a percentage rounded up, at least one; never more than there are. */
export function takenOf(take: Tolerance, tenants: number): number {
  const count = "count" in take ? take.count : Math.max(1, Math.ceil(partOf(take.percent, tenants)));
  return Math.min(count, tenants);
}

/** Percentages have two decimals at most, so in hundredths of them the product is exact, and 10% of 30 is 3. */
function partOf(percent: number, of: number): number {
  return (Math.round(percent * 100) * of) / 10_000;
}
