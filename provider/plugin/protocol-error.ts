import { EmailSecurityError } from "../model/email-security-error";

/** The engine requested something that this plugin doesn't have. `ERR_PROTOCOL` */
export class ProtocolError extends EmailSecurityError {
  constructor(message: string) {
    super("ERR_PROTOCOL", message);
  }
}
