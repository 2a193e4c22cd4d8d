import type { Kind } from "./kinds";
import type { Recipient } from "./mail-plan";
import type { Random, Weighted } from "./random";

/** Who pays is attacked. */
const finance = /financ|treasur|account|payroll|controlling/i;

type Audiences = Record<Kind["audience"], readonly Weighted<Recipient>[]>;

export function audiencesOf(recipients: Recipient[]): Audiences {
  const weighted = (weightOf: (recipient: Recipient, isFinance: boolean) => number) =>
    recipients.map(
      (recipient): Weighted<Recipient> => [
        weightOf(recipient, finance.test(recipient.department)),
        recipient,
      ],
    );
  return {
    anyone: weighted(({ isVip }, isFinance) => (isVip ? 3 : isFinance ? 2.5 : 1)),
    leaders: weighted(({ isVip }, isFinance) => (isVip ? 20 : isFinance ? 4 : 1)),
    finance: weighted(({ isVip }, isFinance) => (isFinance ? 20 : isVip ? 6 : 1)),
  };
}

/** One to `most` recipients, each once. */
export function someOf(random: Random, audience: Audiences["anyone"], most: number): Recipient[] {
  const chosen = new Set<Recipient>();
  for (let left = random.integer(1, most); left > 0; left -= 1) chosen.add(random.weighted(audience));
  return [...chosen];
}
