import { EventEmitter, once } from 'node:events';
import type { QueuedUpload, UploadBatch } from '@odograph/contracts/queues';
import { expect, it } from 'vitest';
import { createLanes } from './lanes.ts';

const job = (upload: Partial<QueuedUpload>): UploadBatch => ({
  uploads: [{ deviceId: 'unit-1', receivedAtMs: Date.now(), text: '{}', ...upload }],
  devices: 1,
  bytes: 2,
});

it('live uploads are moved behind late ones of their device, but not behind those of a source that names it', async () => {
  const late = job({ format: 'flespi', applicationId: 2 });
  const [own, sameSource] = [job({}), job({ format: 'flespi', applicationId: 2 })];
  const [stored, moved]: [QueuedUpload[], QueuedUpload[]] = [[], []];
  const events = new EventEmitter();
  const store = async (jobs: readonly UploadBatch[], uploads: readonly QueuedUpload[]) => {
    if (jobs.includes(late)) {
      events.emit('late begun');
      await once(events, 'live done');
    }
    stored.push(...uploads);
    return { announced: Promise.resolve(), postponed: [] };
  };
  const lanes = createLanes(store, async (uploads) => void moved.push(...uploads));
  const begun = once(events, 'late begun');
  const storing = lanes.late(late);
  await begun;
  await Promise.all([lanes.live(own), lanes.live(sameSource)]);
  expect([stored, moved]).toEqual([own.uploads, sameSource.uploads]);
  events.emit('live done');
  await storing;
});
