// First half of the reference pipeline: aedes, one BullMQ job per batch, PUBACK once Redis has it; no checks.
import { createServer } from 'node:net';
import { Aedes } from 'aedes';
import { Queue } from 'bullmq';
import { readSettings, serveParent } from './child-script.ts';

export interface BareSettings {
  port: number;
  redisUrl: string;
  databaseUrl: string;
  prefix: string;
}

const batchSize = 500;
const batchMs = 5;

const { port, redisUrl, prefix } = readSettings<BareSettings>();
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

const aedes = await Aedes.createBroker({
  authorizePublish(client, packet, done) {
    gathered.push({ deviceId: client?.id ?? '', text: packet.payload.toString(), release: () => done(null) });
    if (gathered.length >= batchSize) void store();
    else timer ??= setTimeout(() => void store(), batchMs);
  },
});
const server = createServer((socket) => {
  socket.setNoDelay(true);
  aedes.handle(socket);
});
server.listen({ port, host: '127.0.0.1', backlog: 4096 }, () => serveParent({}));
