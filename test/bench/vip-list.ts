import type { CompletedCommand } from "#bench/command";
import { countRequests } from "#bench/measure-operations";
import type { Operation, Peer } from "#bench/measurement";
import { BenchProject } from "#bench/pulumi-project";
import { BenchService, formatMailbox } from "#bench/service";

/** All VIPs as one resource. Their comments differ, as in practice. */
export const vipList: Peer = {
  name: "vips",
  title: "one `VipList`",
  isSlow: false,
  async measure(bench) {
    const count = bench.members;
    const members = Array.from({ length: count }, (_, index) => ({
      email: formatMailbox(index),
      comment: `Ticket ${index + 1}`,
    }));
    const program = `
import { VipList } from "pulumi-email-security";

new VipList("vips", { members: ${JSON.stringify(members)} });
`;
    await using service = await BenchService.start({ employees: count });
    await using project = await BenchProject.create(program, service.environment);
    const recordVipOperation = async (operation: Operation, work: () => Promise<CompletedCommand>): Promise<void> => {
      const { seconds, requests } = await countRequests(service, work);
      bench.record({ operation, count, seconds, requests });
    };
    await recordVipOperation("first up", () => project.up());
    await recordVipOperation("no-op up", () => project.upUnchanged());
    await recordVipOperation("looking up", () => project.upAfterRefresh());
    await recordVipOperation("refresh", () => project.refresh());
  },
};
