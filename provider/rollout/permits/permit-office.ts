import type { Permits } from "../../client/permits";
import type { ServiceLimit } from "../targets/target";

/** Where the permits of all services come from, for this process and for those that it starts. */
export interface PermitOffice {
  /** The permits of a service address, for requests of this process. */
  permits(address: string, limit: ServiceLimit | undefined): Permits;
  /**
   * Lets a process that is about to be started ask for permits of a service address, until it is revoked.
   *
   * @param isAllowed asked at each permit: whether whoever started it may still go on.
   */
  grant(address: string, limit: ServiceLimit | undefined, isAllowed: () => boolean): Grant;
  close(): Promise<void>;
}

/** What a process was granted. */
export interface Grant {
  /** More for its environment. */
  readonly environment: Readonly<Record<string, string>>;
  revoke(): void;
}
