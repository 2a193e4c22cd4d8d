import { EmailSecurityError } from "../../model/email-security-error";
import { type Finding, formatSettingsErrorMessage } from "../../settings-files/finding";

/** The targets file can't be used. Lists every mistake in it and in its included files, with the places. No tenant received a request. */
export class TargetsFileError extends EmailSecurityError {
  readonly findings: readonly Finding[];

  /**
   * @param file the requested file.
   * @param exists whether the file exists. Default: true.
   */
  constructor(file: string, findings: readonly Finding[], exists = true) {
    super("ERR_ROLLOUT_TARGETS", exists ? formatSettingsErrorMessage(file, findings) : formatMissingFile(findings));
    this.findings = findings;
  }
}

function formatMissingFile(findings: readonly Finding[]): string {
  const messages = findings.map(({ message }) => message).join("; ");
  return `${messages}${messages.endsWith("?") ? "" : "."} This file lists the tenants. Specify the correct file, or create one:
  version: 1
  project: email-security
  tenants:
    acme: { baseUrl: "https://…", key: { environment: ACME_KEY }, settings: settings/acme.yaml }
  waves: [{ name: all }]`;
}
