import type { Finished } from "#bench/command";
import { counted } from "#bench/measure-operations";
import type { Operation, Peer } from "#bench/measurement";
import { BenchProject } from "#bench/pulumi-project";
import { BenchService, mailboxOf } from "#bench/service";

/** All VIPs as one resource. Their comments differ, as in practice. */
export const vipList: Peer = {
  name: "vips",
  title: "one `VipList`",
  isSlow: false,
  async measure(bench) {
    const count = bench.members;
    const members = Array.from({ length: count }, (_, index) => ({
      email: mailboxOf(index),
      comment: `Ticket ${index + 1}`,
    }));
    const program = `
import { VipList } from "pulumi-email-security";

new VipList("vips", { members: ${JSON.stringify(members)} });
`;
    await using service = await BenchService.start({ employees: count });
    await using project = await BenchProject.create(program, service.environment);
    const measure = async (operation: Operation, work: () => Promise<Finished>): Promise<void> => {
      const { seconds, requests } = await counted(service, work);
      bench.record({ operation, count, seconds, requests });
    };
    await measure("first up", () => project.up());
    await measure("no-op up", () => project.upWithNothingToDo());
    await measure("looking up", () => project.upThatLooks());
    await measure("refresh", () => project.refresh());
  },
};
