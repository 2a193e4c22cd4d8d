/** Behaviour that the reference leaves open. Each option lists the interpretations that a client must handle. */
export interface SandboxBehaviour {
  /**
   * Status of an add-VIP request that fails because of addresses outside the organization (reference, "Errors").
   * Default 400.
   */
  notInOrgStatus?: 200 | 400 | 404 | 409 | 422;
  /** Where that response carries `added`, `already_vip` and `not_in_org`: under `results` (default) or at the top level. */
  notInOrgShape?: "top" | "results";
  /**
   * Whether adding an excluded mailbox clears its exclusion. The reference, "States and transitions", doesn't say.
   * Default true. If false, the response still lists the mailbox in `added`, but it stays excluded and doesn't become a
   * VIP.
   */
  addClearsExclusion?: boolean;
  /**
   * Whether an add stores a manual row, with its comment, for an auto-detected VIP. The response is `already_vip`
   * either way. Default true, because the comment edit says that such an employee "must be added explicitly first". If
   * false, the add writes nothing, as in the table of states ("VIP, unchanged"), and a comment edit still returns 404.
   */
  addStoresAutoDetected?: boolean;
  /**
   * Whether values and mailboxes are returned in canonical form (default: lower case, punycode, RFC 5952) or as sent.
   * It doesn't affect which values count as equal. VIP rows always show the directory's mailbox.
   */
  echoValue?: "canonical" | "as-sent";
}
