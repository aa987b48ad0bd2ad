import { EventEmitter, once } from 'node:events';
import type { QueuedUpload, UploadBatch } from '@odograph/contracts/queues';
import { expect, it } from 'vitest';
import { createLanes } from './lanes.ts';

const job = (upload: Partial<QueuedUpload>): UploadBatch => ({
  uploads: [{ deviceId: 'device-1', receivedAtMs: Date.now(), text: '{}', ...upload }],
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

it('uploads that wait to be queued again keep their job open, and no other upload from being stored', async () => {
  let queue: () => void = () => undefined;
  const queued = new Promise<void>((resolve) => {
    queue = resolve;
  });
  const isOld = ({ deviceId }: QueuedUpload) => deviceId.startsWith('old');
  const events = new EventEmitter();
  const lanes = createLanes(
    async (_jobs, uploads) => {
      for (const { deviceId } of uploads) events.emit(deviceId);
      return { announced: Promise.resolve(), postponed: uploads.filter(isOld) };
    },
    (uploads) => (uploads.length > 0 ? queued : Promise.resolve()),
  );
  const done: string[] = [];
  const process = async (deviceId: string) => {
    await (await lanes.live(job({ deviceId }))).announced;
    done.push(deviceId);
  };
  // As many batches as may be in flight.
  const first = process('old1');
  await once(events, 'old1');
  const second = process('old2');
  await once(events, 'old2');
  await process('current');
  expect(done).toEqual(['current']);
  queue();
  await Promise.all([first, second]);
  expect(done).toHaveLength(3);
});

it('a retry of a late job stores only the uploads that compression postponed', async () => {
  const [current, old] = [job({ deviceId: 'current' }), job({ deviceId: 'old' })];
  const late = { ...current, uploads: [...current.uploads, ...old.uploads] };
  const attempts: string[][] = [];
  const lanes = createLanes(
    async (_jobs, uploads) => {
      attempts.push(uploads.map(({ deviceId }) => deviceId));
      const isCompressing = attempts.length < 3;
      return {
        announced: Promise.resolve(),
        postponed: isCompressing ? uploads.filter((one) => one.deviceId === 'old') : [],
      };
    },
    () => Promise.resolve(),
  );
  await expect(lanes.late(late)).rejects.toThrow('being compressed');
  await expect(lanes.late(late)).rejects.toThrow('being compressed');
  await lanes.late(late);
  expect(attempts).toEqual([['current', 'old'], ['old'], ['old']]);
});

it('live uploads are not moved behind a late job that stores again only uploads of other devices', async () => {
  const [current, old] = [job({ deviceId: 'current' }), job({ deviceId: 'old' })];
  const late = { ...current, uploads: [...current.uploads, ...old.uploads] };
  const moved: string[] = [];
  const events = new EventEmitter();
  let attempts = 0;
  const store = async (jobs: readonly UploadBatch[], uploads: readonly QueuedUpload[]) => {
    if (!jobs.includes(late)) return { announced: Promise.resolve(), postponed: [] };
    attempts += 1;
    if (attempts === 2) {
      events.emit('repeated');
      await once(events, 'live done');
    }
    return { announced: Promise.resolve(), postponed: uploads.filter(({ deviceId }) => deviceId === 'old') };
  };
  const lanes = createLanes(store, async (uploads) => void moved.push(...uploads.map(({ deviceId }) => deviceId)));
  await expect(lanes.late(late)).rejects.toThrow('being compressed');
  const repeated = once(events, 'repeated');
  const repeating = lanes.late(late);
  await repeated;
  await Promise.all([lanes.live(current), lanes.live(old)]);
  expect(moved).toEqual(['old']);
  events.emit('live done');
  await expect(repeating).rejects.toThrow('being compressed');
});
