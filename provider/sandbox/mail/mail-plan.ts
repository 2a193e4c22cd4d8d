/** What a tenant's mail is made from. The same plan gives the same mail. */
export interface MailPlan {
  tenant: string;
  seed: number;
  /** The moment that the half year ends with, RFC 3339. */
  at: string;
  /** How many threats there are. */
  threats: number;
  recipients: Recipient[];
  /** Values of the deny list and of the allow list: some of the mail comes from them. */
  denied: string[];
  allowed: string[];
}

export interface Recipient {
  email: string;
  name: string;
  department: string;
  isVip: boolean;
  /** A shared mailbox. */
  isGroup: boolean;
}
