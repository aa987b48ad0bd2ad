import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { QueueJobJson } from '@bull-board/api/typings/app';
import type { QueueJobs, QueueName } from '@odograph/contracts/queues';
import type { TypedQueue } from '@odograph/queue/queues';
import type { Queue } from 'bullmq';

/** What of a job's data may be shown; payloads hold where people were. */
const describeData: { [Name in QueueName]: (data: QueueJobs[Name]) => object } = {
  uploads: ({ uploads, devices, bytes }) => ({ uploads: uploads.length, devices, bytes }),
  acknowledgements: ({ deviceId }) => ({ deviceId }),
  maintenance: ({ task }) => ({ task }),
  trips: () => ({}),
};

/** A list of what is shown and not of what is hidden: error messages and return values may quote a payload. */
function redact(json: QueueJobJson, describe: (data: never) => object): QueueJobJson {
  const { id, name, attemptsMade, finishedOn, processedOn, delay, timestamp } = json;
  return {
    id: id ?? null,
    name,
    attemptsMade,
    finishedOn: finishedOn ?? null,
    processedOn: processedOn ?? null,
    timestamp,
    ...(delay === undefined ? {} : { delay }),
    progress: 0,
    data: describe(json.data as never),
    returnvalue: null,
    failedReason: json.failedReason ? 'it failed; the log says why' : '',
    stacktrace: [],
    opts: {},
  };
}

type Adapted<Method extends 'getJob' | 'getJobs'> = ReturnType<BullMQAdapter[Method]>;

/**
 * What the queue page sees of a queue: counts, and jobs without payloads.
 *
 * Uploads and acknowledgements can only be looked at. They are acknowledged to their devices, so a click that removes,
 * pauses or edits them would lose data silently; and none needs one, since a job is tried until it succeeds.
 */
export class RedactedAdapter<Name extends QueueName> extends BullMQAdapter {
  readonly #describe: (data: never) => object;

  constructor(name: Name, queue: TypedQueue<Name>) {
    super(queue as unknown as Queue, { readOnlyMode: name !== 'maintenance' });
    this.#describe = describeData[name];
  }

  override async getJob(id: string): Adapted<'getJob'> {
    const job = await super.getJob(id);
    return job && this.#redacted(job);
  }

  override async getJobs(...range: Parameters<BullMQAdapter['getJobs']>): Adapted<'getJobs'> {
    const jobs = await super.getJobs(...range);
    return jobs.map((job) => this.#redacted(job));
  }

  override async getJobLogs(): Promise<string[]> {
    return [];
  }

  /** The tree of a job would be read past getJob; ours have none. */
  override async getFlowProducer(): Promise<null> {
    return null;
  }

  #redacted<Job extends { toJSON(): QueueJobJson }>(job: Job): Job {
    const json = job.toJSON();
    return Object.assign(job, { toJSON: () => redact(json, this.#describe) });
  }
}
