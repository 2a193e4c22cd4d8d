import { floor } from "#bench/floor";
import { growth } from "#bench/growth";
import { listResource, nativeListResource } from "#bench/list-resource";
import { nativeImport } from "#bench/native-import";
import type { Peer } from "#bench/observation";
import { obviousProvider } from "#bench/obvious-provider";
import { dynamicStart, nativeStart, programStart } from "#bench/provider-start";
import {
  nativeSingleEntries,
  nativeSingleEntriesWithoutCheckpoints,
  singleEntries,
  singleEntriesWithoutCheckpoints,
} from "#bench/single-entries";
import { terraform } from "#bench/terraform";
import { vipList } from "#bench/vip-list";

/** All of the whole bench, in the order of the table. */
export const peers: readonly Peer[] = [
  floor,
  listResource,
  nativeListResource,
  vipList,
  singleEntries,
  nativeSingleEntries,
  singleEntriesWithoutCheckpoints,
  nativeSingleEntriesWithoutCheckpoints,
  nativeImport,
  obviousProvider,
  terraform,
  growth,
  dynamicStart,
  nativeStart,
  programStart,
];

/** Those that show the dynamic resources beside the native plugin. */
export const frontPeers: readonly Peer[] = [
  floor,
  listResource,
  nativeListResource,
  singleEntriesWithoutCheckpoints,
  nativeSingleEntriesWithoutCheckpoints,
  nativeImport,
  dynamicStart,
  nativeStart,
];
