import { expect, it } from "vitest";
import { assertAllowedSource } from "../../../provider/sources/allowed-sources";

it.each([
  ["true", true],
  ["1", true],
  ["YES", true],
  ["false", false],
  ["", false],
])("permits an unencrypted address only with EMAIL_SECURITY_ALLOW_INSECURE_HTTP: %j", (flag, isAllowed) => {
  const environment = {
    EMAIL_SECURITY_SOURCES: "phish=http://feeds.example/",
    EMAIL_SECURITY_ALLOW_INSECURE_HTTP: flag,
  };
  const assertAllowed = () => assertAllowedSource("phish", "http://feeds.example/list.txt", environment);
  if (isAllowed) expect(assertAllowed).not.toThrow();
  else expect(assertAllowed).toThrow(/isn't encrypted\. Use https\.$/);
});
