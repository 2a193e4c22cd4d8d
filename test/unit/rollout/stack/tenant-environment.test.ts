import { expect, it } from "vitest";
import { buildTenantEnvironment } from "../../../../provider/rollout/stack/tenant-environment";
import { removeKeyVariables } from "../../../../provider/system/child-environment";
import { buildTarget } from "../../../support/rollout-target";

it("passes the engine only the tenant's own settings", () => {
  const environment = {
    HTTPS_PROXY: "http://proxy.example:3128",
    NO_PROXY: "acme.example",
    NODE_EXTRA_CA_CERTS: "/etc/authority.pem",
    EMAIL_SECURITY_API_KEY: "somebody's",
    EMAIL_SECURITY_BASE_URL: "https://elsewhere.example",
    EMAIL_SECURITY_ALLOW_INSECURE_HTTP: "true",
    EMAIL_SECURITY_OWN_DOMAINS: "acme.example",
    EMAIL_SECURITY_TIMEOUT_MS: "60000",
    EMAIL_SECURITY_DEBUG: "1",
    ACME_KEY: "secret",
  };
  const key = "the key";
  expect({
    ...removeKeyVariables(environment, ["ACME_KEY"]),
    ...buildTenantEnvironment(buildTarget("acme"), key, environment),
  }).toEqual({
    HTTPS_PROXY: "http://proxy.example:3128",
    NO_PROXY: "acme.example",
    NODE_EXTRA_CA_CERTS: "/etc/authority.pem",
    EMAIL_SECURITY_API_KEY: key,
    EMAIL_SECURITY_BASE_URL: "https://mail-security.example",
    EMAIL_SECURITY_TIMEOUT_MS: "60000",
    EMAIL_SECURITY_DEBUG: "1",
  });
  expect(buildTenantEnvironment(buildTarget("acme"), key, {})).toEqual({
    EMAIL_SECURITY_API_KEY: key,
    EMAIL_SECURITY_BASE_URL: "https://mail-security.example",
  });
});
