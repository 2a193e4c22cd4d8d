/** What the reference leaves open, each with the readings a client has to cope with. */
export interface SandboxBehaviour {
  /** Status of an add-VIP refused for addresses outside the organization (reference, "Errors"). Default 400. */
  notInOrgStatus?: 200 | 400 | 404 | 409 | 422;
  /** Where that answer carries `added`, `already_vip` and `not_in_org`: under `results` (default) or at the top. */
  notInOrgShape?: "top" | "results";
  /**
   * Whether adding an excluded mailbox clears its exclusion (reference, "States and transitions": not shown).
   * Default true. When false the answer still names the mailbox in `added`, yet it stays excluded and no VIP.
   */
  addClearsExclusion?: boolean;
  /**
   * What an add does to an auto-detected VIP; either way the answer is `already_vip`. The comment edit says that
   * such an employee "must be added explicitly first", so by default (true) the add stores a manual row with the
   * comment. The table of states says "VIP, unchanged": with false nothing is written, and the edit stays a 404.
   */
  addStoresAutoDetected?: boolean;
  /**
   * Whether values and mailboxes come back in canonical form (default: lower case, punycode, RFC 5952) or as they
   * were sent. It decides nothing about what counts as the same value. VIP rows always show the directory's mailbox.
   */
  echoValue?: "canonical" | "as-sent";
}
