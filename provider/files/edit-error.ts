import { EmailSecurityError } from "../settings/email-security-error";

/** A settings file that is left as it is (`ERR_SETTINGS_EDIT`). */
export class EditError extends EmailSecurityError {
  constructor(reason: string) {
    super("ERR_SETTINGS_EDIT", `The settings file can't be edited, and nothing was written: ${reason}.`);
  }
}
