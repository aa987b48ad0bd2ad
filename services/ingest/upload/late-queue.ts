import { randomUUID } from 'node:crypto';
import { openDurableQueue } from '@odograph/queue/queues';
import { listUploadShards, shardOf } from '@odograph/queue/shards';
import { within } from '@odograph/runtime/clock';
import type { ServiceHost } from '@odograph/runtime/service';
import { groupBy, uploadBytes } from '../pipeline/readings.ts';
import type { QueueLate } from './lanes.ts';

/** Longer than any answer takes. After a fail-over of a cluster, ioredis may lose a command and never settle its promise. */
const addTimeoutMs = 15_000;

/** Opens the late queues of all shards. @returns a function that adds uploads to them, as durably as on acceptance */
export function openLateQueues({ config, onStop }: Pick<ServiceHost, 'config' | 'onStop'>): QueueLate {
  const queues = listUploadShards(config).map((shard) => openDurableQueue('late-uploads', shard, config));
  for (const { close } of queues) onStop('late queue of ingest', close);
  return async (uploads, { isNext }) => {
    for (const [shard, ofShard] of groupBy(uploads, ({ deviceId }) => shardOf(deviceId, queues.length))) {
      const devices = new Set(ofShard.map(({ deviceId }) => deviceId)).size;
      const bytes = ofShard.reduce((sum, upload) => sum + uploadBytes(upload).length, 0);
      const added = queues[shard]?.add({ uploads: ofShard, devices, bytes }, { jobId: randomUUID(), lifo: isNext });
      await within(addTimeoutMs, Promise.resolve(added));
    }
  };
}
