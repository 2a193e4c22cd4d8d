import type { Kind } from "./kinds";
import type { Recipient } from "./mail-plan";
import type { Random, Weighted } from "./random";

/** Departments that can make payments are common targets. */
const FINANCE_DEPARTMENT = /financ|treasur|account|payroll|controlling/i;

type Audiences = Record<Kind["audience"], readonly Weighted<Recipient>[]>;

export function audiencesOf(recipients: Recipient[]): Audiences {
  const assignWeights = (getWeight: (recipient: Recipient, isFinance: boolean) => number) =>
    recipients.map(
      (recipient): Weighted<Recipient> => [
        getWeight(recipient, FINANCE_DEPARTMENT.test(recipient.department)),
        recipient,
      ],
    );
  return {
    anyone: assignWeights(({ isVip }, isFinance) => (isVip ? 3 : isFinance ? 2.5 : 1)),
    leaders: assignWeights(({ isVip }, isFinance) => (isVip ? 20 : isFinance ? 4 : 1)),
    finance: assignWeights(({ isVip }, isFinance) => (isFinance ? 20 : isVip ? 6 : 1)),
  };
}

/** Picks one to `maxCount` distinct recipients. */
export function someOf(random: Random, audience: Audiences["anyone"], maxCount: number): Recipient[] {
  const chosen = new Set<Recipient>();
  for (let remaining = random.integer(1, maxCount); remaining > 0; remaining -= 1)
    chosen.add(random.weighted(audience));
  return [...chosen];
}
