import { EmailSecurityError } from "../settings/email-security-error";

/** The engine asked for what this plugin has not. `ERR_PROTOCOL` */
export class ProtocolError extends EmailSecurityError {
  constructor(message: string) {
    super("ERR_PROTOCOL", message);
  }
}
