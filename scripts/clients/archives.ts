import { crc32, deflateRawSync, gzipSync } from 'node:zlib';

/** A file of an archive. */
export interface ArchivedFile {
  readonly path: string;
  readonly content: Buffer;
}

/** Writes a gzipped tar archive (POSIX ustar). The same files give the same bytes: times and owners are zero. */
export function writeTarball(files: readonly ArchivedFile[]): Buffer {
  const blocks = files.flatMap(({ path, content }) => {
    const header = Buffer.alloc(512);
    const put = (offset: number, text: string) => header.write(text, offset, 'latin1');
    const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`;
    put(0, path);
    put(100, octal(0o644, 8));
    put(108, octal(0, 8));
    put(116, octal(0, 8));
    put(124, octal(content.length, 12));
    put(136, octal(0, 12));
    // The checksum counts its own field as spaces.
    put(148, '        0');
    put(257, 'ustar\x0000');
    put(
      148,
      `${octal(
        header.reduce((sum, byte) => sum + byte, 0),
        7,
      )} `,
    );
    return [header, content, Buffer.alloc((512 - (content.length % 512)) % 512)];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]), { level: 9 });
}

/** 1980-01-01, the first date of the format. */
const dosDate = 0x21;

/** Writes a zip archive (APPNOTE 6.3). The same files give the same bytes: all have the first date of the format. */
export function writeZip(files: readonly ArchivedFile[]): Buffer {
  const entries: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { path, content } of files) {
    const name = Buffer.from(path);
    const data = deflateRawSync(content, { level: 9 });
    // From the version needed to the length of the extra field, the same in the entry and in the directory.
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(8, 4);
    facts.writeUInt16LE(dosDate, 8);
    facts.writeUInt32LE(crc32(content), 10);
    facts.writeUInt32LE(data.length, 14);
    facts.writeUInt32LE(content.length, 18);
    facts.writeUInt16LE(name.length, 22);
    const entry = Buffer.concat([Buffer.from('PK\x03\x04'), facts, name, data]);
    const place = Buffer.alloc(14);
    // A regular file of Unix, readable by everyone.
    place.writeUInt32LE((0o100644 << 16) >>> 0, 6);
    place.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 3]), facts, place, name]));
    entries.push(entry);
    offset += entry.length;
  }
  const index = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(index.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...entries, index, end]);
}
