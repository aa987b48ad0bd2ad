import { Transform, type TransformCallback } from 'node:stream';
import type { ClientFilter } from './tcp-proxy.fixture.ts';

/** Makes the server answer a COMMIT as with a full disk (PostgreSQL, Appendix A: 53100 disk_full). */
const refusal = `do $$ begin raise exception using errcode = '53100',
  message = 'could not extend file: No space left on device'; end $$`;

function queryMessage(text: string): Buffer {
  const body = Buffer.from(`${text}\0`);
  const header = Buffer.alloc(5);
  header.write('Q', 0, 'latin1');
  header.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([header, body]);
}

/** A simulated disk of a database whose connections pass through `filter`. */
export interface Disk {
  readonly filter: ClientFilter;
  full: boolean;
  /** Number of rejected commits. */
  refused: number;
}

class CommitFilter extends Transform {
  readonly #disk: Disk;
  #waiting: Buffer = Buffer.alloc(0);
  /** The first message of a connection has no type (PostgreSQL, "Message Formats", StartupMessage). */
  #typeLength = 0;

  constructor(disk: Disk) {
    super();
    this.#disk = disk;
  }

  #replace(message: Buffer): Buffer {
    const isCommit = message[0] === 0x51 && /^commit;?$/i.test(message.toString('utf8', 5, message.length - 1).trim());
    if (!isCommit || !this.#disk.full) return message;
    this.#disk.refused += 1;
    return queryMessage(refusal);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#waiting = Buffer.concat([this.#waiting, chunk]);
    for (;;) {
      if (this.#waiting.length < this.#typeLength + 4) break;
      const length = this.#typeLength + this.#waiting.readInt32BE(this.#typeLength);
      if (this.#waiting.length < length) break;
      this.push(this.#replace(this.#waiting.subarray(0, length)));
      this.#waiting = this.#waiting.subarray(length);
      this.#typeLength = 1;
    }
    done();
  }
}

/** Creates a disk with space; while it is full, no transaction commits. */
export function createDisk(): Disk {
  const disk: Disk = { filter: () => new CommitFilter(disk), full: false, refused: 0 };
  return disk;
}
