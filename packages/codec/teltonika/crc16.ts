const table = new Uint16Array(256);
for (let byte = 0; byte < 256; byte += 1) {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xa001 : value >>> 1;
  table[byte] = value;
}

/** Computes CRC-16/IBM, also called CRC-16/ARC: polynomial 0x8005 reflected, initial value 0. */
export function crc16(bytes: Uint8Array): number {
  let value = 0;
  for (const byte of bytes) value = (value >>> 8) ^ (table[(value ^ byte) & 0xff] ?? 0);
  return value;
}
