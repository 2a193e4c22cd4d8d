import { getErrorMessage } from "../../model/email-security-error";
import { assertFeatureInstalled, type OptionalFeature } from "../../model/optional-features";
import { collectSecrets, maskSecrets } from "../../model/secrets";
import { excerptSentences } from "../../model/text";
import { type SourceContext, SourceError } from "../source-content";
import { formatSourceVariable, readSourceToken } from "../source-variables";

export interface AccessTokenOptions {
  /** The library that requests a token. */
  readonly feature: OptionalFeature;
  /** Requests a token with the library. */
  readonly request: () => Promise<string | null | undefined>;
  /** How to configure credentials for the library. */
  readonly advice: string;
}

/**
 * Returns the source's token from the environment, or else one from the library of the directory's vendor.
 *
 * @throws {MissingPackageError} if the library is needed and not installed.
 * @throws {SourceError} if there are no credentials, or the vendor rejects them.
 */
export async function getAccessToken(
  { environment, name, signal }: SourceContext,
  { advice, feature, request }: AccessTokenOptions,
): Promise<string> {
  const token = readSourceToken(name, environment);
  if (token !== undefined) return token;
  assertFeatureInstalled(feature);
  let reason = "the credentials returned no token";
  try {
    const requested = await request();
    if (requested) return requested;
  } catch (error) {
    signal.throwIfAborted();
    // Without a cause, because errors of these libraries can hold the request with its secrets.
    reason = maskSecrets(collectSecrets(environment), getErrorMessage(error));
  }
  throw new SourceError(
    `The source ${name} has no access token: ${excerptSentences(reason, 600)}. ${advice} Or set ${formatSourceVariable(name, "TOKEN")}.`,
  );
}
