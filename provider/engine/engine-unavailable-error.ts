import type { ErrorCode } from "../model/error-codes";
import { MINIMUM_VERSION } from "./installed-engines";
import { formatVersion } from "./version";

/** The installation instructions for the Pulumi CLI. */
export const INSTALL_PULUMI = `Install Pulumi ${formatVersion(MINIMUM_VERSION)} or later (https://www.pulumi.com/docs/iac/download-install/) and put it on PATH.`;

/** No usable Pulumi CLI is installed. `ERR_ENGINE_UNAVAILABLE` */
export class EngineUnavailableError extends Error {
  override readonly name = "EngineUnavailableError";
  readonly code = "ERR_ENGINE_UNAVAILABLE" satisfies ErrorCode;

  /** @param reasons the reasons why each CLI that was found can't be used. */
  constructor(searchedPaths: readonly string[], reasons: readonly string[]) {
    const foundText = reasons.length === 0 ? [] : [` Found, but not usable: ${reasons.join("; ")}.`];
    super(
      `No Pulumi CLI ${formatVersion(MINIMUM_VERSION)} or later was found on ${searchedPaths.join(", in ")}.${foundText.join("")} ${INSTALL_PULUMI}`,
    );
  }
}
