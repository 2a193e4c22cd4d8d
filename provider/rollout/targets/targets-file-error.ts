import { type Finding, mistakesText } from "../../files/finding";
import { EmailSecurityError } from "../../settings/email-security-error";

/** The targets file can't be used: every mistake in it and in what it includes, each with its place. No tenant was asked. */
export class TargetsFileError extends EmailSecurityError {
  /** All findings, warnings among them; those of level `error` are why. */
  readonly findings: readonly Finding[];

  /**
   * @param file the file that was asked for.
   * @param isThere whether there is such a file. Default: true.
   */
  constructor(file: string, findings: readonly Finding[], isThere = true) {
    super("ERR_ROLLOUT_TARGETS", isThere ? mistakesText(file, findings) : noFileText(findings));
    this.findings = findings;
  }
}

/** With the smallest file that does. */
function noFileText(findings: readonly Finding[]): string {
  const said = findings.map(({ message }) => message).join("; ");
  return `${said}${said.endsWith("?") ? "" : "."} It says which tenants there are. Name the right one, or write one, as:
  version: 1
  project: email-security
  tenants:
    acme: { baseUrl: "https://…", key: { environment: ACME_KEY }, settings: settings/acme.yaml }
  waves: [{ name: all }]`;
}
