// A reference: aedes alone, or with a queue the first half of the bare pipeline: one BullMQ job per batch, PUBACK once
// Redis has it; no checks.
import { createServer } from 'node:net';
import { Aedes, type AedesOptions } from 'aedes';
import { Queue } from 'bullmq';
import { readSettings, serveParent } from './processes.ts';

export interface QueueSettings {
  redisUrl: string;
  databaseUrl: string;
  prefix: string;
}

export interface BareSettings {
  port: number;
  /** Without it, uploads are acknowledged and dropped. */
  queue?: QueueSettings;
}

const batchSize = 500;
const batchMs = 5;

/** Acknowledges uploads when their batch is queued. */
function queueUploads({ redisUrl, prefix }: QueueSettings): Partial<AedesOptions> {
  const queue = new Queue('bare', {
    connection: { url: redisUrl },
    prefix,
    defaultJobOptions: { removeOnComplete: true },
  });
  let gathered: { text: string; deviceId: string; release: () => void }[] = [];
  let timer: NodeJS.Timeout | undefined;
  async function store(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const batch = gathered;
    gathered = [];
    await queue.add('bare', { uploads: batch.map(({ deviceId, text }) => ({ deviceId, text })) });
    for (const { release } of batch) release();
  }
  return {
    authorizePublish(client, packet, done) {
      gathered.push({ deviceId: client?.id ?? '', text: packet.payload.toString(), release: () => done(null) });
      if (gathered.length >= batchSize) void store();
      else timer ??= setTimeout(() => void store(), batchMs);
    },
  };
}

const { port, queue } = readSettings<BareSettings>();
const aedes = await Aedes.createBroker(queue === undefined ? {} : queueUploads(queue));
const server = createServer((socket) => {
  socket.setNoDelay(true);
  aedes.handle(socket);
});
server.listen({ port, host: '127.0.0.1', backlog: 4096 }, () => serveParent({}));
