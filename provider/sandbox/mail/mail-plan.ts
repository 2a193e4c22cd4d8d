/** The input for generating a tenant's mail. The same plan produces the same mail. */
export interface MailPlan {
  tenant: string;
  seed: number;
  at: string;
  threats: number;
  recipients: MailRecipient[];
  /** Values of the deny list and the allow list. Some of the mail comes from these senders. */
  denied: string[];
  allowed: string[];
}

export interface MailRecipient {
  email: string;
  name: string;
  department: string;
  isVip: boolean;
  /** Whether this is a shared mailbox. */
  isGroup: boolean;
}
