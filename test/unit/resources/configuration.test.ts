import { describe, expect, it } from "vitest";
import { buildTenantLabel, readConfiguration, readOwnDomains } from "../../../provider/resources/configuration";

const createStackConfig = (values: Record<string, string>) => (key: string) => values[key];
const address = "https://mail-security.example";
const instance = { "email-security:instance": "acme", "email-security:baseUrl": address };

describe("configuration", () => {
  it.each([
    ["the environment", {}, { EMAIL_SECURITY_BASE_URL: address, EMAIL_SECURITY_API_KEY: "k" }, "k"],
    ["the stack", { "email-security:baseUrl": address, "email-security:apiKey": "s" }, {}, "s"],
    [
      "the environment first",
      { "email-security:baseUrl": address, "email-security:apiKey": "s" },
      { EMAIL_SECURITY_API_KEY: "k" },
      "k",
    ],
    [
      "an empty environment not at all",
      { "email-security:baseUrl": address, "email-security:apiKey": "s" },
      { EMAIL_SECURITY_API_KEY: "" },
      "s",
    ],
    ["an instance alone", { ...instance, "email-security:apiKey": "i" }, { EMAIL_SECURITY_API_KEY: "k" }, "i"],
  ])("comes from %s", (_name, config, environment, apiKey) => {
    expect(readConfiguration(createStackConfig(config), environment)).toEqual({
      baseUrl: address,
      apiKey,
      allowInsecureHttp: false,
    });
  });

  it("names a missing setting and where to set it", () => {
    expect(() => readConfiguration(createStackConfig({}), {})).toThrow(
      /EMAIL_SECURITY_BASE_URL.*email-security:baseUrl/,
    );
    expect(() => readConfiguration(createStackConfig(instance), { EMAIL_SECURITY_API_KEY: "k" })).toThrow(
      /Set apiKey on the Provider "acme"; the environment and/,
    );
  });

  it("names an invalid setting", () => {
    const environment = {
      EMAIL_SECURITY_BASE_URL: address,
      EMAIL_SECURITY_API_KEY: "k",
      EMAIL_SECURITY_TIMEOUT_MS: "abc",
    };
    expect(() => readConfiguration(createStackConfig({}), environment)).toThrow('EMAIL_SECURITY_TIMEOUT_MS is "abc"');
    const limit = {
      ...environment,
      EMAIL_SECURITY_TIMEOUT_MS: "2500",
      EMAIL_SECURITY_ALLOW_INSECURE_HTTP: "true",
    };
    expect(readConfiguration(createStackConfig({}), limit)).toMatchObject({ timeoutMs: 2500, allowInsecureHttp: true });
  });
});

describe("own domains", () => {
  const key = "email-security:ownDomains";

  it.each<[string, Record<string, string>, Record<string, string>, string[]]>([
    ["none", {}, {}, []],
    ["the stack, with commas", { [key]: "Acme.example., büro.example" }, {}, ["acme.example", "xn--bro-hoa.example"]],
    ["the stack, as JSON", { [key]: '["acme.example", "acme.com"]' }, {}, ["acme.example", "acme.com"]],
    ["the environment first", { [key]: "x.example" }, { EMAIL_SECURITY_OWN_DOMAINS: "acme.example" }, ["acme.example"]],
    ["an empty array", { [key]: "[]" }, {}, []],
    [
      "an instance alone",
      { ...instance, [key]: '["acme.example"]' },
      { EMAIL_SECURITY_OWN_DOMAINS: "x.example" },
      ["acme.example"],
    ],
    ["an instance without", instance, { EMAIL_SECURITY_OWN_DOMAINS: "x.example" }, []],
  ])("includes the domains from %s", (_label, config, environment, expected) => {
    const own = readOwnDomains(createStackConfig(config), environment);
    const candidates = ["acme.example", "acme.com", "xn--bro-hoa.example", "x.example"];
    expect(candidates.filter((domain) => own.findOwnDomain(domain) === domain).sort()).toEqual(expected.sort());
  });

  it.each<[string, Record<string, string>, Record<string, string>, RegExp]>([
    [
      "a slip",
      { [key]: "acme.example,acme" },
      {},
      /^email-security:ownDomains contains an invalid domain: "acme" isn't a full/,
    ],
    [
      "two commas",
      { [key]: "acme.example,,acme.com" },
      {},
      /^email-security:ownDomains contains an invalid domain: is empty/,
    ],
    [
      "a mailbox",
      {},
      { EMAIL_SECURITY_OWN_DOMAINS: "a@acme.example" },
      /^EMAIL_SECURITY_OWN_DOMAINS contains "a@acme.example"/,
    ],
    ["a public suffix", {}, { EMAIL_SECURITY_OWN_DOMAINS: "co.uk" }, /under which anyone can register a domain/],
    ["broken JSON", { [key]: '["acme.example"' }, {}, /^email-security:ownDomains is '\[.*JSON array of strings/],
    ["JSON of numbers", { ...instance, [key]: "[5]" }, {}, /^ownDomains of the Provider "acme" is "\[5\]"/],
  ])("names the source of an invalid value: %s", (_label, config, environment, message) => {
    expect(() => readOwnDomains(createStackConfig(config), environment)).toThrow(message);
  });
});

describe("tenant label", () => {
  it("contains the host without the key", () => {
    expect(
      buildTenantLabel(
        createStackConfig({ "email-security:baseUrl": `${address}/x/`, "email-security:apiKey": "s" }),
        {},
      ),
    ).toBe("mail-security.example");
    expect(buildTenantLabel(createStackConfig(instance), {})).toBe("acme at mail-security.example");
    expect(buildTenantLabel(createStackConfig({}), {})).toBeUndefined();
    expect(
      buildTenantLabel(createStackConfig({ "email-security:baseUrl": "04da6b54-80e4-46f7-96ec-b56ff0331ba9" }), {}),
    ).toBeUndefined();
  });
});

describe("allowed service addresses", () => {
  const environment = { EMAIL_SECURITY_SERVICES: "https://mail-security.example" };
  const createConfig =
    (baseUrl: string, more: Record<string, string> = {}) =>
    (key: string) =>
      ({ "email-security:baseUrl": baseUrl, "email-security:apiKey": "k", ...more })[key];

  it("restricts the stack configuration and explicit Providers with their own key", () => {
    const instance = { "email-security:instance": "acme" };
    for (const more of [{}, instance]) {
      expect(readConfiguration(createConfig("https://mail-security.example/", more), environment)).toMatchObject({
        apiKey: "k",
      });
      expect(() => readConfiguration(createConfig("https://evil.example", more), environment)).toThrow(
        "The service's address (baseUrl) is \"https://evil.example\", which isn't in EMAIL_SECURITY_SERVICES, so this run doesn't send the API key to it. Nothing was sent. If the address is correct, set the variable where the run is started: EMAIL_SECURITY_SERVICES=https://mail-security.example,https://evil.example",
      );
    }
  });

  it("allows any address when none is configured", () => {
    expect(readConfiguration(createConfig("https://evil.example"), {})).toMatchObject({ apiKey: "k" });
  });
});
