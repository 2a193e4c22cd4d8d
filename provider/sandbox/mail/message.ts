import type { Campaign } from "./campaign";
import type { MailRecipient } from "./mail-plan";
import type { Random } from "./random";

export interface Message {
  time: number;
  campaign: Campaign;
  recipients: MailRecipient[];
}

/** Creates a message id. Some use characters that RFC 5322 allows but that need escaping in a URL path. */
export function generateMessageId(random: Random, domain: string): string {
  const unique = random.hex(2);
  switch (random.integer(0, 3)) {
    case 0:
      return `<${unique}.${random.integer(1, 9_999)}@${domain}>`;
    case 1:
      return `<CA+${unique}=${random.hex(1)}@mail.${domain}>`;
    case 2:
      return `<${unique}/${random.hex(1)}+${random.integer(0, 9)}%${random.integer(10, 99)}@${domain}>`;
    default:
      return `<${random.integer(1, 99)}$${unique}#${random.hex(1)}?{x}&'~@${domain}>`;
  }
}

export function getAddressDomain(email: string): string {
  return email.slice(email.lastIndexOf("@") + 1);
}
