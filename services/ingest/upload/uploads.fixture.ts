import { randomUUID } from 'node:crypto';
import type { QueuedUpload } from '@odograph/contracts/queues';
import { openQueue } from '@odograph/queue/queues';
import { eventually } from '@odograph/testkit/eventually';
import type { TestPlatform } from '@odograph/testkit/test-platform';
import { expect } from 'vitest';

/** An upload of text, or of a value as JSON. */
export function upload(deviceId: string, value: unknown, receivedAtMs = Date.now()): QueuedUpload {
  return { deviceId, receivedAtMs, text: typeof value === 'string' ? value : JSON.stringify(value) };
}

/** Opens the queue of a platform that runs ingest; close it before the platform stops. */
export function openIngest({ config }: TestPlatform) {
  const queue = openQueue('uploads', { redisUrl: config.REDIS_URL, prefix: config.QUEUE_PREFIX });
  const addJob = async (...uploads: QueuedUpload[]): Promise<string> => {
    const jobId = randomUUID();
    await queue.add('uploads', { uploads, devices: 1, bytes: 1 }, { jobId });
    return jobId;
  };
  const processed = (jobId: string, timeoutMs?: number): Promise<void> =>
    eventually(async () => expect(await queue.getJob(jobId)).toBeUndefined(), timeoutMs);
  return {
    addJob,
    processed,
    /** Adds one job and waits until ingest has processed it. */
    ingest: async (...uploads: QueuedUpload[]): Promise<void> => processed(await addJob(...uploads), 60_000),
    close: () => queue.close(),
  };
}
