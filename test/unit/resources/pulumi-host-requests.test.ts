import { expect, it } from "vitest";
import {
  getCurrentDelete,
  getTimeoutSeconds,
  interceptHostRequests,
} from "../../../provider/resources/pulumi-host-requests";

/** Returns a request class in the form that Pulumi generates. */
function requestClass() {
  return class {
    readonly seconds: number;
    constructor(seconds: number) {
      this.seconds = seconds;
    }
    getTimeout = () => this.seconds;
    getUrn = () => "urn:pulumi:dev::settings::type::list";
    getProperties() {
      return { toJavaScript: () => ({ value: "evil.example" }) };
    }
    getNews() {
      return this.getProperties();
    }
    getId() {
      return "ade_1";
    }
  };
}

it("reads timeouts from create, update and delete requests", async () => {
  const [CreateRequest, UpdateRequest, DeleteRequest] = [requestClass(), requestClass(), requestClass()];
  interceptHostRequests({ CreateRequest, UpdateRequest, DeleteRequest });
  interceptHostRequests({ CreateRequest, UpdateRequest, DeleteRequest });
  const [brief, endless] = [5, 0].map((seconds) => new CreateRequest(seconds).getProperties().toJavaScript()) as [
    object,
    object,
  ];
  const changed = new UpdateRequest(7).getNews().toJavaScript();
  expect([brief, endless, changed].map(getTimeoutSeconds)).toEqual([5, 0, 7]);
  new DeleteRequest(9).getId();
  expect(getCurrentDelete()).toEqual({ seconds: 9, urn: "urn:pulumi:dev::settings::type::list" });
  await Promise.resolve();
  expect(getCurrentDelete()).toEqual({ seconds: 0, urn: "" });
});

it.each<[string, object | undefined]>([
  ["in no host", undefined],
  ["in a host without such requests", {}],
  ["in a host whose requests have other methods", { CreateRequest: class {}, DeleteRequest: class {} }],
])("returns no timeout %s", (_label, messages) => {
  interceptHostRequests(messages);
  expect([getTimeoutSeconds({}), getCurrentDelete()]).toEqual([0, { seconds: 0, urn: "" }]);
});

it("leaves requests without a timeout or properties unchanged", () => {
  const Odd = class {
    getTimeout = () => 5;
    getProperties = undefined as unknown;
    getNews() {
      return undefined;
    }
  };
  const Timeless = class {
    getProperties() {
      return "as it is";
    }
  };
  interceptHostRequests({ CreateRequest: Timeless, UpdateRequest: Odd });
  expect(new Timeless().getProperties()).toBe("as it is");
  expect(new Odd().getNews()).toBeUndefined();
});
