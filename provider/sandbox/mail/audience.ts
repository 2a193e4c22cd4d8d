import type { MailKind } from "./mail-kinds";
import type { MailRecipient } from "./mail-plan";
import type { Random, WeightedChoice } from "./random";

const FINANCE_DEPARTMENT = /financ|treasur|account|payroll|controlling/i;

type Audiences = Record<MailKind["audience"], readonly WeightedChoice<MailRecipient>[]>;

export function buildAudiences(recipients: MailRecipient[]): Audiences {
  const assignWeights = (getWeight: (recipient: MailRecipient, isFinance: boolean) => number) =>
    recipients.map(
      (recipient): WeightedChoice<MailRecipient> => [
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

export function pickRecipients(random: Random, audience: Audiences["anyone"], maxCount: number): MailRecipient[] {
  const chosen = new Set<MailRecipient>();
  for (let remaining = random.integer(1, maxCount); remaining > 0; remaining -= 1)
    chosen.add(random.weighted(audience));
  return [...chosen];
}
